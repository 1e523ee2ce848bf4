// Embeddings in the plane, three times: coloured by time, by video, by key step.

const VIRIDIS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [170, 220, 50]];
const MARKS = ["disc", "square", "triangle", "ring"];
const clouds = { canvases: [], here: null };

function drawClouds() {
  const space = byId("clouds");
  const view = viewOf(state.run);
  clouds.here = null;
  clouds.canvases = [];
  if (!view || view.points.why) {
    const why = view ? `No picture: ${view.points.why}.` : `The layout was not worked out for this result. Ask for it, then for this page: snakemake ${DATA.views[state.run]}`;
    space.replaceChildren(make("p", { textContent: factsOf(state.run).kind === "trivial" ? "A trivial answer has no embedding." : why }));
    return;
  }
  const points = view.points;
  const places = points.videos.map((id) => place.get(id));
  const kinds = [
    ["time", "By time", (at) => ({ colour: viridis(points.time_s[at] / DATA.videos[places[points.video[at]]].duration), mark: "disc" })],
    ["video", "By video", (at) => ({ colour: cycle(points.video[at]), mark: MARKS[Math.floor(points.video[at] / 8) % 4] })],
    ["step", "By key step", (at) => ({ colour: colourOf(state.run, points.key_step[at]), mark: lookOf(state.run, points.key_step[at]).includes("none") ? "ring" : "disc" })],
  ];
  space.replaceChildren(...kinds.map(([kind, title, style]) => {
    const canvas = make("canvas", { tabIndex: 0, role: "img", data: { kind }, aria: { label: `${title}; ${points.x.length} frames` } });
    clouds.canvases.push({ canvas, style, points, places });
    canvas.addEventListener("pointermove", (event) => pointAtCloud(canvas, event));
    canvas.addEventListener("pointerleave", leaveCloud);
    canvas.addEventListener("click", () => playPoint(canvas));
    canvas.addEventListener("keydown", (event) => stepThrough(canvas, event));
    cloudResized.observe(canvas);
    const hints = { time: "Dark is early, light is late in its video.", video: "Clouds of many colours: frames are told apart by what is done. Clouds of one colour: by who filmed it." };
    return make("figure", {}, make("h3", { textContent: title }), canvas, kind === "step" ? stepLegend(points) : make("p", { className: "hint", textContent: hints[kind] }));
  }));
  for (const figure of space.children) figure.style.margin = "0";
  drawPoints();
}

const cloudResized = new ResizeObserver(() => drawPoints());

function stepLegend(points) {
  const steps = [...new Set(points.key_step)].sort((a, b) => a - b);
  return make("ul", { className: "legend" }, ...steps.map((step) => {
    const made = chip(state.run, step);
    return make("li", { className: made.className }, ...made.childNodes);
  }));
}

function viridis(share) {
  const scaled = Math.min(0.9999, Math.max(0, share)) * (VIRIDIS.length - 1);
  const at = Math.floor(scaled);
  const mix = VIRIDIS[at].map((from, channel) => Math.round(from + (VIRIDIS[at + 1][channel] - from) * (scaled - at)));
  return `rgb(${mix.join(", ")})`;
}

function cycle(video) {
  const probe = `s${(video % 8) + 1}`;
  if (!colours.has(probe)) {
    const element = document.body.appendChild(make("span", { className: `step ${probe}` }));
    colours.set(probe, getComputedStyle(element).backgroundColor);
    element.remove();
  }
  return colours.get(probe);
}

const inCloud = (size, value) => 10 + value * (size - 20);

function drawPoints() {
  for (const { canvas, style, points } of clouds.canvases) {
    const size = canvas.clientWidth;
    if (!size) continue;
    const pen = sharp(canvas, size, size);
    pen.clearRect(0, 0, size, size);
    const radius = points.x.length > 500 ? 3 : 4;
    for (let at = 0; at < points.x.length; at++) {
      const { colour, mark } = style(at);
      point(pen, mark, inCloud(size, points.x[at]), inCloud(size, points.y[at]), radius, colour);
    }
    if (clouds.here !== null) {
      pen.strokeStyle = "#d100b5";
      pen.lineWidth = 3;
      pen.beginPath();
      pen.arc(inCloud(size, points.x[clouds.here]), inCloud(size, points.y[clouds.here]), radius + 4, 0, 7);
      pen.stroke();
    }
  }
}

function point(pen, mark, x, y, radius, colour) {
  pen.beginPath();
  pen.fillStyle = pen.strokeStyle = colour;
  if (mark === "square") pen.rect(x - radius * 0.9, y - radius * 0.9, radius * 1.8, radius * 1.8);
  else if (mark === "triangle") {
    pen.moveTo(x, y - radius * 1.2);
    pen.lineTo(x + radius * 1.1, y + radius * 0.8);
    pen.lineTo(x - radius * 1.1, y + radius * 0.8);
    pen.closePath();
  } else pen.arc(x, y, radius, 0, 7);
  if (mark !== "ring") pen.fill();
  // A thin dark rim keeps light colours visible on white.
  pen.lineWidth = mark === "ring" ? 1.5 : 0.5;
  pen.strokeStyle = "#444444";
  pen.stroke();
}

function pointAtCloud(canvas, event) {
  const { points } = clouds.canvases[0];
  const size = canvas.clientWidth;
  let best = null;
  let least = 14 * 14;
  for (let at = 0; at < points.x.length; at++) {
    const away = (inCloud(size, points.x[at]) - event.offsetX) ** 2 + (inCloud(size, points.y[at]) - event.offsetY) ** 2;
    if (away < least) [best, least] = [at, away];
  }
  if (best === null) leaveCloud();
  else goTo(best, event.clientX, event.clientY);
}

function leaveCloud() {
  hidePopup();
  clouds.here = null;
  drawPoints();
}

function goTo(at, x, y) {
  clouds.here = at;
  drawPoints();
  const { points, places } = clouds.canvases[0];
  const video = places[points.video[at]];
  showPopup([fullLabel(state.run, points.key_step[at]), `${DATA.videos[video].name} at ${clock(points.time_s[at])}`], x, y, [[video, points.time_s[at]]]);
}

function stepThrough(canvas, event) {
  const { points } = clouds.canvases[0];
  const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (event.key === "Enter") playPoint(canvas);
  else if (!move) return;
  else {
    const to = clouds.here === null ? 0 : Math.max(0, Math.min(points.x.length - 1, clouds.here + move));
    const box = canvas.getBoundingClientRect();
    goTo(to, box.left + inCloud(box.width, points.x[to]), box.top + inCloud(box.height, points.y[to]));
  }
  event.preventDefault();
}

function playPoint(canvas) {
  if (clouds.here === null) return;
  const { points, places } = clouds.canvases[0];
  playFrom(places[points.video[clouds.here]], points.time_s[clouds.here], canvas);
}
