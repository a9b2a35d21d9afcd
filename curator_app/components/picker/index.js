// Candidates of a bin as a grid: 1-9 pick, x reject, arrows change the bin, s and d search, u takes back.
const NUMBERED = 9;
const MINIMUM_HEIGHT = 420;
const FEW = 15; // so many candidates are shown larger
const LOADED_AT_ONCE = 60;
const states = new WeakMap();
const SIGNS = { candidate: "", selected: "✓", rejected: "✕" };
const TAKES_ARROWS = "[role=slider], [role=listbox], [role=combobox], [role=tab], [role=menu], input, textarea, select, [contenteditable=true]";

class Picker {
  constructor(root, setStateValue) {
    this.root = root;
    this.setStateValue = setStateValue;
    this.client = crypto.randomUUID();
    this.number = 0;
    this.waiting = [];
    this.current = 0;
    this.order = "";
    this.own = new Map(); // states that this browser set and the server has not confirmed
    this.done = []; // what was picked or rejected here, so that taking back shows at once
    root.classList.add("picker");
    root.innerHTML = `<h2 tabindex="-1" aria-live="polite"></h2><div class="hints"></div>
      <div class="grid" role="group" aria-label="Candidates"></div>
      <div class="strip" role="group" aria-label="Bins: number and candidates in it, with the selected ones"></div>`;
    this.title = root.querySelector("h2");
    this.grid = root.querySelector(".grid");
    this.strip = root.querySelector(".strip");
    this.buildHints(root.querySelector(".hints"));
    this.listener = (event) => this.onKey(event);
    window.addEventListener("keydown", this.listener, true);
    this.unfill = fillWindow(root, MINIMUM_HEIGHT);
  }

  buildHints(holder) {
    const hints = [
      ["1–9 / ⏎", "Pick", () => this.pick(this.current)],
      ["x", "Reject", () => this.reject()],
      ["→", "Next bin", () => this.moveBin(1)],
      ["s", "More like this", () => this.search("similar")],
      ["d", "Unlike all chosen", () => this.search("unlike")],
      ["u", "Take back", () => this.undo()],
    ];
    for (const [key, words, action] of hints) {
      const element = document.createElement("button");
      element.type = "button";
      element.append(`${words} `);
      const sign = document.createElement("kbd");
      sign.textContent = key;
      element.append(sign);
      element.onclick = action;
      holder.append(element);
    }
  }

  update(data) {
    this.data = data;
    const confirmed = data.confirmed[this.client] ?? 0;
    this.waiting = this.waiting.filter((action) => action.number > confirmed);
    if (!this.waiting.length) this.own.clear();
    this.title.textContent = data.title;
    const order = data.candidates.map((candidate) => candidate.box.id).join();
    if (order !== this.order) {
      this.order = order;
      this.current = 0;
      this.grid.scrollTop = 0;
      this.grid.style.setProperty("--tile", data.candidates.length > FEW ? "7.2rem" : "min(10.5rem, 30%)");
      this.grid.replaceChildren(...data.candidates.map((candidate, index) => this.tile(candidate, index)));
      this.show();
    }
    this.paint();
    this.paintStrip();
  }

  tile(candidate, index) {
    const element = document.createElement("button");
    element.type = "button";
    element.className = "tile";
    const image = document.createElement("img");
    image.src = candidate.thumbnail;
    image.alt = "";
    image.loading = index < LOADED_AT_ONCE ? "eager" : "lazy";
    const number = document.createElement("span");
    number.className = "sign number";
    const state = document.createElement("span");
    state.className = "sign state";
    element.append(image, number, state);
    element.onclick = () => this.pick(index);
    element.onfocus = () => this.moveTo(index);
    return element;
  }

  stateOf(candidate) { return this.own.get(candidate.box.id) ?? candidate.box.state; }

  paint() {
    const first = Math.floor(this.current / NUMBERED) * NUMBERED;
    [...this.grid.children].forEach((element, index) => {
      const candidate = this.data.candidates[index];
      const state = this.stateOf(candidate);
      const number = index >= first && index < first + NUMBERED ? String(index - first + 1) : "";
      element.dataset.state = state;
      element.setAttribute("aria-current", index === this.current);
      element.setAttribute("aria-pressed", state === "selected");
      element.setAttribute("aria-label",
        `Candidate ${index + 1}, ${state}, on ${candidate.slideName}` + (number ? `, key ${number}` : ""));
      element.querySelector(".number").textContent = number;
      element.querySelector(".state").textContent = SIGNS[state] ?? "";
    });
  }

  paintStrip() {
    this.strip.replaceChildren(...this.data.bins.map((bin) => {
      const element = document.createElement("button");
      element.type = "button";
      element.setAttribute("aria-current", bin.number === this.data.bin && !this.data.searching);
      element.setAttribute("aria-label", `Bin ${bin.number}: ${bin.size} candidates, ${bin.selected} selected`);
      const size = document.createElement("span");
      size.textContent = `${bin.size}${bin.selected ? ` ✓${bin.selected}` : ""}`;
      element.append(`${bin.number}`, document.createElement("br"), size);
      element.onclick = () => this.send({ name: "bin", bin: bin.number });
      return element;
    }));
    this.strip.querySelector("[aria-current=true]")?.scrollIntoView({ block: "nearest" });
  }

  moveTo(index) {
    if (index === this.current || !this.data.candidates[index]) return;
    this.current = index;
    this.paint();
    this.show();
  }

  /** Send the viewer to the current candidate without asking the server. */
  show() {
    const candidate = this.data.candidates[this.current];
    if (!candidate) return;
    const detail = { viewer: this.data.viewer, slide: candidate.box.slide, box: candidate.box };
    window.dispatchEvent(new CustomEvent("histocurator:show", { detail }));
  }

  send(action) {
    this.number += 1;
    this.waiting.push({ ...action, number: this.number });
    this.setStateValue("queue", { client: this.client, actions: this.waiting });
  }

  pick(index) {
    const candidate = this.data.candidates[index];
    if (!candidate) return;
    this.moveTo(index);
    if (this.stateOf(candidate) === "selected") return;
    this.own.set(candidate.box.id, "selected");
    this.done.push(candidate.box.id);
    this.paint();
    this.send({ name: "pick", roi: candidate.box.id });
  }

  reject() {
    const candidate = this.data.candidates[this.current];
    if (!candidate || this.stateOf(candidate) === "rejected") return;
    this.own.set(candidate.box.id, "rejected");
    this.done.push(candidate.box.id);
    this.send({ name: "reject", roi: candidate.box.id });
    this.moveTo(Math.min(this.current + 1, this.data.candidates.length - 1));
    this.paint();
  }

  /** Without the own mark, a key that comes before the server's answer would see the state that was taken back. */
  undo() {
    const last = this.done.pop();
    if (last !== undefined) this.own.set(last, "candidate");
    this.paint();
    this.send({ name: "undo" });
  }

  search(name) {
    const candidate = this.data.candidates[this.current];
    if (name === "similar" && !candidate) return;
    this.send({ name, roi: name === "similar" ? candidate.box.id : undefined });
  }

  moveBin(step) {
    const numbers = this.data.bins.map((bin) => bin.number);
    if (!numbers.length) return;
    const next = (numbers.indexOf(this.data.bin) + step + numbers.length) % numbers.length;
    this.send({ name: "bin", bin: numbers[next] });
  }

  onKey(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const focused = event.composedPath()[0];
    if (focused?.matches?.(TAKES_ARROWS) || document.querySelector("[role=dialog]") || !this.root.isConnected) return;
    const inViewer = event.composedPath().some((element) => element.classList?.contains("osd"));
    const first = Math.floor(this.current / NUMBERED) * NUMBERED;
    const actions = {
      x: () => this.reject(), s: () => this.search("similar"), d: () => this.search("unlike"),
      u: () => this.undo(),
      ...(this.data.searching ? { Escape: () => this.moveBin(0) } : {}),
      PageDown: () => this.focusTile(Math.min(first + NUMBERED, this.data.candidates.length - 1)),
      PageUp: () => this.focusTile(Math.max(first - NUMBERED, 0)),
    };
    if (!inViewer) {
      Object.assign(actions, { ArrowRight: () => this.moveBin(1), ArrowLeft: () => this.moveBin(-1),
        ArrowDown: () => this.moveBin(1), ArrowUp: () => this.moveBin(-1) });
    }
    const action = /^[1-9]$/.test(event.key) ? () => this.pick(first + Number(event.key) - 1) : actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    action();
  }

  focusTile(index) {
    this.grid.children[index]?.focus();
    this.grid.children[index]?.scrollIntoView({ block: "nearest" });
  }

  close() {
    window.removeEventListener("keydown", this.listener, true);
    this.unfill();
  }
}

export default function ({ data, parentElement, setStateValue }) {
  let picker = states.get(parentElement);
  if (!picker) {
    picker = new Picker(parentElement.querySelector(".root"), setStateValue);
    states.set(parentElement, picker);
  }
  picker.setStateValue = setStateValue;
  picker.update(data);
  return () => {
    picker.close();
    states.delete(parentElement);
  };
}
