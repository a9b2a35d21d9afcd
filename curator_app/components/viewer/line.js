// Part of the viewer: the line below the slide, with the tool in hand or what the chosen ROI is.
function counted(number, word) { return `${number.toLocaleString("en")} ${number === 1 ? word : `${word}s`}`; }

function grouped(number) { return Math.round(number).toLocaleString("en"); }

function keyButton(words, key, label, action) {
  const element = button(words, label, action);
  element.innerHTML = `${words} <kbd>${key}</kbd>`;
  return element;
}

function chooser(label, values, words, now, choose) {
  const select = document.createElement("select");
  select.setAttribute("aria-label", label);
  for (const value of values) select.add(new Option(words(value), value, false, value === now));
  select.onchange = () => choose(Number(select.value));
  return select;
}

class Line {
  constructor(viewer, element) {
    this.viewer = viewer;
    this.element = element;
    this.words = null;
  }

  draw() {
    const { drawing, rulers, shown, slide } = this.viewer;
    if (!slide) return;
    const state = drawing.active ? `draw ${shown}` : rulers.active ? "measure" : "look";
    // The controls of a tool stay while it is in hand: they may have the keyboard.
    if (state !== this.element.dataset.state || state === "look") {
      this.element.dataset.state = state;
      this.words = document.createElement("span");
      this.words.className = "words";
      this.words.setAttribute("role", "status");
      const controls = drawing.active ? this.fieldControls() : rulers.active ? this.rulerControls() : this.roiControls();
      this.element.replaceChildren(...controls, this.words);
    }
    this.words.textContent = drawing.active ? this.fieldWords() : rulers.active ? this.rulerWords() : this.roiWords();
  }

  fieldWords() {
    const { drawing, slide } = this.viewer;
    if (drawing.refused) return `▲ Not saved: ${drawing.refused}`;
    const [x, y] = drawing.corner.map(grouped);
    return `${grouped(drawing.side * slide.mpp)} µm wide, from ${x}, ${y} px. Click or drag the frame; arrow keys move it.`;
  }

  fieldControls() {
    const { data, drawing, slide } = this.viewer;
    const choose = (power, size) => {
      const fitting = data.sizes.filter((one) => drawing.fits(power, one));
      drawing.choose(power, drawing.fits(power, size) || !fitting.length ? size : Math.max(...fitting));
      sizes.value = drawing.size;
      allow();
      this.viewer.refresh();
    };
    const powers = chooser("Magnification", slide.magnifications, (power) => `${power}×`, drawing.magnification,
      (power) => choose(power, drawing.size));
    const sizes = chooser("Side in pixels", data.sizes, (size) => `${grouped(size)} px`, drawing.size,
      (size) => choose(drawing.magnification, size));
    const allow = () => {
      for (const option of sizes.options) option.disabled = !drawing.fits(drawing.magnification, Number(option.value));
    };
    allow();
    const save = keyButton("Save", "⏎", "Save this ROI (Enter)", () => this.viewer.save());
    save.className = "main";
    return [powers, sizes, save, keyButton("Cancel", "Esc", "Draw no ROI (Escape)", () => this.viewer.end())];
  }

  rulerWords() { return this.viewer.rulers.words || "Click two points, or press ⏎ at the cross."; }

  rulerControls() {
    const clear = button("Clear all", "Remove all rulers of this slide", () => {
      this.viewer.rulers.clear();
      this.viewer.refresh();
    });
    return [clear, keyButton("Done", "Esc", "End measuring (Escape)", () => this.viewer.end())];
  }

  roiWords() {
    const { said, shown, tissue } = this.viewer;
    const saves = [...fieldsUnderWay.values()].filter(({ body }) => body.slide === shown).map(({ words }) => words);
    return [saves.find(Boolean), said, this.roiFacts(), tissue.shown && tissue.trouble].filter(Boolean).join(" — ");
  }

  roiFacts() {
    const roi = this.viewer.frames.chosenFrame;
    if (!roi) return "";
    const { mpp } = this.viewer.slide;
    const wide = mpp ? ` (${grouped(roi.side * mpp)} µm)` : "";
    const what = roi.drawn ? `${roi.state}, drawn` : roi.state;
    const place = `at ${grouped(roi.x)}, ${grouped(roi.y)}`;
    const facts = [what, roi.magnification.replace("x", "×"), `${grouped(roi.size)} px${wide}`, place, this.viewer.around];
    return facts.filter(Boolean).join(" · ");
  }

  roiControls() {
    const roi = this.viewer.frames.chosenFrame;
    if (!roi?.drawn || !this.viewer.data.draws) return [];
    return [button("Take back", "Withdraw this drawn ROI", () => this.viewer.takeBack(roi))];
  }
}

