// Candidates of a bin as a grid: 1-9 pick, x reject with a reason, arrows change the bin, o goes to the next one whose
// quota is open, s and d search, u takes back.
// A choice is shown as one that is not saved until the server's next data have it; it is sent again until then.
const NUMBERED = 9;
const MINIMUM_HEIGHT = 420;
const FEW = 15; // so many candidates are shown larger
const LOADED_AT_ONCE = 60;
const SENT_AGAIN_MS = 4000;
const SENT_AGAIN_AT_LEAST_EVERY_MS = 30000;
const states = new WeakMap();
const SIGNS = { candidate: "", selected: "✓", rejected: "✕" };
const TARGETS = { pick: "selected", reject: "rejected" };
const CHOICES = { selected: "pick", rejected: "rejection", candidate: "return" };
const WAITING = { selected: "◌ pick", rejected: "◌ reject", candidate: "◌ back" };
const REFUSED = "▲ not done";
const TAKES_ARROWS = "[role=slider], [role=listbox], [role=combobox], [role=tab], [role=menu], input, textarea, select, [contenteditable=true]";

/** 32 hexadecimal digits; randomUUID is missing where the page comes over plain HTTP. */
function newAct() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

class Picker {
  constructor(root, setStateValue) {
    this.root = root;
    this.setStateValue = setStateValue;
    this.client = newAct();
    this.number = 0;
    this.waiting = []; // sent and not confirmed yet
    this.sendings = 0;
    this.current = 0;
    this.order = "";
    root.classList.add("picker");
    root.innerHTML = `<h2 tabindex="-1" aria-live="polite"></h2><div class="hints"></div>
      <p class="standing" role="status"></p><div class="place"><div class="grid" role="group" aria-label="Candidates"></div>
        <form class="reasons" role="group" aria-label="Why is it rejected?" hidden></form></div>
      <div class="strip" role="group" aria-label="Bins: number and candidates in it, with the selected ones"></div>`;
    this.title = root.querySelector("h2");
    this.grid = root.querySelector(".grid");
    this.strip = root.querySelector(".strip");
    this.standing = root.querySelector(".standing");
    this.reasons = root.querySelector(".reasons");
    this.lastReason = 0;
    this.buildHints(root.querySelector(".hints"));
    this.listener = (event) => this.onKey(event);
    window.addEventListener("keydown", this.listener, true);
    this.unfill = fillWindow(root, MINIMUM_HEIGHT);
  }

  buildHints(holder) {
    const hints = [
      ["1–9 / ⏎", "Pick", () => this.pick(this.current)],
      ["x", "Reject", () => this.askReason()],
      ["→", "Next bin", () => this.moveBin(1)],
      ["o", "Next open bin", () => this.moveToOpen()],
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
    const back = this.data?.hidden && !data.hidden;
    this.data = data;
    this.root.style.display = data.hidden ? "none" : "";
    if (!this.reasons.childElementCount) this.buildReasons();
    const confirmed = data.confirmed[this.client] ?? 0;
    this.waiting = this.waiting.filter((action) => action.number > confirmed);
    if (!this.waiting.length) this.sendNoMore();
    this.title.textContent = data.title;
    const order = data.candidates.map((candidate) => candidate.box.id).join();
    if (order !== this.order || data.current !== this.asked) {
      this.order = order;
      this.asked = data.current;
      this.closeReasons();
      this.current = Math.max(0, data.candidates.findIndex((candidate) => candidate.box.id === data.current));
      this.grid.scrollTop = 0;
      this.grid.style.setProperty("--tile", data.candidates.length > FEW ? "7.2rem" : "min(10.5rem, 30%)");
      this.grid.replaceChildren(...data.candidates.map((candidate, index) => this.tile(candidate, index)));
      if (!data.hidden) this.show();
    }
    if (back) this.show();
    this.paint();
    this.paintStrip();
    if (this.current && data.current === this.asked && this.scrolled !== data.current) {
      this.scrolled = data.current;
      this.grid.children[this.current]?.scrollIntoView({ block: "nearest" });
    }
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
    const flags = document.createElement("span");
    flags.className = "sign flags";
    flags.textContent = candidate.flags.join(", ");
    element.append(image, number, state, flags);
    element.onclick = () => this.pick(index);
    element.onfocus = () => this.moveTo(index);
    return element;
  }

  /** What can be taken back, the last choice at the end: what the server has, and then what was sent since. */
  choices() {
    const choices = this.data.undo.map(({ roi, version, state, before }) => ({ roi, version, state, before }));
    for (const { name, roi, version, state, before } of this.waiting) {
      if (TARGETS[name]) choices.push({ roi, version, state, before });
      const back = name === "undo" ? choices.findLastIndex((choice) => choice.roi === roi) : -1;
      if (back >= 0) choices.splice(back, 1);
    }
    return choices;
  }

  /** The state that a candidate will have when everything that was sent is done, or undefined if nothing was sent. */
  coming(candidate) { return this.waiting.findLast((action) => action.roi === candidate.box.id && action.state)?.state; }

  stateOf(candidate) { return this.coming(candidate) ?? candidate.box.state; }

  paint() {
    const first = Math.floor(this.current / NUMBERED) * NUMBERED;
    [...this.grid.children].forEach((element, index) => {
      const candidate = this.data.candidates[index];
      const state = candidate.box.state;
      const coming = this.coming(candidate);
      const refused = coming === undefined && this.data.refused.includes(candidate.box.id);
      const number = index >= first && index < first + NUMBERED ? String(index - first + 1) : "";
      element.dataset.state = state;
      element.toggleAttribute("data-waiting", coming !== undefined);
      element.toggleAttribute("data-refused", refused);
      element.setAttribute("aria-current", index === this.current);
      element.setAttribute("aria-pressed", state === "selected");
      element.setAttribute("aria-label",
        `Candidate ${index + 1}, ${state}${coming ? `, ${CHOICES[coming]} not saved yet` : ""}`
        + `${refused ? ", last choice not done" : ""}, on ${candidate.slideName}`
        + candidate.flags.map((flag) => `, ${flag}`).join("") + (number ? `, key ${number}` : ""));
      element.querySelector(".number").textContent = number;
      element.querySelector(".state").textContent = coming ? WAITING[coming] : refused ? REFUSED : SIGNS[state] ?? "";
    });
    this.paintStanding();
  }

  /** Say what is not saved yet, and what taking back would do. */
  paintStanding() {
    const unsaved = this.waiting.filter((action) => action.state).length;
    const last = this.choices().at(-1);
    const place = last ? this.data.candidates.findIndex((candidate) => candidate.box.id === last.roi) : -1;
    const first = Math.floor(this.current / NUMBERED) * NUMBERED;
    const numbered = place >= first && place < first + NUMBERED;
    const which = place < 0 ? "one not shown here" : numbered ? `number ${place - first + 1}` : `picture ${place + 1}`;
    const back = last
      ? `u takes back: ${CHOICES[last.state]} of ${which} → ${last.before}`
      : "u: nothing of yours to take back";
    this.standing.textContent = `${unsaved ? `◌ ${unsaved} not saved yet · ` : ""}${back}`;
  }

  paintStrip() {
    this.strip.replaceChildren(...this.data.bins.map((bin) => {
      const element = document.createElement("button");
      element.type = "button";
      element.setAttribute("aria-current", bin.number === this.data.bin && !this.data.searching);
      const rich = bin.artefacts ? `, rich in artefacts (${bin.artefacts} % of them)` : "";
      element.title = `Bin ${bin.number}: ${bin.size} candidates, ${bin.selected} of ${bin.quota} picked${rich}`;
      element.setAttribute("aria-label", element.title);
      const size = document.createElement("span");
      size.className = "of";
      size.textContent = `${bin.selected >= bin.quota ? "✓ " : ""}${bin.selected}/${bin.quota}`;
      const fill = document.createElement("span");
      fill.className = "fill";
      fill.style.width = `${bin.quota ? Math.min(100, 100 * bin.selected / bin.quota) : 100}%`;
      element.append(`${bin.number}${bin.artefacts ? " △" : ""}`, document.createElement("br"), size, fill);
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
    this.waiting.push({ ...action, number: this.number, act: newAct() });
    this.wait = SENT_AGAIN_MS;
    this.sendAll();
  }

  sendAll() {
    clearTimeout(this.again);
    this.sendings += 1; // else what is sent again is no change
    this.setStateValue("queue", { client: this.client, actions: this.waiting, sendings: this.sendings });
    this.again = setTimeout(() => this.sendAll(), this.wait);
    this.wait = Math.min(2 * this.wait, SENT_AGAIN_AT_LEAST_EVERY_MS);
  }

  sendNoMore() { clearTimeout(this.again); }

  /** Send a choice; `before` is what it will be taken back to. */
  choose(name, candidate, reason = null) {
    const { id } = candidate.box;
    const before = this.stateOf(candidate);
    this.send({ name, roi: id, version: candidate.version, state: TARGETS[name], before, reason });
  }

  pick(index) {
    const candidate = this.data.candidates[index];
    if (!candidate) return;
    this.moveTo(index);
    if (this.stateOf(candidate) === "selected") return;
    this.choose("pick", candidate);
    this.paint();
  }

  buildReasons() {
    const words = document.createElement("span");
    words.textContent = "Reject it as";
    this.reasons.append(words);
    this.data.reasons.forEach(([name, said], index) => {
      const element = document.createElement("button");
      element.type = "button";
      element.append(`${said} `);
      const sign = document.createElement("kbd");
      sign.textContent = index + 1;
      element.append(sign);
      element.onclick = () => this.reject(index);
      this.reasons.append(element);
    });
    this.other = document.createElement("input");
    this.other.maxLength = 200;
    this.other.placeholder = `${this.data.reasons.length + 1}: other, in words ⏎`;
    this.other.setAttribute("aria-label", "Another reason, in words");
    const cancel = document.createElement("button");
    cancel.type = "button";
    cancel.innerHTML = "Cancel <kbd>Esc</kbd>";
    cancel.onclick = () => this.closeReasons();
    this.reasons.append(this.other, cancel);
    this.reasons.onsubmit = (event) => {
      event.preventDefault();
      const text = this.other.value.trim();
      if (text) this.rejectBecause(`other: ${text}`);
    };
    this.reasons.onkeydown = (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.closeReasons();
    };
  }

  get asking() { return !this.reasons.hidden; }

  /** Ask why the current candidate is rejected: a number answers, x again takes the reason of the last one. */
  askReason() {
    const candidate = this.data.candidates[this.current];
    if (!candidate || this.stateOf(candidate) === "rejected") return;
    if (!this.data.reasons.length) { this.rejectBecause(null); return; }
    this.other.value = "";
    this.reasons.hidden = false;
    this.reasons.querySelectorAll("button").forEach((element, index) =>
      element.toggleAttribute("data-again", index === this.lastReason));
    this.reasons.querySelectorAll("button")[this.lastReason].focus({ preventScroll: true });
  }

  closeReasons() {
    if (!this.asking) return;
    this.reasons.hidden = true;
    this.grid.children[this.current]?.focus({ preventScroll: true });
  }

  reject(index) {
    this.lastReason = index;
    this.rejectBecause(this.data.reasons[index][0]);
  }

  rejectBecause(reason) {
    const candidate = this.data.candidates[this.current];
    this.reasons.hidden = true;
    if (!candidate || this.stateOf(candidate) === "rejected") return;
    this.choose("reject", candidate, reason);
    this.moveTo(Math.min(this.current + 1, this.data.candidates.length - 1));
    this.grid.children[this.current]?.focus({ preventScroll: true });
    this.paint();
  }

  /** The keys while the reasons are asked for; every other key waits until they are closed. */
  onReasonKey(event) {
    const number = Number(event.key);
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.key === "Escape") this.closeReasons();
    else if (event.key === "x") this.reject(this.lastReason);
    else if (number >= 1 && number <= this.data.reasons.length) this.reject(number - 1);
    else if (number === this.data.reasons.length + 1) this.other.focus();
  }

  undo() {
    const last = this.choices().at(-1);
    if (!last) return;
    this.send({ name: "undo", roi: last.roi, version: last.version, of: last.state, state: last.before });
    this.paint();
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

  /** Go to the next bin whose quota asks for more, what is on its way counted. */
  moveToOpen() {
    const { bins, bin, candidates, searching } = this.data;
    const coming = (state) => candidates.filter((one) => this.coming(one) === state && one.box.state !== state).length;
    const isOpen = (one) =>
      one.selected + (one.number === bin && !searching ? coming("selected") : 0) < one.quota && one.size > one.selected;
    const from = bins.findIndex((one) => one.number === bin);
    const next = [...bins.slice(from + 1), ...bins.slice(0, from)].find(isOpen);
    if (next) this.send({ name: "bin", bin: next.number });
    else this.standing.textContent = "No other bin has an open quota.";
  }

  onKey(event) {
    if (this.data.hidden) return;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const focused = event.composedPath()[0];
    if (focused?.matches?.(TAKES_ARROWS) || document.querySelector("[role=dialog]") || !this.root.isConnected) return;
    if (this.asking && !["Enter", "Tab", " "].includes(event.key)) { this.onReasonKey(event); return; }
    const inViewer = event.composedPath().some((element) => element.classList?.contains("osd"));
    const first = Math.floor(this.current / NUMBERED) * NUMBERED;
    const actions = {
      x: () => this.askReason(), o: () => this.moveToOpen(), s: () => this.search("similar"), d: () => this.search("unlike"),
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
    this.sendNoMore();
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
