// "What is this?": the page plays the moment whose step would teach most about all other videos, and asks for it. The
// answer becomes a mark in the annotation of the video; all videos are labelled anew, and changes are shown.

import { channelsOf } from "./channels.js";
import { barOfLength, byId, isTyped, make, spread } from "./dom.js";
import { annotations, labelsOf, setLabels, undo } from "./labels.js";
import { latest, live } from "./live.js";
import { keyList, lookOfName, nameFor, startNewNames } from "./names.js";
import { opened, release, sourceOf } from "./player.js";
import { calledNow, place, segmentsOf, stepName, taughtRun } from "./results.js";
import { isMark, putMark } from "./segments.js";
import { afterRun, ask, below } from "./server.js";
import { DATA, state } from "./state.js";
import { clock, percent } from "./text.js";

const AROUND_S = 1.5;
/** The moment in question, { video, seconds }, its player, and moments that were skipped. */
let moment = null;
let shownMoment = null;
const skippedMoments = new Set();
let askedTurn = 0;

const tellAsking = (text) => { byId("ask-status").textContent = text; };
const keyOfMoment = ({ video, time_s: seconds }) => `${video} ${seconds}`;

async function askNext() {
  moment = null;
  // A newer request, or a question whose answer was undone, replaces a request that is still running.
  const turn = ++askedTurn;
  tellAsking("Looking for the moment that teaches most.");
  try {
    const questions = await ask(`${below("/api/questions", DATA.dataset, DATA.task)}?skipped=${skippedMoments.size}`);
    if (moment || turn !== askedTurn) return;
    const next = questions.find((question) => !skippedMoments.has(keyOfMoment(question)));
    moment = next ? { video: place.get(next.video), seconds: next.time_s } : null;
    tellAsking(next ? "" : "Every moment has an answer.");
  } catch (error) {
    if (moment || turn !== askedTurn) return;
    tellAsking(error.message);
    afterRun(error, () => { if (state.view === "ask" && !moment) askNext(); });
  }
  drawMoment();
}

function drawMoment() {
  if (shownMoment) release(shownMoment);
  shownMoment = null;
  byId("ask-stage").replaceChildren();
  byId("ask-where").textContent = moment ? `${DATA.videos[moment.video].name}, around ${clock(moment.seconds)}` : "";
  byId("ask-keys").replaceChildren(...keyList(giveAnswer, tellAsking, true));
  if (!moment) return;
  const { video, seconds } = moment;
  if (!sourceOf(video)) {
    const drawn = channelsOf(video, tellAsking);
    byId("ask-stage").replaceChildren(drawn.element);
    drawn.show(seconds);
    return;
  }
  const from = Math.max(0, seconds - AROUND_S);
  const till = Math.min(DATA.videos[video].duration, seconds + AROUND_S);
  const clip = opened(video, from, true, tellAsking);
  clip.element.controls = false;
  // Play three seconds in a loop.
  clip.element.addEventListener("timeupdate", () => { if (clip.element.currentTime - clip.origin >= till) clip.element.currentTime = clip.origin + from; });
  clip.element.addEventListener("ended", () => { clip.element.currentTime = clip.origin + from; clip.element.play().catch(() => {}); });
  shownMoment = clip;
  byId("ask-stage").replaceChildren(clip.element);
}

function giveAnswer(name) {
  if (!moment) return;
  const { video, seconds } = moment;
  moment = null;
  tellAsking(`${name === "-" ? "No step" : calledNow(name)} at ${clock(seconds)}. Learning.`);
  setLabels(video, putMark(labelsOf(video), Math.round(1000 * seconds), name));
}

/** Undo the last change or, with `redo`, make it again; after an answer is undone, its moment is asked about again. */
function undoAnswer(redo = false) {
  const last = state.done[state.done.length - 1];
  const video = undo(redo);
  if (video < 0) return;
  const gone = redo ? null : (last.after || []).find((row) => isMark(row) && !labelsOf(video).some((one) => isMark(one) && one[0] === row[0]));
  if (gone) moment = { video, seconds: gone[0] / 1000 };
  tellAsking("");
  drawMoment();
}

/** Show how many moments have an answer, including answers given on earlier pages. */
function countAnswers() {
  byId("ask-count").textContent = String(DATA.videos.flatMap((_, video) => labelsOf(video).filter(isMark)).length);
  byId("ask-undo").disabled = !state.done.length;
}

function skip() {
  if (!moment) return;
  skippedMoments.add(keyOfMoment({ video: DATA.videos[moment.video].id, time_s: moment.seconds }));
  askNext();
}

/** Draw the bars of all videos, and frame what the last answer has changed. */
export function drawChanges() {
  // The bars follow the answers, even if a person looks at another result.
  const run = taughtRun() < 0 ? state.run : taughtRun();
  const usable = DATA.videos.filter(({ status }) => status !== "skipped");
  byId("ask-bars").replaceChildren(...usable.flatMap((video) => {
    const bar = barOfLength(video, usable, { aria: { label: video.name } });
    for (const [start, end, step] of segmentsOf(place.get(video.id), run)) {
      const name = stepName(run, step);
      const piece = make("div", { className: "seg", title: `${calledNow(name)}, ${clock(start)}` }, make("span", { textContent: step ? calledNow(name) : "" }));
      piece.classList.add(...lookOfName(name));
      spread(piece, start, end, video.duration);
      bar.append(piece);
    }
    for (const [start, end] of latest.changed[video.id] || []) {
      const piece = make("div", { className: "when" });
      spread(piece, start / 1000, end / 1000, video.duration);
      bar.append(piece);
    }
    return [make("div", { className: "label", textContent: video.name }), bar];
  }));
  byId("ask-share").textContent = latest.share === null ? "" : `The last change of labels changed ${percent(latest.share, 1)} of all videos${Object.keys(latest.changed).length ? ", framed below" : ""}.${latest.settled ? " So did the last three: further ones will change little." : ""}`;
}

export function showAsking() {
  countAnswers();
  drawChanges();
  if (!moment) askNext();
  else drawMoment();
}

/** Stop the player when another tab is shown. */
export function pauseAsking() {
  if (shownMoment) release(shownMoment);
  shownMoment = null;
}

export function startAsking() {
  startNewNames("ask-new", giveAnswer, false);
  byId("ask-skip").addEventListener("click", skip);
  byId("ask-undo").addEventListener("click", () => undoAnswer());
  annotations.addEventListener("changed", countAnswers);
  document.addEventListener("keydown", (event) => {
    if (state.view !== "ask" || event.altKey || event.metaKey || isTyped(event)) return;
    if (event.ctrlKey && event.key.toLowerCase() === "z") {
      event.preventDefault();
      undoAnswer(event.shiftKey);
      return;
    }
    if (!moment || event.ctrlKey) return;
    const name = nameFor(event.key);
    if (event.key === "ArrowRight") skip();
    else if (name) giveAnswer(name);
    else return;
    event.preventDefault();
  });
  live.addEventListener("answer", ({ detail }) => { if (detail.learned && state.view === "ask") { drawChanges(); if (!moment) askNext(); } });
}
