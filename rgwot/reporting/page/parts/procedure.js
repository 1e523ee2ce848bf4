// The tab of the procedure. Python writes its cards, layers and videos; this module adds colours, names, frames and bars,
// and highlights what a key step needs.

import { drawBudget, startBudget } from "./budget.js";
import { byId, download, make, spread } from "./dom.js";
import { drawPicture, dye, lookOf, pictureAt, sharp, stripOf } from "./looks.js";
import { playFrom, playStep, sourceOf } from "./player.js";
import { hidePopup, showPopup, showPopupBeside } from "./popup.js";
import { startSift } from "./sift.js";
import { fileWords, labelOf, nameOf, namesOf, occurrencesOf, place, segmentsOf, viewOf } from "./results.js";
import { DATA, state } from "./state.js";
import { clock, csvField, fileName, listed } from "./text.js";
import { bar, numberOfDeviations, ticks, watchBars } from "./videos.js";

const procedures = byId("procedure");
const SHOTS = 3;
/** A deviation plays for at least this long, in seconds. */
const LEAST_S = 3;
const pictureOf = (run) => procedures.querySelector(`.procedure[data-run="${run}"]`);

export function drawProcedure() {
  const run = state.run;
  for (const picture of procedures.querySelectorAll(".procedure")) picture.hidden = picture.dataset.run !== String(run);
  const own = pictureOf(run);
  if (!own) return;
  if (!own.dataset.drawn) prepare(own, run);
  for (const element of own.querySelectorAll(".dye, .shots.colour, .line .seg")) dye(element, lookOf(run, Number(element.closest("[data-step]").dataset.step)));
  for (const element of own.querySelectorAll(".dye.label > span")) element.textContent = labelOf(run, Number(element.parentElement.dataset.step));
  const named = Object.keys(namesOf(run)).length > 0;
  for (const element of own.querySelectorAll(".called")) {
    const step = Number(element.dataset.step);
    // A sentence may begin with a key step that has no name.
    const first = /[.:] $/.test(element.previousSibling?.textContent) ? "S" : "s";
    element.textContent = nameOf(run, step) || (named || element.closest(".doubt") ? `${first}tep ${step}` : String(step));
  }
  for (const element of own.querySelectorAll(".name")) {
    const name = nameOf(run, Number(element.dataset.step));
    element.textContent = name;
    element.title = name;
  }
  const budget = own.querySelector(".budget[open]");
  if (budget) drawBudget(budget);
}

/** Sort the lines of the listed videos; the last ones are folded away. */
function sortLines(own, seen, filtered) {
  const [first, rest] = own.querySelectorAll(".lines");
  const most = Number(own.dataset.most);
  const lines = new Map([...own.querySelectorAll(".line")].map((line) => [Number(line.dataset.video), line]));
  const order = seen.filter((video) => lines.has(video));
  for (const [video, line] of lines) line.hidden = !order.includes(video);
  for (const video of lines.keys()) if (!order.includes(video)) order.push(video);
  order.forEach((video, at) => (rest && at >= most ? rest : first).append(lines.get(video)));
  if (filtered) for (const folded of own.querySelectorAll(".rest")) folded.open = true;
}

/** Save all deviations as a CSV file, in the order of the study's videos, with the names of the key steps. */
function saveDeviations(own, run) {
  const rows = [...own.querySelectorAll(".deviation")].map(({ dataset, parentElement }) => ({ ...dataset, video: Number(parentElement.closest(".line").dataset.video) }))
    .sort((a, b) => a.video - b.video || a.start - b.start);
  const lines = rows.map(({ video, step, kind, sureness, start, end }) => [DATA.videos[video].id, step, nameOf(run, Number(step)), kind, start, end, sureness].map((field) => csvField(String(field))).join(","));
  download(["video,key_step,name,deviation,start_s,end_s,sureness", ...lines, ""].join("\n"), "text/csv", fileName(DATA.task, `${fileWords(run)}_deviations.csv`));
}

/** Add the parts that do not change while the page is open. */
function prepare(own, run) {
  own.dataset.drawn = "yes";
  for (const node of own.querySelectorAll(".node")) {
    const step = Number(node.dataset.step);
    const shots = shotsOf(run, step);
    const frames = shots.map(([video, seconds, picture]) => shot(video, seconds, picture));
    const space = node.querySelector(".shots");
    space.classList.add(frames.length ? "some" : "colour", `n${frames.length}`);
    space.append(...frames);
  }
  const lines = [...own.querySelectorAll(".line")];
  const longest = Math.max(...lines.map((line) => DATA.videos[line.dataset.video].duration));
  for (const line of lines) {
    const axis = line.querySelector(".axis");
    axis.append(bar(Number(line.dataset.video), run));
    // All bars have one scale of time.
    axis.style.width = `${(100 * DATA.videos[line.dataset.video].duration) / longest}%`;
  }
  for (const list of own.querySelectorAll(".lines")) list.prepend(make("li", { className: "scale" }, ticks(longest)));
  startBudget(own);
  own.querySelector(".save")?.addEventListener("click", () => saveDeviations(own, run));
  // Without key steps there are no lines.
  if (lines.length) startSift(own.querySelector(".sift"), numberOfDeviations, (seen, filtered) => sortLines(own, seen, filtered));
  // Short bars have room only for numbers.
  for (const segment of own.querySelectorAll(".line .seg")) segment.firstElementChild.textContent = segment.dataset.step === "0" ? "" : segment.dataset.step;
}

/** The typical frames of a key step; an empty list if the page has no view of the result. */
export const typicalOf = (run, step) => ((viewOf(run) || { typical: [] }).typical.find((one) => one.key_step === step) || { frames: [] }).frames;

/** Up to three moments that show a key step, as [video, seconds, picture]: typical frames, or else strip pictures. */
export function shotsOf(run, step) {
  const typical = typicalOf(run, step);
  const found = typical.filter(({ video, picture }) => picture && place.has(video)).map(({ video, time_s, picture }) => [place.get(video), time_s, picture]);
  if (found.length) return found.slice(0, SHOTS);
  for (let at = 0; at < DATA.videos.length && found.length < SHOTS; at++) {
    if (!DATA.videos[at].strip) continue;
    const own = (step ? occurrencesOf : segmentsOf)(at, run).filter((segment) => segment[2] === step).sort((a, b) => b[1] - b[0] - (a[1] - a[0]));
    if (own.length) found.push([at, (own[0][0] + own[0][1]) / 2, null]);
  }
  return found;
}

export function shot(video, seconds, picture) {
  const data = { video: String(video), seconds: String(seconds) };
  if (picture) return make("img", { src: `data:image/jpeg;base64,${picture}`, alt: "", data });
  const canvas = make("canvas", { data });
  stripOf(video).then((image) => {
    if (!image) return;
    const width = 120 * DATA.videos[video].aspect;
    drawPicture(sharp(canvas, width, 120), image, pictureAt(video, seconds), 0, 0, width, 120);
  });
  return canvas;
}

/** Highlight a card with the cards that it needs and the cards that need it; null ends the highlighting. */
function bringOut(own, card) {
  const all = [...own.querySelectorAll(".node")];
  own.querySelector(".layers").classList.toggle("chosen", card !== null);
  for (const one of all) {
    one.classList.toggle("own", one === card);
    one.classList.toggle("needed", card !== null && needsOf(card).has(one.dataset.step));
    one.classList.toggle("later", card !== null && needsOf(one).has(card.dataset.step));
  }
}

/** The direct needs of a card: in how many videos each need holds, by key step. */
const needsOf = (card) => new Map(Object.entries(JSON.parse(card.dataset.needs)));

/** A card in words: its key step and its needs, by name where there is one. */
function cardLines(card) {
  const needs = [...needsOf(card)].map(([step, share]) => `after ${labelOf(state.run, Number(step))} ${share}`);
  const later = [...pictureOf(state.run).querySelectorAll(".node")].filter((one) => needsOf(one).has(card.dataset.step)).map((one) => labelOf(state.run, Number(one.dataset.step)));
  return [labelOf(state.run, Number(card.dataset.step)), ...(needs.length ? needs : ["nothing is known to come before it"]), ...(later.length ? [`before ${listed(later)}`] : [])];
}

function pointedAt(event, x, y) {
  const own = event.target.closest(".procedure");
  const node = event.target.closest(".node");
  const moment = event.target.closest(".deviation");
  const frame = event.target.closest("[data-seconds]");
  if (!own) return;
  if (own.querySelector(".layers")) bringOut(own, node);
  if (node) {
    const cards = [...own.querySelectorAll(".node")].filter((one) => one !== node);
    const picture = frame && [Number(frame.dataset.video), Number(frame.dataset.seconds)];
    const lines = [...cardLines(node), ...(frame ? [`${DATA.videos[picture[0]].name} at ${clock(picture[1])}`] : [])];
    showPopupBeside(lines, node, cards, picture);
  } else if (moment) {
    const at = Number(moment.closest(".line").dataset.video);
    const [start, end] = [Number(moment.dataset.start), Number(moment.dataset.end)];
    light(moment);
    showPopup([moment.textContent.trim(), end > start ? `${clock(start)} to ${clock(end)}` : `at ${clock(start)}`], x, y, [at, (start + end) / 2]);
  } else hidePopup();
}

function letGo() {
  const own = pictureOf(state.run);
  if (own && own.querySelector(".layers")) bringOut(own, null);
  hidePopup();
}

/** Mark the time of a deviation in the bar of a line. */
function light(moment) {
  const line = moment.closest(".line");
  line.querySelector(".when")?.remove();
  const at = Number(line.dataset.video);
  const [start, end] = [Number(moment.dataset.start), Number(moment.dataset.end)];
  const mark = make("div", { className: "when" });
  spread(mark, start, Math.max(start, end), DATA.videos[at].duration);
  line.querySelector(".axis").append(mark);
}

watchBars(procedures);
procedures.addEventListener("pointerover", (event) => { if (!event.target.closest(".axis")) pointedAt(event, event.clientX, event.clientY); });
procedures.addEventListener("pointerleave", letGo);
procedures.addEventListener("focusin", (event) => {
  if (!event.target.matches(":focus-visible") || event.target.closest(".axis")) return;
  const box = event.target.getBoundingClientRect();
  pointedAt(event, box.left + box.width / 2, box.bottom - 10);
});
procedures.addEventListener("focusout", letGo);
procedures.addEventListener("click", (event) => {
  const moment = event.target.closest(".deviation");
  const face = event.target.closest(".face");
  const more = event.target.closest(".more");
  if (more) {
    for (const hidden of more.parentElement.querySelectorAll(".deviation[hidden]")) hidden.hidden = false;
    more.remove();
  } else if (moment) {
    light(moment);
    const [video, start, end] = [moment.closest(".line").dataset.video, moment.dataset.start, moment.dataset.end].map(Number);
    if (sourceOf(video)) playFrom(video, start, moment, moment.textContent.replace(/\s+/g, " ").trim(), Math.max(end, start + LEAST_S));
  } else if (face) {
    const frame = event.target.closest("[data-seconds]") || face.querySelector("[data-seconds]");
    const [video, seconds] = frame ? [Number(frame.dataset.video), Number(frame.dataset.seconds)] : [];
    if (frame && sourceOf(video)) playStep(state.run, Number(face.parentElement.dataset.step), video, seconds, face);
  }
});
procedures.addEventListener("keydown", (event) => {
  const from = event.target.closest(".face");
  if (!from) return;
  const all = [...from.closest(".layers").querySelectorAll(".face")];
  const here = all.indexOf(from);
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const to = event.key === "Home" ? all[0] : event.key === "End" ? all[all.length - 1] : step ? all[here + step] : null;
  if (!to) return;
  event.preventDefault();
  from.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
});
