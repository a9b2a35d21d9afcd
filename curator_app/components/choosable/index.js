// HTML that Python wrote (escaped there) whose elements with data-choose can be chosen by click or Enter.
const states = new WeakMap();

function draw(root, state, html) {
  if (state.html === html) return;
  const focused = root.getRootNode().activeElement?.dataset?.choose;
  state.html = html;
  root.innerHTML = html;
  if (focused !== undefined) root.querySelector(`button[data-choose="${CSS.escape(focused)}"]`)?.focus();
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  let state = states.get(parentElement);
  if (!state) {
    state = {};
    states.set(parentElement, state);
    root.addEventListener("click", (event) => {
      const target = event.target.closest("[data-choose]");
      if (target) state.choose(target.dataset.choose);
    });
  }
  state.choose = (value) => setTriggerValue("chosen", value);
  draw(root, state, data.html);
}
