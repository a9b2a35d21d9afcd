// Slides as cards of a radio group: type to find, click or arrow keys to choose.
const MINIMUM_HEIGHT = 320;
const states = new WeakMap();

function build(parent) {
  const root = parent.querySelector(".root");
  root.classList.add("slides");
  root.innerHTML = `<label>Find a slide<input type="search" autocomplete="off"></label>
    <div class="cards" role="radiogroup" aria-label="Slides"></div>
    <div class="small" role="status"></div>`;
  const state = { root, cards: root.querySelector(".cards"), input: root.querySelector("input"), status: root.querySelector("[role=status]") };
  state.unfill = fillWindow(root, MINIMUM_HEIGHT);
  state.input.oninput = () => filter(state);
  state.cards.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const visible = [...state.cards.children].filter((card) => !card.hidden);
    const next = visible[visible.indexOf(event.target.closest(".card")) + step];
    next?.focus();
    next?.click();
  };
  return state;
}

function filter(state) {
  const words = state.input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const card of state.cards.children) {
    card.hidden = !words.every((word) => card.textContent.toLowerCase().includes(word));
    card.style.display = card.hidden ? "none" : "";
    shown += card.hidden ? 0 : 1;
  }
  const all = state.cards.children.length;
  state.status.textContent = shown === all ? `${all} ${all === 1 ? "slide" : "slides"}` : `${shown} of ${all} slides`;
}

function cardOf(slide, state) {
  const card = document.createElement("button");
  card.type = "button";
  card.className = "card";
  card.setAttribute("role", "radio");
  card.dataset.id = slide.id;
  const image = document.createElement("img");
  image.src = slide.image;
  image.alt = "";
  const name = document.createElement("strong");
  name.textContent = slide.name;
  const facts = document.createElement("div");
  facts.className = "facts small";
  for (const line of slide.lines) {
    const element = document.createElement("div");
    element.textContent = line;
    facts.append(element);
  }
  card.append(image, name, facts);
  card.onclick = () => {
    choose(state, slide.id);
    state.setStateValue("slide", slide.id);
  };
  return card;
}

function choose(state, id) {
  for (const card of state.cards.children) {
    const chosen = card.dataset.id === id;
    card.setAttribute("aria-checked", chosen);
    card.tabIndex = chosen ? 0 : -1;
  }
}

export default function ({ data, parentElement, setStateValue }) {
  let state = states.get(parentElement);
  if (!state) {
    state = build(parentElement);
    states.set(parentElement, state);
  }
  state.setStateValue = setStateValue;
  const signature = JSON.stringify(data.slides);
  if (signature !== state.signature) {
    state.signature = signature;
    state.cards.replaceChildren(...data.slides.map((slide) => cardOf(slide, state)));
    filter(state);
  }
  choose(state, data.chosen);
  return () => {
    state.unfill();
    states.delete(parentElement);
  };
}
