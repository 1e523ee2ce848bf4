"use strict";
// What the page knows, how it writes elements, and the little it remembers. No text ever becomes markup here: elements
// are made one by one and texts are set as text.

const byId = (id) => document.getElementById(id);
const DATA = JSON.parse(byId("data").textContent);
const ANNOTATED = Object.keys(DATA.steps).length > 0;
const state = { run: 0 };

/** Make an element; `properties` are DOM properties, `data` its data-, `aria` its aria- attributes. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  const { data = {}, aria = {}, role, ...rest } = properties;
  Object.assign(element, rest);
  for (const [key, value] of Object.entries(data)) element.dataset[key] = value;
  for (const [key, value] of Object.entries(aria)) element.setAttribute(`aria-${key}`, value);
  if (role) element.setAttribute("role", role);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** What this browser stores under a key; null if there is nothing, or if it was based on another state of the file. */
function recall(key, base) {
  try {
    const kept = JSON.parse(localStorage.getItem(key) || "null");
    return kept && JSON.stringify(kept.base) === JSON.stringify(base) ? kept : null;
  } catch {
    // Without storage, as in some private windows, changes last as long as the page.
    return null;
  }
}

/** Keep a text in this browser; null forgets what is there. */
function remember(key, text) {
  try {
    if (text === null) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  } catch {
    // See recall.
  }
}

/** Give the reader a file. */
function download(text, type, name) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const parsed = new Map();
/** Read a block of JSON of the page, once and only when it is needed. */
function block(id) {
  if (!parsed.has(id)) {
    const element = byId(id);
    parsed.set(id, element ? JSON.parse(element.textContent) : null);
  }
  return parsed.get(id);
}

const factsOf = (run) => DATA.runs[run];
const bodyOf = (run) => block(`run-${run}`);
const viewOf = (run) => block(`view-${run}`);
/** The key steps of a result, without background. */
const stepsOf = (run) => factsOf(run).steps;
const runTitle = (run) => `${factsOf(run).method} / ${factsOf(run).decoder}, seed ${factsOf(run).seed}`;
const place = new Map(DATA.videos.map((video, at) => [video.id, at]));

/** Write seconds as 1:02.3. */
function clock(seconds, digits = 1) {
  const unit = 10 ** digits;
  const ticks = Math.round(seconds * unit);
  const minutes = Math.floor(ticks / (60 * unit));
  const rest = (ticks - minutes * 60 * unit) / unit;
  return `${minutes}:${rest.toFixed(digits).padStart(digits ? 3 + digits : 2, "0")}`;
}

/** A typed name in one line. */
const oneLine = (text) => text.replace(/\p{Cc}+/gu, " ").trim();
const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;
const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

/** The segments of a video as [start, end, step] in seconds; run -1 is the annotation. */
function segmentsOf(video, run) {
  if (run < 0) return DATA.truth[video];
  const own = bodyOf(run).segments[video];
  if (!own || own.many) return [];
  return own.steps.map((step, at) => [at ? own.ends[at - 1] / 1000 : 0, own.ends[at] / 1000, step]);
}

/** The annotated step that a found one is matched to over all videos: a number, 0 for background, or nothing. */
const matchOf = (run, step) => factsOf(run).match[step];

/** Whether a result learned from annotated videos: its key steps are annotated ones, by number and by name. */
const isTaught = (run) => run >= 0 && factsOf(run).given.length > 0;

/** Classes that colour a step: if there are annotations, a colour means the same annotated step everywhere. */
function lookOf(run, step) {
  const own = sameStep(run, step);
  // What a method itself calls background is no key step.
  const index = run < 0 || own === 0 || isTaught(run) ? own : ANNOTATED ? matchOf(run, own) : placeOf(run, own) ?? own;
  if (index === undefined) return ["step", "none"];
  return index === 0 ? ["step", "s0"] : lookAt(index);
}

/** Give an element the classes of a colour, in place of those it had. */
function dye(element, look) {
  element.classList.remove(...(element.dataset.look || "").split(" ").filter(Boolean));
  element.classList.add(...look);
  element.dataset.look = look.join(" ");
}

/** The classes of the n-th colour: the colours, then the same with patterns. */
function lookAt(n, colours = DATA.colours) {
  const pattern = ["", "stripes", "dots"][Math.min(2, Math.floor((n - 1) / colours))];
  return ["step", `s${((n - 1) % colours) + 1}`, pattern].filter(Boolean);
}

/** The key steps of a run in the order of their colours, the consensus order of the first result. */
const inOrder = (run) => [...stepsOf(run)].sort((a, b) => placeOf(run, a) - placeOf(run, b));
/** The place of a key step among the colours. */
const placeOf = (run, step) => factsOf(run).colour[step];
const hasBackground = (run) => DATA.videos.some((_, at) => segmentsOf(at, run).some(([, , step]) => step === 0));

/** A small coloured label; in a list, its tag is li. */
function label(look, text, tag = "span") {
  const made = make(tag, { className: "chip" }, make("span", { textContent: text }));
  dye(made, look);
  return made;
}

const chip = (run, step, text = labelOf(run, step), tag = "span") => label(lookOf(run, step), text, tag);

/** An order of steps as a list of labels. */
const chips = (run, order) => make("ol", { className: "chips" }, ...order.map((step) => chip(run, step, labelOf(run, step), "li")));

/** Place an element on the axis of a video from a start to an end. */
function spread(element, start, end, duration) {
  element.style.left = `${(100 * start) / duration}%`;
  element.style.width = `${(100 * (end - start)) / duration}%`;
}

const colours = new Map();
/** The colour of a step for drawing. */
const colourOf = (run, step) => colourOfClasses(lookOf(run, step).slice(0, 2).join(" "));

/** A colour, read from the style sheet. */
function colourOfClasses(name) {
  if (!colours.has(name)) {
    const probe = document.body.appendChild(make("span", { className: name }));
    colours.set(name, getComputedStyle(probe).backgroundColor);
    probe.remove();
  }
  return colours.get(name);
}

/** Prepare a canvas for sharp drawing in CSS pixels. */
function sharp(canvas, width, height) {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  return pen;
}

const strips = new Map();
/** The strip of a video as a decoded picture, or null where there is none. */
function stripOf(video) {
  if (!DATA.videos[video].strip) return Promise.resolve(null);
  if (!strips.has(video)) {
    const bytes = Uint8Array.from(atob(byId(`strip-${video}`).textContent), (letter) => letter.charCodeAt(0));
    const image = new Image();
    image.src = URL.createObjectURL(new Blob([bytes], { type: "image/jpeg" }));
    strips.set(video, image.decode().then(() => image, () => null));
  }
  return strips.get(video);
}

/** Which picture of the strip is nearest to a time. */
function pictureAt(video, seconds) {
  const share = seconds / DATA.videos[video].duration;
  return Math.max(0, Math.min(DATA.frames - 1, Math.floor(share * DATA.frames)));
}

const pictureTime = (video, picture) => ((picture + 0.5) / DATA.frames) * DATA.videos[video].duration;

/** Draw one picture of a strip into a rectangle. */
function drawPicture(pen, image, picture, x, y, width, height) {
  const size = image.naturalWidth / DATA.frames;
  pen.drawImage(image, picture * size, 0, size, image.naturalHeight, x, y, width, height);
}
