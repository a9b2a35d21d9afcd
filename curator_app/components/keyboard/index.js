// Keys of the page: press Streamlit buttons, choose radio options, list themselves on "?".
const WORDS = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Enter: "⏎", Escape: "Esc" };
const states = new WeakMap();

function isTyping(element) {
  if (!element) return false;
  if (element.isContentEditable) return true;
  if (element.tagName === "TEXTAREA" || element.tagName === "SELECT") return true;
  return element.tagName === "INPUT" && !["radio", "checkbox", "button"].includes(element.type);
}

function nameOf(event) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return event.ctrlKey || event.metaKey ? `Ctrl+${key}` : key;
}

function press(entry) {
  const holder = document.querySelector(`.st-key-${CSS.escape(entry.button)}`);
  if (!holder) return false;
  const targets = entry.choice === null ? holder.querySelectorAll("button") : holder.querySelectorAll("input[type=radio]");
  const target = targets[entry.choice ?? 0];
  if (!target || target.disabled) return false;
  target.click();
  return true;
}

function onKey(state, event) {
  if (event.defaultPrevented || event.repeat || event.altKey || event.isComposing) return;
  const focused = event.composedPath()[0];
  const typing = isTyping(focused);
  if (event.key === "?" && !typing) {
    event.preventDefault();
    state.dialog.open ? state.dialog.close() : state.dialog.showModal();
    return;
  }
  if (state.dialog.open || document.querySelector("[role=dialog]")) return;
  const name = nameOf(event);
  const entry = state.keys.find((candidate) => candidate.key === name && candidate.button);
  if (!entry || (typing && !name.startsWith("Ctrl+"))) return;
  // A field with a button of its own, as in a popover, presses that one.
  if (name === "Ctrl+Enter" && event.composedPath().some((element) => element.dataset?.submits)) return;
  if (name === "Enter" && ["BUTTON", "A"].includes(focused?.tagName)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (!typing) {
    press(entry);
    return;
  }
  // A text area hands its text over when it loses focus; the button must come after that.
  focused.blur();
  requestAnimationFrame(() => requestAnimationFrame(() => press(entry)));
}

function build(parent) {
  const root = parent.querySelector(".root");
  root.innerHTML = `
    <button type="button" aria-haspopup="dialog">Keys <kbd>?</kbd></button>
    <dialog aria-label="Keys of this page"><h2>Keys of this page</h2><table></table>
      <form method="dialog"><button>Close <kbd>Esc</kbd></button></form></dialog>`;
  const state = { root, keys: [], dialog: root.querySelector("dialog"), table: root.querySelector("table") };
  root.querySelector("button").onclick = () => state.dialog.showModal();
  state.listener = (event) => onKey(state, event);
  window.addEventListener("keydown", state.listener, true);
  return state;
}

export default function ({ data, parentElement }) {
  let state = states.get(parentElement);
  if (!state) {
    state = build(parentElement);
    states.set(parentElement, state);
  }
  state.keys = data.keys;
  state.root.querySelector("button").hidden = data.keys.length === 0;
  state.table.replaceChildren(...data.keys.map((entry) => {
    const row = document.createElement("tr");
    const key = document.createElement("kbd");
    key.textContent = entry.key.split("+").map((part) => WORDS[part] ?? part).join(" ");
    row.insertCell().append(key);
    row.insertCell().textContent = entry.does;
    return row;
  }));
  return () => {
    window.removeEventListener("keydown", state.listener, true);
    states.delete(parentElement);
  };
}
