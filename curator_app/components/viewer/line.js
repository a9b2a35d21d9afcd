// Part of the viewer: the line below the slide, with the tool in hand or what the chosen ROI is.
function counted(number, word) { return `${number.toLocaleString("en")} ${number === 1 ? word : `${word}s`}`; }

class Line {
  constructor(viewer, element) {
    this.viewer = viewer;
    this.element = element;
  }

  draw() {
    if (!this.viewer.slide) return;
    const state = [this.viewer.drawing.active && `draw ${this.viewer.shown}`, this.viewer.rulers.active && "measure"].find(Boolean) || "look";
    if (state !== this.element.dataset.state || state === "look") {
      this.element.dataset.state = state;
      this.element.replaceChildren(...(state === "look" ? this.factsLine() : state === "measure" ? this.rulerLine() : this.fieldLine()));
    }
    const words = this.element.querySelector(".words");
    if (this.viewer.drawing.active) words.textContent = this.viewer.drawing.refused ? `▲ Not saved: ${this.viewer.drawing.refused}` : this.fieldWords();
    if (this.viewer.rulers.active) {
      words.textContent = this.viewer.rulers.words || "Click two points, or press ⏎ at the cross.";
      this.element.querySelector(".clear").disabled = !this.viewer.rulers.all.length && !this.viewer.rulers.from;
    }
  }

  words(text = "") {
    const span = document.createElement("span");
    span.className = "words";
    span.setAttribute("role", "status");
    span.textContent = text;
    return span;
  }

  fieldWords() {
    const microns = Math.round(this.viewer.drawing.side * this.viewer.slide.mpp).toLocaleString("en");
    const [x, y] = this.viewer.drawing.corner.map((value) => value.toLocaleString("en"));
    return `${microns} µm wide, from ${x}, ${y} px. Click or drag the frame; arrow keys move it.`;
  }

  fieldLine() {
    const chooser = (label, values, words, now, choose) => {
      const select = document.createElement("select");
      select.setAttribute("aria-label", label);
      for (const value of values) select.add(new Option(words(value), value, false, value === now));
      select.onchange = () => {
        choose(Number(select.value));
        this.viewer.refresh();
      };
      return select;
    };
    const { drawing } = this.viewer;
    const sizes = chooser("Side in pixels", this.viewer.data.sizes, (size) => `${size.toLocaleString("en")} px`, drawing.size,
      (size) => drawing.choose(drawing.magnification, size));
    const allow = () => {
      for (const option of sizes.options) option.disabled = !drawing.fits(drawing.magnification, Number(option.value));
    };
    const powers = chooser("Magnification", this.viewer.slide.magnifications, (power) => `${power}×`, drawing.magnification, (power) => {
      const fitting = this.viewer.data.sizes.filter((size) => drawing.fits(power, size));
      drawing.choose(power, drawing.fits(power, drawing.size) || !fitting.length ? drawing.size : Math.max(...fitting));
      sizes.value = drawing.size;
      allow();
    });
    allow();
    const save = button("", "Save this ROI (Enter)", () => this.viewer.save());
    save.innerHTML = "Save <kbd>⏎</kbd>";
    save.className = "main";
    const cancel = button("", "Draw no ROI (Escape)", () => this.viewer.end());
    cancel.innerHTML = "Cancel <kbd>Esc</kbd>";
    return [powers, sizes, save, cancel, this.words()];
  }

  rulerLine() {
    const clear = button("Clear all", "Remove all rulers of this slide", () => {
      this.viewer.rulers.clear();
      this.viewer.refresh();
    });
    clear.classList.add("clear");
    const done = button("", "End measuring (Escape)", () => this.viewer.end());
    done.innerHTML = "Done <kbd>Esc</kbd>";
    return [clear, done, this.words()];
  }

  factsLine() {
    const waiting = [...fieldsUnderWay.values()].filter(({ body }) => body.slide === this.viewer.shown);
    const saving = waiting.map(({ words }) => words).find(Boolean) ?? "";
    const chosen = this.viewer.frames.chosenFrame;
    const { trouble, shown } = this.viewer.tissue;
    const microns = chosen && this.viewer.slide.mpp ? ` (${Math.round(chosen.side * this.viewer.slide.mpp).toLocaleString("en")} µm)` : "";
    const facts = chosen ? [chosen.drawn ? `${chosen.state}, drawn` : chosen.state, chosen.magnification.replace("x", "×"),
      `${chosen.size.toLocaleString("en")} px${microns}`, `at ${chosen.x.toLocaleString("en")}, ${chosen.y.toLocaleString("en")}`,
      this.viewer.around] : [];
    const parts = [this.words([saving, this.viewer.said, facts.filter(Boolean).join(" · "), shown && trouble].filter(Boolean).join(" — "))];
    if (chosen?.drawn && this.viewer.data.draws) parts.unshift(button("Take back", "Withdraw this drawn ROI", () => this.viewer.takeBack(chosen)));
    return parts;
  }
}

