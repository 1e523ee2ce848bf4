// Embeddings in the plane, three times: coloured by time, by video, by key step.

const VIRIDIS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [170, 220, 50]];
// Regular polygons: number of corners (0: a disc), and by which part of a turn the first one is away from straight up.
const SHAPES = [[0, 0], [4, 1 / 8], [3, 0], [4, 0], [3, 1 / 2], [6, 0]];
const MANY_MARKS = 8 * SHAPES.length;
const clouds = { canvases: [], here: null };

function drawClouds() {
  const space = byId("clouds");
  const view = viewOf(state.run);
  clouds.here = null;
  clouds.canvases = [];
  if (!view || view.points.why) {
    const why = view ? `No picture: ${view.points.why}.` : "The layout is shown for the first seed of a method.";
    space.replaceChildren(make("p", { textContent: why }));
    return;
  }
  const places = view.points.videos.map((id) => place.get(id));
  const { points } = view;
  const kinds = [
    ["time", "By time", (at) => ({ colour: viridis(points.time_s[at] / DATA.videos[places[points.video[at]]].duration), shape: 0 }), []],
    ["video", "By video", (at) => markOfVideo(points.video[at]), [videoLegend(points, places)]],
    ["step", "By key step", (at) => markOfStep(points.key_step[at]), [stepLegend(points)]],
  ];
  space.replaceChildren(...kinds.map(([kind, title, style, legend]) => {
    const canvas = make("canvas", { tabIndex: 0, role: "img", data: { kind }, aria: { label: `${title}; ${points.x.length} frames` } });
    clouds.canvases.push({ canvas, style, points, places });
    canvas.addEventListener("pointermove", (event) => pointAtCloud(canvas, event));
    canvas.addEventListener("pointerleave", leaveCloud);
    canvas.addEventListener("click", () => playPoint(canvas));
    canvas.addEventListener("keydown", (event) => stepThrough(canvas, event));
    cloudResized.observe(canvas);
    const hints = { time: "Dark is early, light is late in its video.", video: "Clouds of many colours: frames are told apart by what is done. Clouds of one colour: by who filmed it." };
    return make("figure", {}, make("h3", { textContent: title }), canvas, hints[kind] ? make("p", { className: "hint", textContent: hints[kind] }) : null, ...legend);
  }));
  for (const figure of space.children) figure.style.margin = "0";
  drawPoints();
}

const cloudResized = new ResizeObserver(() => drawPoints());

/** Eight colours, then the same ones with the next shape. */
const markOfVideo = (video) => ({ colour: colourOfClasses(`step s${(video % 8) + 1}`), shape: Math.floor(video / 8) % SHAPES.length });

/** A key step has the colour of its bars and, for their pattern, a shape; those matched to nothing are outlines. */
function markOfStep(step) {
  const look = lookOf(state.run, step);
  const colour = colourOf(state.run, step);
  if (!look.includes("none")) return { colour, shape: look.includes("dots") ? 2 : look.includes("stripes") ? 1 : 0 };
  const alone = stepsOf(state.run).filter((own) => lookOf(state.run, own).includes("none"));
  return { colour, shape: alone.indexOf(step) % SHAPES.length, open: true };
}

/** A list of marks, each drawn as it is among the points, with what it stands for. */
function markLegend(title, entries) {
  return make("ul", { className: "marks", tabIndex: 0, aria: { label: title } }, ...entries.map(([mark, what]) => {
    const canvas = make("canvas", { className: "mark" });
    point(sharp(canvas, 16, 16), mark, 8, 8, 5);
    return make("li", {}, canvas, what);
  }));
}

function stepLegend(points) {
  const steps = [...new Set(points.key_step)].sort((a, b) => a - b);
  return markLegend("Marks of key steps", steps.map((step) => [markOfStep(step), chip(state.run, step)]));
}

function videoLegend(points, places) {
  const legend = markLegend("Marks of videos", points.videos.map((_, at) => [markOfVideo(at), make("span", { textContent: DATA.videos[places[at]].name })]));
  if (points.videos.length <= MANY_MARKS) return legend;
  return make("div", {}, make("p", { className: "hint", textContent: `There are ${MANY_MARKS} marks; the ${points.videos.length} videos take them in turn.` }), legend);
}

function viridis(share) {
  const scaled = Math.min(0.9999, Math.max(0, share)) * (VIRIDIS.length - 1);
  const at = Math.floor(scaled);
  const mix = VIRIDIS[at].map((from, channel) => Math.round(from + (VIRIDIS[at + 1][channel] - from) * (scaled - at)));
  return `rgb(${mix.join(", ")})`;
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
      point(pen, style(at), inCloud(size, points.x[at]), inCloud(size, points.y[at]), radius);
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

function point(pen, { colour, shape, open = false }, x, y, radius) {
  const [corners, turned] = SHAPES[shape];
  pen.beginPath();
  if (!corners) pen.arc(x, y, radius, 0, 7);
  for (let corner = 0; corner < corners; corner++) {
    const angle = 2 * Math.PI * (corner / corners + turned);
    // Polygons are drawn a little larger, so that they look as large as discs.
    pen.lineTo(x + 1.25 * radius * Math.sin(angle), y - 1.25 * radius * Math.cos(angle));
  }
  pen.closePath();
  pen.fillStyle = colour;
  if (!open) pen.fill();
  // A thin dark rim keeps light colours visible on white.
  pen.lineWidth = open ? 1.5 : 0.5;
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
