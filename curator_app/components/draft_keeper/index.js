// Texts of a form go to the server 300 ms after the last key, and at once when the page is left. Until it has them,
// they stand in the tab's own storage as well: when the session has ended, session.js sends them after the next sign-in.
const PAUSE_MS = 300;
const AGAIN_MS = 2000;
const UNSENT = "histocurator unsent ";
const DONE = [204, 413, 422];
const states = new WeakMap();

function holderOf(key) { return document.querySelector(`.st-key-${CSS.escape(key)}`); }

function valueOf(key) {
  const holder = holderOf(key);
  const radios = [...(holder?.querySelectorAll("input[type=radio]") ?? [])];
  if (radios.length) {
    const place = radios.findIndex((radio) => radio.checked);
    return place < 0 ? null : String(place);
  }
  return holder?.querySelector("textarea, input")?.value ?? null;
}

function collect(state) {
  const typed = {};
  for (const [field, key] of Object.entries(state.data.fields)) {
    const value = valueOf(key);
    if (value !== null) typed[field] = value;
  }
  const { name, account, writing } = state.data;
  state.typed = { name, key: `${UNSENT}${account} ${name}`, body: JSON.stringify({ account, writing, fields: typed }) };
  try {
    sessionStorage.setItem(state.typed.key, state.typed.body);
  } catch {
    // Full or forbidden: the text still goes to the server.
  }
}

async function send(state) {
  clearTimeout(state.timer);
  const typed = state.typed;
  if (!typed) return;
  state.typed = null;
  try {
    // Kept alive: the answer may come after the page has gone.
    const answer = await fetch(`/api/drafts/${typed.name}`, { method: "POST", keepalive: true,
      headers: { "Content-Type": "application/json" }, body: typed.body });
    if (answer.status >= 500) throw new Error(answer.statusText);
    if (answer.status === 401) window.dispatchEvent(new Event("histocurator:signed-out"));
    const done = DONE.includes(answer.status) && sessionStorage.getItem(typed.key) === typed.body;
    if (done) sessionStorage.removeItem(typed.key);
  } catch {
    state.typed ??= typed;
    state.timer = setTimeout(() => send(state), AGAIN_MS);
  }
}

function build() {
  const state = { data: null, typed: null, timer: 0 };
  state.onInput = (event) => {
    const mine = Object.values(state.data.fields).some((key) => holderOf(key)?.contains(event.target));
    if (!mine) return;
    clearTimeout(state.timer);
    // A radio group shows its new choice after this event.
    queueMicrotask(() => collect(state));
    state.timer = setTimeout(() => send(state), PAUSE_MS);
  };
  state.onLeave = () => send(state);
  document.addEventListener("input", state.onInput, true);
  window.addEventListener("pagehide", state.onLeave);
  document.addEventListener("visibilitychange", state.onLeave);
  return state;
}

export default function ({ data, parentElement }) {
  let state = states.get(parentElement);
  if (!state) {
    state = build();
    states.set(parentElement, state);
  }
  if (state.data && state.data.writing !== data.writing) send(state);
  state.data = data;
  return () => {
    send(state);
    document.removeEventListener("input", state.onInput, true);
    window.removeEventListener("pagehide", state.onLeave);
    document.removeEventListener("visibilitychange", state.onLeave);
    states.delete(parentElement);
  };
}
