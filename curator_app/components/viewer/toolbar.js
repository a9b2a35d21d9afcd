// Part of the viewer: its buttons, and the list of what is drawn over the slide.
const MAGNIFICATIONS = [2.5, 5, 10, 20, 40];
const TURN = 90;
function button(words, label, action) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = words;
  element.setAttribute("aria-label", label);
  element.title = label;
  element.onclick = action;
  return element;
}

const STROKE = 'fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true"';
const FULL_SCREEN = `<svg viewBox="0 0 14 14" ${STROKE}><path d="M1 5V1h4M9 1h4v4M13 9v4H9M5 13H1V9"/></svg>`;
const LEFT = `<svg viewBox="0 0 14 14" ${STROKE}><path d="M2 2v4h4M2.4 6A5 5 0 1 1 2.5 9"/></svg>`;
const RIGHT = `<svg viewBox="0 0 14 14" ${STROKE}><path d="M12 2v4H8M11.6 6A5 5 0 1 0 11.5 9"/></svg>`;
const TISSUE = '<svg viewBox="0 0 14 14" aria-hidden="true"><circle cx="7" cy="7" r="5" fill="#0B6B6B40" ' +
  'stroke="#0B6B6B" stroke-width="2"/></svg>';

function drawnButton(picture, label, action) {
  const element = button("", label, action);
  element.innerHTML = picture;
  return element;
}

/** Fill the viewer's toolbar, and return the parts of it that change. */
function buildToolbar(viewer) {
  const now = document.createElement("span");
  now.className = "now small";
  const magnifications = MAGNIFICATIONS.map((factor) => {
    const element = button(`${factor}×`, `${factor}× magnification`, () => viewer.magnify(factor));
    element.dataset.factor = factor;
    return element;
  });
  const group = (...elements) => {
    const span = document.createElement("span");
    span.className = "group";
    span.append(...elements);
    return span;
  };
  const upright = button("0°", "Upright (Home: upright and whole)", () => viewer.turn(null));
  const newField = button("New ROI", "New ROI: draw it (n)", () =>
    viewer.drawing.active ? viewer.end() : viewer.startDrawing());
  const ruler = button("Ruler", "Ruler: measure between two points (m)", () =>
    viewer.rulers.active ? viewer.end() : viewer.startMeasuring());
  const turning = group(
    drawnButton(LEFT, "Rotate left by 90° ([ by 15°)", () => viewer.turn(-TURN)),
    upright,
    drawnButton(RIGHT, "Rotate right by 90° (] by 15°)", () => viewer.turn(TURN)),
  );
  const { menu, tissueBox } = layersMenu(viewer);
  const acts = group(menu, ruler, newField);
  for (const element of [turning, acts]) element.classList.add("of-slide");
  viewer.tools.append(
    group(
      button("Whole", "Whole image", () => {
        viewer.touched = true;
        viewer.osd?.viewport.goHome(true);
      }),
      button("−", "Zoom out", () => viewer.zoomBy(1 / 1.5)),
      button("+", "Zoom in", () => viewer.zoomBy(1.5)),
    ),
    group(...magnifications),
    turning,
    acts,
    drawnButton(FULL_SCREEN, "Full screen", () =>
      document.fullscreenElement ? document.exitFullscreen() : viewer.root.requestFullscreen()),
    now,
  );
  return { magnifications, upright, newField, ruler, tissueBox, now };
}

/** What is drawn over the slide: a list that opens, with a box to tick for each. */
function layersMenu(viewer) {
  const menu = document.createElement("details");
  menu.className = "layers";
  menu.innerHTML = "<summary>Layers</summary><div></div>";
  const add = (name, words, picture, isOn, change) => {
    const label = document.createElement("label");
    label.innerHTML = `<input type="checkbox"> ${picture} ${words}`;
    const box = label.querySelector("input");
    box.checked = isOn;
    box.name = name;
    box.onchange = () => change(box.checked);
    menu.querySelector("div").append(label);
    return box;
  };
  for (const [state, layer] of Object.entries(LAYERS)) {
    add(state, layer.words, swatch(layer), viewer.frames.shown.has(state), (isOn) => {
      viewer.frames.shown[isOn ? "add" : "delete"](state);
      viewer.refresh();
    });
  }
  const tissueBox = add("tissue", "Tissue <kbd>t</kbd>", TISSUE, false, () => viewer.toggleTissue());
  menu.onkeydown = (event) => { if (event.key === "Escape") menu.open = false; };
  menu.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !menu.contains(relatedTarget)) menu.open = false;
  });
  return { menu, tissueBox };
}

