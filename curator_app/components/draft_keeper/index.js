// Texts of a form go to the server 300 ms after the last key, and at once when the page is left.
const PAUSE_MS = 300;
const AGAIN_MS = 2000;
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
  state.typed = { name: state.data.name, writing: state.data.writing, fields: typed };
}

async function send(state) {
  clearTimeout(state.timer);
  const typed = state.typed;
  if (!typed) return;
  state.typed = null;
  try {
    // Kept alive: the answer may come after the page has gone.
    const answer = await fetch(`/api/drafts/${typed.name}`, { method: "POST", keepalive: true,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ writing: typed.writing, fields: typed.fields }) });
    if (answer.status >= 500) throw new Error(answer.statusText);
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
