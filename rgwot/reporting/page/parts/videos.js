// The tab of videos: a card per video with its strip of frames and, beneath it on the same axis, bars of segments. Cards
// are filled when they come near the window and emptied when they are far from it, so that hundreds of them scroll well.
// A card sends the event "filled" when it has its bars.

import { byId, make, spread } from "./dom.js";
import { isEdited, shownOf } from "./edits.js";
import { chip, chips, colourOf, drawPicture, dye, lookOf, sharp, stripOf } from "./looks.js";
import { playFrom } from "./player.js";
import { startSift } from "./sift.js";
import { hidePopup, showPopup } from "./popup.js";
import { bodyOf, calledNow, factsOf, fullLabel, hasBackground, inOrder, fromLabels, labelOf, matchInWords, matchOf, nameOf, occurrencesOf, runTitle, sameStep, segmentsOf, stepsOf, stepTitle } from "./results.js";
import { comingSteps, drawnRuns, indexAt, isMark, nearestSpan, tickTimes } from "./segments.js";
import { DATA, state } from "./state.js";
import { clock, listed, plural, when } from "./text.js";

/** A bar with more segments than this is drawn as one picture. */
const MANY_SEGMENTS = 150;
/** The width of a label below an axis. */
const LABEL_PX = 44;
export const cards = byId("cards");

// Cards up to one window height away are filled; the style sheet keeps the height of the others.
const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target, boundingClientRect } of entries) {
    if (isIntersecting) fill(target);
    else if (!target.contains(document.activeElement)) clear(target, boundingClientRect.height);
  }
}, { rootMargin: "100% 0px" });

export function makeCards() {
  const usable = DATA.videos.map((video, at) => /** @type {const} */ ([video, at])).filter(([video]) => video.status !== "skipped");
  cards.replaceChildren(...usable.map(([video, at]) => make(
    "article", { className: "card", data: { video: String(at) }, aria: { label: video.name } },
    heading(at),
  )));
  startSift(byId("sift-videos"), numberOfDeviations, (seen) => {
    const own = new Map([...cards.children].map((card) => [Number(card.dataset.video), card]));
    for (const [video, card] of own) card.hidden = !seen.includes(video);
    for (const video of seen) if (own.has(video)) cards.append(own.get(video));
  }, "study");
  refreshCards();
  decodeAhead(0);
}

/** The number of a video's deviations that are not doubtful; doubtful ones break ties. */
export function numberOfDeviations(video) {
  const line = /** @type {any} */ (document.querySelector(`.procedure[data-run="${state.run}"] .line[data-video="${video}"]`));
  return line ? Number(line.dataset.number) + Number(line.dataset.doubtful) / 1000 : 0;
}

/** The name of a video, and whether the chosen result learned from its whole annotation. */
function heading(at) {
  const { id, name, status } = DATA.videos[at];
  const given = factsOf(state.run).given.includes(id) && status !== "unscored";
  return make("h3", {}, name, ...(given ? [" ", make("span", { className: "badge", textContent: "annotated" })] : []));
}

/** Decode the strips one by one while the browser is idle, because printing does not wait for pictures. */
function decodeAhead(at) {
  if (at < DATA.videos.length) requestIdleCallback(() => stripOf(at).then(() => decodeAhead(at + 1)));
}

/** Empty all cards; those near the window are filled again at once. */
export function refreshCards() {
  drawLegend();
  near.disconnect();
  for (const card of cards.children) {
    clear(card, null);
    near.observe(card);
  }
  const first = cards.querySelector(".card:not([hidden])");
  if (!first) return;
  // Cards that were not filled yet are as high as the first one, so that the page does not grow while scrolling.
  fill(first);
  cards.style.setProperty("--card", `${first.offsetHeight}px`);
}

/** Empty a card except for its name; the card keeps its height. */
export function clear(card, height) {
  if (height === null) card.style.minHeight = "";
  if (!card.dataset.filled) return;
  delete card.dataset.filled;
  card.replaceChildren(card.firstElementChild);
  if (height !== null) card.style.minHeight = `${height}px`;
}

export function fill(card) {
  if (card.dataset.filled) return;
  card.dataset.filled = "yes";
  card.style.minHeight = "";
  const at = Number(card.dataset.video);
  const video = DATA.videos[at];
  const edited = isEdited(at, state.run);
  const rows = edited || byId("editing").open ? shownOf(at) : null;
  const events = (rows || occurrencesOf(at, state.run)).filter((row) => !isMark(row)).map(([start, end, step]) => [start, end, sameStep(state.run, step)]);
  const order = comingSteps(events, bodyOf(state.run).orders[at] || []);
  const truth = DATA.truth[at].length ? [-1] : [];
  const axis = make("div", { className: "axis" }, strip(at));
  for (const run of [...truth, ...drawnRuns(DATA.runs, state.run, byId("bars").value).filter((one) => one === state.run || factsOf(one).kind !== "trivial")]) {
    const own = run === state.run;
    axis.append(make("div", { className: "label", textContent: run < 0 ? "annotation" : `${runTitle(run)}${own && edited ? ", edited" : ""}` }), bar(at, run, own ? rows : null));
  }
  axis.append(ticks(video.duration));
  const facts = `${clock(video.duration)} long, ${Math.round(video.duration * video.fps)} frames at ${Number(video.fps.toFixed(3))} per second${video.status === "unscored" ? `; not scored, ${DATA.truth[at].length ? "labelled in part" : "no annotation"}` : ""}${order.length ? "; key steps as they come:" : ""}`;
  card.replaceChildren(
    heading(at),
    make("p", { className: "hint", textContent: facts }),
    order.length ? chips(state.run, order) : make("p", { className: "hint", textContent: "No key steps in this result." }),
    axis,
  );
  card.dispatchEvent(new Event("filled", { bubbles: true }));
}

function strip(at) {
  const video = DATA.videos[at];
  if (!video.strip) return make("div", { className: "strip empty", textContent: !video.pictured ? "no pictures: features without a video" : "no pictures: the video did not decode" });
  const canvas = make("canvas", { className: "strip", role: "img", aria: { label: `frames of ${video.name} in the order of time` } });
  resized.observe(canvas);
  return canvas;
}

const resized = new ResizeObserver((entries) => {
  for (const { target, contentRect: { width } } of entries) {
    if (!target.isConnected) resized.unobserve(target);
    else if (target.matches(".strip")) drawStrip(target, Number(target.closest(".card").dataset.video));
    else if (width) drawTicks(target, width);
  }
});

export function drawStrip(canvas, at) {
  stripOf(at).then((image) => {
    const { width, height } = canvas.getBoundingClientRect();
    if (!image || !width) return;
    const n = Math.max(1, Math.min(DATA.frames, Math.round(width / (height * DATA.videos[at].aspect))));
    const pen = sharp(canvas, width, height);
    for (let part = 0; part < n; part++) {
      drawPicture(pen, image, Math.floor(((part + 0.5) / n) * DATA.frames), (part * width) / n, 0, width / n, height);
    }
  });
}

/** A bar of the segments of a result, or of the `rows` of a video that a person edits. */
export function bar(at, run, rows = null) {
  const video = DATA.videos[at];
  const segments = rows || segmentsOf(at, run);
  const many = run >= 0 && (bodyOf(run).segments[at] || {}).many;
  if (many) return make("p", { className: "hint", textContent: `${many} segments, more than can be drawn` });
  const marks = segments.filter(isMark).length;
  const parts = [...(marks < segments.length ? [plural(segments.length - marks, "segment")] : []), ...(marks ? [plural(marks, "mark")] : [])];
  const title = `${run < 0 ? "annotation" : runTitle(run)}: ${listed(parts) || "no segment"} of ${video.name}`;
  const made = make("div", { className: "bar", role: "group", data: { run: String(run), ...(rows ? { edited: "yes" } : {}) }, aria: { label: title } });
  made.classList.toggle("partly", video.status === "unscored");
  if (segments.length > MANY_SEGMENTS) {
    const canvas = make("canvas");
    const pen = sharp(canvas, 2000, 24);
    for (const [start, end, step] of segments) {
      pen.fillStyle = colourOf(run, step);
      pen.fillRect((2000 * start) / video.duration, 0, start === end ? 4 : (2000 * (end - start)) / video.duration, 24);
    }
    made.classList.add("fine");
    made.tabIndex = 0;
    made.setAttribute("role", "img");
    made.append(canvas);
    return made;
  }
  segments.forEach(([start, end, step, shows = step], index) => {
    const text = run < 0 && step ? calledNow(nameOf(run, step)) : labelOf(run, step);
    const segment = make("button", {
      type: "button",
      tabIndex: index ? -1 : 0,
      data: { index: String(index), step: String(step) },
      aria: { label: `${fullLabel(run, step)}, ${when(start, end)}${shows === step ? "" : `, ${showsInWords(run, step, shows)}`}` },
    }, make("span", { textContent: text }));
    segment.classList.add("seg");
    segment.classList.toggle("mark", isMark([start, end]));
    segment.classList.toggle("uncounted", shows !== step);
    dye(segment, lookOf(run, step));
    spread(segment, start, end, video.duration);
    made.append(segment);
  });
  return made;
}

/** The key step that a segment shows if it does not count as an occurrence of its own key step. */
const showsInWords = (run, step, shows) => shows ? `looks like ${fullLabel(run, shows)}` : `does not count as ${fullLabel(run, step)} here: too short for it, or more like what is around it`;

/** Make the times below an axis, as many as fit into its width. */
export function ticks(duration) {
  const made = make("div", { className: "ticks", data: { duration: String(duration) }, aria: { hidden: "true" } });
  resized.observe(made);
  return made;
}

function drawTicks(made, width) {
  const duration = Number(made.dataset.duration);
  const [step, times] = tickTimes(duration, Math.max(3, Math.min(10, width / 90)));
  made.replaceChildren(...times.flatMap((time) => {
    const label = make("span", { textContent: clock(time, step < 1 ? 1 : 0) });
    const line = make("i");
    label.style.left = line.style.left = `${(100 * time) / duration}%`;
    // A label in the middle of the last pixels would be cut off.
    label.classList.toggle("end", width * (1 - time / duration) < LABEL_PX / 2);
    return [label, line];
  }));
}

/** The target of the pointer or the focus: the video, the time, and the segment if there is one. */
export function targetOf(element, clientX = null) {
  const axis = element.closest(".axis");
  if (!axis) return null;
  const at = Number(axis.closest("[data-video]").dataset.video);
  const { left, width } = axis.getBoundingClientRect();
  const duration = DATA.videos[at].duration;
  let seconds = clientX === null ? null : Math.min(duration, Math.max(0, ((clientX - left) / width) * duration));
  const drawn = element.closest(".bar");
  if (!drawn) return element.closest(".strip") ? { at, seconds, run: null } : null;
  const run = Number(drawn.dataset.run);
  const segments = drawn.dataset.edited ? shownOf(at) : segmentsOf(at, run);
  const button = element.closest(".seg");
  const index = button
    ? Number(button.dataset.index)
    : seconds === null ? -1 : indexAt(segments, seconds);
  const segment = index >= 0 ? segments[index] : null;
  if (seconds === null) seconds = segment ? segment[0] : 0;
  return { at, seconds, run, segment };
}

/** @param {{ at: number, seconds: number, run: number, segment?: any }} target */
function describe({ at, seconds, run, segment }) {
  const video = DATA.videos[at];
  const lines = [];
  if (segment) {
    const [start, end, step, shows = step] = segment;
    lines.push(fullLabel(run, step));
    if (shows !== step) lines.push(showsInWords(run, step, shows));
    if (run >= 0 && state.annotated && step > 0 && !fromLabels(run)) lines.push(matchInWords(run, step));
    lines.push(`${when(start, end)}${start < end ? ` (${(end - start).toFixed(1)} s)` : ""}`);
  } else if (run !== null) {
    lines.push(run >= 0 ? "no segment" : video.status === "unscored" ? "not labelled" : "background: no annotated step");
  }
  lines.push(`at ${clock(seconds)}, frame ${Math.floor(seconds * video.fps + 1e-6)}`);
  return lines;
}

/** Make the bars and strips in a part of the page respond to pointer and keyboard. */
export function watchBars(part) {
  part.addEventListener("pointermove", (event) => {
    const target = targetOf(event.target, event.clientX);
    if (target) showPopup(describe(target), event.clientX, event.clientY, [target.at, target.seconds]);
    else if (part === cards) hidePopup();
  });
  part.addEventListener("pointerleave", hidePopup);
  part.addEventListener("focusin", (event) => {
    const target = targetOf(event.target);
    if (!target || !event.target.matches(":focus-visible")) return;
    const box = event.target.getBoundingClientRect();
    const middle = target.segment ? (target.segment[0] + target.segment[1]) / 2 : 0;
    showPopup(describe(target), box.left, box.bottom - 10, [target.at, middle]);
  });
  part.addEventListener("focusout", hidePopup);
  part.addEventListener("click", (event) => {
    const byPointer = event.detail > 0;
    const target = targetOf(event.target, byPointer ? event.clientX : null);
    if (!target) return;
    const { at, seconds, run, segment } = target;
    // A segment plays from its start, and the strip and the time between segments from the clicked time. Under Videos,
    // where segments are edited, the video plays on.
    const [start, end, step] = segment || [seconds];
    const on = part === cards || start === end;
    playFrom(at, start, event.target.closest("button"), segment ? `${fullLabel(run, step)}, ${on ? `from ${clock(start)}` : when(start, end)}` : undefined, segment && !on ? end : null);
  });
  part.addEventListener("keydown", moveAlong);
}

watchBars(cards);

function moveAlong(event) {
  const from = event.target;
  if (!from.matches(".seg, .fine")) return;
  const own = from.closest(".bar");
  const all = [...own.querySelectorAll(".seg")];
  const here = all.indexOf(from);
  let to = null;
  if (event.key === "ArrowRight") to = all[here + 1];
  else if (event.key === "ArrowLeft") to = all[here - 1];
  else if (event.key === "Home") to = all[0];
  else if (event.key === "End") to = all[all.length - 1];
  else if (event.key === "ArrowUp" || event.key === "ArrowDown") to = across(own, from, event.key === "ArrowUp" ? -1 : 1);
  else if (event.key === "Enter" && from.matches(".fine")) playFrom(Number(from.closest("[data-video]").dataset.video), 0, from);
  else return;
  event.preventDefault();
  if (!to) return;
  for (const segment of to.closest(".bar").querySelectorAll('.seg[tabindex="0"]')) segment.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

/** The segment at the same time in the bar above or below, or else the nearest one. */
function across(own, from, step) {
  const bars = [...(own.closest(".lines") || own.closest(".axis")).querySelectorAll(".bar")];
  const other = bars[bars.indexOf(own) + step];
  if (!other) return null;
  if (other.matches(".fine")) return other;
  const box = from.getBoundingClientRect();
  const all = [...other.querySelectorAll(".seg")];
  return all[nearestSpan(all.map((segment) => segment.getBoundingClientRect()).map(({ left, right }) => [left, right]), (box.left + box.right) / 2)] || null;
}

function drawLegend() {
  const items = [];
  const entry = (run, step, text) => items.push(chip(run, step, text, "li"));
  if (state.annotated && !fromLabels(state.run)) {
    for (const step of Object.keys(DATA.steps).map(Number).sort((a, b) => a - b)) {
      const found = stepsOf(state.run).filter((own) => matchOf(state.run, own) === step);
      const also = found.length ? `, matched to key step ${found.map((own) => (nameOf(state.run, own) ? `${own} (${nameOf(state.run, own)})` : own)).join(", ")}` : "";
      entry(-1, step, `${DATA.steps[step]}${also}`);
    }
    entry(-1, 0, "background");
    const alone = stepsOf(state.run).filter((step) => matchOf(state.run, step) === undefined);
    if (alone.length) entry(state.run, alone[0], `matched to no annotated step: key step ${alone.map((step) => labelOf(state.run, step)).join(", ")}`);
  } else {
    const steps = inOrder(state.run);
    for (const step of steps) if (sameStep(state.run, step) === step) entry(state.run, step, stepTitle(state.run, step));
    if (hasBackground(state.run) || steps.some((step) => !sameStep(state.run, step))) entry(state.run, 0, "background");
  }
  byId("legend").replaceChildren(...items);
}
