// The colours and labels of key steps, and the pictures of videos.

import { byId, make } from "./dom.js";
import { inOrder, isTaught, labelOf, matchOf, placeOf, sameStep, stepName } from "./results.js";
import { DATA, state } from "./state.js";

/** The colour of an annotated step; on a page made without annotations, the colour of the found step with its name. */
const annotatedColour = (step) => (state.annotated ? step : state.colours.get(step) ?? step);

/** Classes that colour a step: if there are annotations, a colour means the same annotated step everywhere. */
export function lookOf(run, step) {
  const merged = sameStep(run, step);
  if (merged < 0) return lookAt(annotatedColour(-merged));
  // The method's own background is not a key step.
  const index = merged === 0 ? 0 : run < 0 || isTaught(run) ? annotatedColour(merged) : state.annotated ? matchOf(run, merged) : placeOf(run, merged) ?? merged;
  if (index === undefined) return ["step", "none"];
  return index === 0 ? ["step", "s0"] : lookAt(index);
}

/** The classes of the n-th colour: the colours, then the same with patterns. */
export function lookAt(n, colours = DATA.colours) {
  const pattern = ["", "dashed", "lined"][Math.min(2, Math.floor((n - 1) / colours))];
  return ["step", `s${((n - 1) % colours) + 1}`, pattern].filter(Boolean);
}

/** The number of the colour of a name: that of the first found step with this name, or else an unused colour. */
export function colourOfName(name) {
  const { coloursOfNames } = state;
  for (const step of inOrder(0)) coloursOfNames.set(stepName(0, step), placeOf(0, step));
  if (!coloursOfNames.has(name)) {
    const taken = new Set([...coloursOfNames.values(), ...Object.keys(DATA.steps).map(Number).filter(() => state.annotated)]);
    let free = 1;
    while (taken.has(free)) free += 1;
    coloursOfNames.set(name, free);
  }
  return coloursOfNames.get(name);
}

/** Replace the colour classes of an element. */
export function dye(element, look) {
  element.classList.remove(...(element.dataset.look || "").split(" ").filter(Boolean));
  element.classList.add(...look);
  element.dataset.look = look.join(" ");
}

/** A small coloured label; in a list, its tag is li.
 * @param {"span" | "li"} [tag] */
export function label(look, text, tag = "span") {
  const badge = make(tag, { className: "chip" }, make("span", { textContent: text }));
  dye(badge, look);
  return badge;
}

/** The label of a key step of a result.
 * @type {(run: number, step: number, text?: string, tag?: "span" | "li") => HTMLElement} */
export const chip = (run, step, text = labelOf(run, step), tag = "span") => label(lookOf(run, step), text, tag);
/** An order of steps as a list of labels. */
export const chips = (run, order) => make("ol", { className: "chips" }, ...order.map((step) => chip(run, step, labelOf(run, step), "li")));
/** A list of labels of a run's key steps, from pairs [key step, text]. */
export const titled = (run, steps) => make("ul", { className: "chips" }, ...steps.map(([step, text]) => chip(run, step, text, "li")));

const colours = new Map();
/** The colour of the classes of a step for drawing, read from the style sheet. */
export function colourOfLook(look) {
  const name = look.slice(0, 2).join(" ");
  if (!colours.has(name)) {
    const probe = document.body.appendChild(make("span", { className: name }));
    colours.set(name, getComputedStyle(probe).backgroundColor);
    probe.remove();
  }
  return colours.get(name);
}

export const colourOf = (run, step) => colourOfLook(lookOf(run, step));

/** Prepare a canvas for sharp drawing in CSS pixels. */
export function sharp(canvas, width, height) {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  return pen;
}

const strips = new Map();
/** The strip of a video as a decoded picture, or null if it has none. */
export function stripOf(video) {
  if (!DATA.videos[video].strip) return Promise.resolve(null);
  if (!strips.has(video)) {
    const bytes = Uint8Array.from(atob(byId(`strip-${video}`).textContent), (letter) => letter.charCodeAt(0));
    const image = new Image();
    image.src = URL.createObjectURL(new Blob([bytes], { type: "image/jpeg" }));
    strips.set(video, image.decode().then(() => image, () => null));
  }
  return strips.get(video);
}

/** The index of the picture of the strip that is nearest to a time. */
export function pictureAt(video, seconds) {
  const share = seconds / DATA.videos[video].duration;
  return Math.max(0, Math.min(DATA.frames - 1, Math.floor(share * DATA.frames)));
}

/** Draw one picture of a strip into a rectangle. */
export function drawPicture(pen, image, picture, x, y, width, height) {
  const size = image.naturalWidth / DATA.frames;
  pen.drawImage(image, picture * size, 0, size, image.naturalHeight, x, y, width, height);
}
