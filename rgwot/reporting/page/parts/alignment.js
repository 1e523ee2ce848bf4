// The transport plan between two videos as a heat map, with both strips and the mass that goes to the virtual frame.

/** Draw how the videos of a trained result align, and its embedding in the plane. */
function drawInside() {
  const trained = factsOf(state.run).kind === "trained";
  byId("no-inside").hidden = trained;
  byId("trained").hidden = !trained;
  if (!trained) return;
  drawAlignment();
  drawClouds();
}

const plan = { cell: [0, 0], shown: null, layout: null, canvas: null };

function drawAlignment() {
  const view = viewOf(state.run);
  const space = byId("plan");
  const pickers = [byId("first"), byId("second")];
  const usable = view && view.alignments;
  for (const picker of pickers) picker.disabled = !usable;
  if (!usable) {
    const why = view ? "An alignment needs two videos." : "Alignments are shown for the first seed of a method.";
    space.replaceChildren(make("p", { textContent: why }));
    plan.shown = null;
    return;
  }
  const names = view.alignments.videos.map((id) => (place.has(id) ? DATA.videos[place.get(id)].name : id));
  const before = pickers.map((picker) => picker.value);
  pickers.forEach((picker, at) => {
    picker.replaceChildren(...names.map((name, value) => make("option", { value: String(value), textContent: name })));
    picker.value = names[before[at]] === undefined || before[at] === "" ? String(at) : before[at];
  });
  const number = DATA.videos.filter((video) => video.status !== "skipped").length;
  plan.canvas = make("canvas", { tabIndex: 0, role: "img" });
  space.replaceChildren(
    number > names.length ? make("p", { className: "hint", textContent: `Worked out for the pairs of the first ${names.length} of ${number} videos.` }) : "",
    plan.canvas,
    make("p", { id: "plan-status", role: "status" }),
    make("p", { id: "plan-words" }),
  );
  plan.canvas.addEventListener("pointermove", (event) => pointAtCell(event.offsetX, event.offsetY, event));
  plan.canvas.addEventListener("pointerleave", hidePopup);
  plan.canvas.addEventListener("keydown", moveCell);
  plan.canvas.addEventListener("click", (event) => {
    pointAtCell(event.offsetX, event.offsetY, null);
    playCell();
  });
  planResized.observe(plan.canvas);
  choosePair();
}

const planResized = new ResizeObserver(() => drawPlan());

/** Read the chosen pair; a pair has one plan, which is transposed if the videos are chosen the other way round. */
function choosePair() {
  const found = viewOf(state.run) && viewOf(state.run).alignments;
  if (!found) return;
  const [first, second] = [Number(byId("first").value), Number(byId("second").value)];
  const n = DATA.frames;
  const swapped = first > second;
  const pair = found.pairs.find(({ x, y }) => x === Math.min(first, second) && y === Math.max(first, second));
  const places = [first, second].map((at) => place.get(found.videos[at]));
  plan.cell = [0, 0];
  if (!pair) {
    plan.shown = null;
    plan.canvas.hidden = true;
    byId("plan-words").textContent = "Choose two different videos.";
    byId("plan-status").textContent = "";
    return;
  }
  plan.canvas.hidden = false;
  const levels = Uint8Array.from(atob(pair.plan), (letter) => letter.charCodeAt(0));
  const at = (i, j) => pair.unit * (swapped ? levels[j * n + i] : levels[i * n + j]);
  const virtual = swapped ? [pair.y_virtual, pair.x_virtual] : [pair.x_virtual, pair.y_virtual];
  // Bars at the edges are scaled to the largest share, but not so far that next to nothing looks like much.
  plan.shown = { places, at, largest: pair.unit * 255, virtual, full: Math.max(0.1, ...virtual[0], ...virtual[1]) };
  const names = places.map((video) => DATA.videos[video].name);
  const kinds = {
    cost: `${percent(pair.virtual_mass)} of the mass goes to the virtual frame (orange bars at the right and at the bottom show the share of each frame; a full bar is ${percent(plan.shown.full)}).`,
    threshold: `${percent(pair.virtual_mass)} of the frames have no partner above the threshold and are left out (orange).`,
    none: "This method has no virtual frame: every frame must have a partner.",
  };
  plan.canvas.setAttribute("aria-label", `Transport plan, ${names[0]} down, ${names[1]} across. ${kinds[found.virtual]}`);
  byId("plan-words").textContent = `${n} evenly spaced frames of each video. The darkest cell is a matching probability of ${plan.shown.largest.toFixed(2)}. ${kinds[found.virtual]}`;
  byId("plan-status").textContent = "";
  drawPlan();
}

function drawPlan() {
  const { canvas, shown } = plan;
  const width = canvas && canvas.isConnected ? canvas.clientWidth : 0;
  if (!shown || !width) return;
  const n = DATA.frames;
  const edge = Math.max(14, width * 0.03);
  const side = Math.min(96, Math.max(52, width * 0.13));
  const top = Math.min(60, side * 0.7);
  const size = width - side - edge - 8;
  const layout = { left: side + 4, top: top + 4, size, cell: size / n, edge };
  plan.layout = layout;
  canvas.style.height = `${layout.top + size + edge + 4}px`;
  const pen = sharp(canvas, width, layout.top + size + edge + 4);
  pen.fillStyle = "#ffffff";
  pen.fillRect(0, 0, width, layout.top + size + edge + 4);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      pen.fillStyle = shade(shown.at(i, j) / shown.largest);
      pen.fillRect(layout.left + j * layout.cell, layout.top + i * layout.cell, layout.cell + 0.5, layout.cell + 0.5);
    }
  }
  pen.fillStyle = "#D55E00";
  shown.virtual[0].forEach((share, i) => pen.fillRect(layout.left + size + 4, layout.top + i * layout.cell, (edge * share) / shown.full, layout.cell - 0.5));
  shown.virtual[1].forEach((share, j) => pen.fillRect(layout.left + j * layout.cell, layout.top + size + 4, layout.cell - 0.5, (edge * share) / shown.full));
  pen.strokeStyle = "#666666";
  pen.strokeRect(layout.left, layout.top, size, size);
  pen.strokeRect(layout.left + size + 4, layout.top, edge - 0.5, size);
  pen.strokeRect(layout.left, layout.top + size + 4, size, edge - 0.5);
  drawSide(pen, shown.places[1], { x: layout.left, y: 0, length: size, depth: top, down: false });
  drawSide(pen, shown.places[0], { x: 0, y: layout.top, length: size, depth: side, down: true });
  const [i, j] = plan.cell;
  pen.strokeStyle = "#d100b5";
  pen.lineWidth = 2;
  pen.strokeRect(layout.left + j * layout.cell, layout.top + i * layout.cell, layout.cell, layout.cell);
}

/** Draw a strip along one side, as many pictures as fit. */
function drawSide(pen, video, { x, y, length, depth, down }) {
  stripOf(video).then((image) => {
    if (!image) return;
    const aspect = DATA.videos[video].aspect;
    const along = down ? depth / aspect : depth * aspect;
    const n = Math.max(1, Math.min(DATA.frames, Math.round(length / along)));
    for (let part = 0; part < n; part++) {
      const picture = Math.floor(((part + 0.5) / n) * DATA.frames);
      const from = (part * length) / n;
      if (down) drawPicture(pen, image, picture, x, y + from, depth, length / n);
      else drawPicture(pen, image, picture, x + from, y, length / n, depth);
    }
  });
}

/** A colour from white to dark blue; lightness alone shows the share. */
function shade(share) {
  const part = Math.sqrt(Math.min(1, Math.max(0, share)));
  const mix = (light, dark) => Math.round(light + (dark - light) * part);
  return `rgb(${mix(255, 0)}, ${mix(255, 40)}, ${mix(255, 104)})`;
}

function pointAtCell(x, y, event) {
  const { layout } = plan;
  if (!layout || !plan.shown) return;
  const clip = (value) => Math.max(0, Math.min(DATA.frames - 1, Math.floor(value / layout.cell)));
  plan.cell = [clip(y - layout.top), clip(x - layout.left)];
  drawPlan();
  tellCell(event);
}

function tellCell(event) {
  const { shown, cell: [i, j] } = plan;
  const times = [pictureTime(shown.places[0], i), pictureTime(shown.places[1], j)];
  const names = shown.places.map((video) => DATA.videos[video].name);
  const lines = [
    `${names[0]} at ${clock(times[0])} (frame ${i + 1} of ${DATA.frames})`,
    `${names[1]} at ${clock(times[1])} (frame ${j + 1} of ${DATA.frames})`,
    `matching probability ${shown.at(i, j).toFixed(3)}; to the virtual frame ${percent(shown.virtual[0][i])} and ${percent(shown.virtual[1][j])}`,
  ];
  byId("plan-status").textContent = lines.join(" - ");
  const box = plan.canvas.getBoundingClientRect();
  const [x, y] = event
    ? [event.clientX, event.clientY]
    : [box.left + plan.layout.left + j * plan.layout.cell, box.top + plan.layout.top + (i + 1) * plan.layout.cell];
  showPopup(lines, x, y, [[shown.places[0], times[0]], [shown.places[1], times[1]]]);
}

function moveCell(event) {
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  if (event.key === "Enter") playCell();
  else if (!steps[event.key] || !plan.shown) return;
  else {
    const clip = (value) => Math.max(0, Math.min(DATA.frames - 1, value));
    plan.cell = plan.cell.map((value, axis) => clip(value + steps[event.key][axis]));
    drawPlan();
    tellCell(null);
  }
  event.preventDefault();
}

function playCell() {
  if (plan.shown) playFrom(plan.shown.places[0], pictureTime(plan.shown.places[0], plan.cell[0]), plan.canvas);
}
