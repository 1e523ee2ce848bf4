// Labelling a video while it plays: a key begins a step at the playhead, or marks it. The bar below the video can be
// zoomed; its borders are dragged.

import { channelsOf } from "./channels.js";
import { byId, isTyped, make, offer, spread } from "./dom.js";
import { annotations, isLabelled, labelsOf, setLabels, suggestedVideos, undo } from "./labels.js";
import { keyList, keysOfNames, lookOfName, nameFor, startNewNames } from "./names.js";
import { goTo, isPlaying, opened, release, setPlaying, sourceOf, timeOf } from "./player.js";
import { calledNow, place, segmentsOf, stepName } from "./results.js";
import { beginStep, indexAt, isMark, moveEnd, moveStart, putMark, reached, withoutRowAt } from "./segments.js";
import { DATA, state } from "./state.js";
import { clock } from "./text.js";

const SPEEDS = [0.5, 1, 1.5, 2, 4, 8];
const FEATURES_TICK_MS = 100;
/** If a border is dragged by fewer pixels than this, it is a click. */
const CLICKED_PX = 3;
/** The player: that of `opened`, or a clock for features without a video. */
let stage = null;
let speed = 1;
/** The start of the step that was begun last (ms), whose row grows with the playhead; null if none is running. */
let running = null;
/** The last time up to which the video has played (ms); after a jump the playhead is elsewhere. */
let playedTo = 0;
/** The rows to draw, including the growing one. */
let shownRows = [];

const marking = () => byId("label-mode").value === "marks";
const durationOf = (video) => Math.round(1000 * DATA.videos[video].duration);
const here = () => Math.max(0, Math.min(durationOf(stage.video), Math.round(1000 * timeOf(stage))));
const tellLabel = (text) => { byId("label-status").textContent = text; };

/** A clock that runs like a player, for features without a video. */
function clockOf(video, seconds) {
  const element = /** @type {any} */ (Object.assign(new EventTarget(), { currentTime: seconds, playbackRate: 1, paused: true, ended: false }));
  let timer = 0;
  element.pause = () => { clearInterval(timer); element.paused = true; element.dispatchEvent(new Event("pause")); };
  element.play = async () => {
    if (element.currentTime >= DATA.videos[video].duration) {
      element.currentTime = 0;
      element.dispatchEvent(new Event("seeking"));
    }
    element.paused = false;
    timer = setInterval(() => {
      element.currentTime = Math.min(DATA.videos[video].duration, element.currentTime + (element.playbackRate * FEATURES_TICK_MS) / 1000);
      if (element.currentTime >= DATA.videos[video].duration) element.pause();
      element.dispatchEvent(new Event("timeupdate"));
    }, FEATURES_TICK_MS);
  };
  element.load = element.removeAttribute = () => {};
  return { video, element, origin: 0, begun: true };
}

/** Show a video from its start, or from `seconds`. */
export function labelVideo(video, seconds = 0, plays = false) {
  leaveStep();
  if (stage) release(stage);
  tellLabel("");
  stage = sourceOf(video) ? opened(video, seconds, plays, tellLabel) : clockOf(video, seconds);
  byId("label-video").value = String(video);
  if (!sourceOf(video)) stage.channels = channelsOf(video, tellLabel, (time) => seek(1000 * time));
  byId("label-stage").replaceChildren(stage.channels?.element || stage.element);
  for (const kind of ["timeupdate", "seeked", "pause", "ended"]) stage.element.addEventListener(kind, followPlayhead);
  // When the first frame is there, the video goes to where the playhead is already.
  stage.element.addEventListener("seeking", () => { if (Math.abs(here() - playedTo) > 1) endStep(); });
  // After a click on them, the controls of the video would keep all keys for themselves.
  stage.element.addEventListener("focusin", ({ target }) => { if (!target.matches(":focus-visible")) target.blur(); });
  stage.element.playbackRate = speed;
  if (plays) setPlaying(stage, true);
  drawLabelling();
}

/** While a video plays, the step that was begun last reaches the playhead; it is saved when the video stops. */
function followPlayhead() {
  if (!stage) return null;
  if (running === null || marking() || stage.element.seeking) return drawHead();
  playedTo = here();
  if (!stage.element.paused) return drawRows(reached(labelsOf(stage.video), playedTo));
  saveRunning();
  return drawHead();
}

/** Save the step that runs as it is drawn, up to where the video has played. */
function saveRunning() {
  const { video } = stage;
  const rows = reached(labelsOf(video), playedTo);
  if (JSON.stringify(rows) !== JSON.stringify(labelsOf(video))) setLabels(video, rows, `grown ${video}`);
}

/** End the step that runs where the video has played: the playhead has jumped. */
function endStep() {
  if (running !== null && !marking()) saveRunning();
  running = null;
}

/** End the step that runs at the playhead, which is about to go elsewhere. */
function leaveStep() {
  if (running !== null && !stage.element.seeking) playedTo = Math.max(playedTo, here());
  endStep();
}

/** Pause, and save the step that runs at once; it runs on when the video plays again. */
function pauseStep() {
  setPlaying(stage, false);
  if (running === null || marking() || stage.element.seeking) return;
  playedTo = Math.max(playedTo, here());
  saveRunning();
}

/** Begin a step at the playhead, or mark it. */
function give(name) {
  if (!stage) return;
  const { video } = stage;
  const time = here();
  const rows = labelsOf(video);
  const labelled = rows[indexAt(rows, time)];
  if (marking() && labelled && labelled[2] !== name) {
    tellLabel(`${clock(time / 1000, 1)} is inside a segment of ${calledNow(labelled[2])}: no mark was made.`);
    return;
  }
  if (marking()) setLabels(video, putMark(rows, time, name));
  else {
    const before = running === null ? rows : reached(rows, time);
    [running, playedTo] = [time, time];
    setLabels(video, beginStep(before, time, name, durationOf(video)));
  }
  tellLabel(`${name === "-" ? "no step" : calledNow(name)} at ${clock(time / 1000, 1)}`);
}

/** Add a new step to the list; nothing is labelled before its key is pressed. */
function listStep(name) {
  drawLabelling();
  const key = keysOfNames().get(name);
  tellLabel(`${key ? `Key ${key}` : "A click on its name"} ${marking() ? "marks" : "begins"} ${calledNow(name)}.`);
}

/** Delete the mark at the playhead, or else the segment. */
function deleteHere() {
  const { video } = stage;
  // The step that runs ends at the playhead.
  const time = running === null ? here() : Math.max(running, here() - 1);
  leaveStep();
  const rows = withoutRowAt(labelsOf(video), time, 1000 / DATA.videos[video].fps);
  if (rows.length < labelsOf(video).length) setLabels(video, rows);
  tellLabel("");
}

/** Undo the last change or, with `redo`, make it again; it may be of another video, which is then shown. */
function undoLabel(redo = false) {
  running = null;
  const video = undo(redo);
  if (video >= 0 && video !== stage.video) labelVideo(video);
  tellLabel("");
}

function drawLabelling() {
  const videos = DATA.videos.map((video, at) => /** @type {const} */ ([video, at])).filter(([{ status }]) => status !== "skipped");
  offer(byId("label-video"), videos.map(([{ name }, at]) => [at, `${name}${labelsOf(at).length ? " (labelled)" : ""}`]));
  if (!stage) {
    const [suggested] = suggestedVideos();
    const first = suggested ?? (videos.find(([, at]) => !labelsOf(at).length) || videos[0])?.[1];
    if (first !== undefined) labelVideo(first);
    // Where the style sheet puts video, bar and names on one screen, the head of the page would push them off it.
    if (getComputedStyle(byId("label")).display === "flex") byId("label").scrollIntoView();
    return;
  }
  byId("label-video").value = String(stage.video);
  byId("label-keys").replaceChildren(...keyList(give, tellLabel));
  byId("label-speed").value = String(speed);
  byId("label-undo").disabled = !state.done.length;
  byId("label-redo").disabled = !state.undone.length;
  drawRows(labelsOf(stage.video));
}

/** Draw the rows of the annotation, and below what was found. */
function drawRows(rows) {
  const { video } = stage;
  shownRows = rows;
  const duration = durationOf(video);
  byId("label-axis").style.width = `${100 * Number(byId("label-zoom").value)}%`;
  const parts = rows.map(([start, end, name], index) => {
    const piece = make("div", { className: "seg", title: `${calledNow(name)}, ${clock(start / 1000)}`, data: { index: String(index) } }, make("span", { textContent: name === "-" ? "" : calledNow(name) }));
    piece.classList.add(...lookOfName(name));
    piece.classList.toggle("mark", isMark([start, end]));
    spread(piece, start, end, duration);
    return piece;
  });
  const grips = rows.flatMap((row, index) => (isMark(row) ? [] : [
    ...(index && rows[index - 1][1] === row[0] ? [] : [labelGrip(index, "start", row[0])]), labelGrip(index, "end", row[1]),
  ]));
  byId("label-bar").replaceChildren(...parts, ...grips);
  byId("label-found").replaceChildren(...segmentsOf(video, state.run).map(([start, end, step]) => {
    const piece = make("div", { className: "seg" }, make("span", { textContent: step ? calledNow(stepName(state.run, step)) : "" }));
    piece.classList.add(...lookOfName(stepName(state.run, step)));
    spread(piece, start, end, duration / 1000);
    return piece;
  }));
  drawHead();
}

/** A border that can be dragged; a click goes there. */
function labelGrip(index, side, time) {
  const grip = make("div", { className: `grip ${side}` });
  grip.style.left = `${(100 * time) / durationOf(stage.video)}%`;
  grip.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    event.stopPropagation();
    setPlaying(stage, false);
    leaveStep();
    grip.setPointerCapture(event.pointerId);
    grip.dataset.held = String(event.clientX);
  });
  const at = (event) => timeAt(event.clientX);
  grip.addEventListener("pointermove", (event) => {
    if (!grip.dataset.held) return;
    grip.style.left = `${(100 * at(event)) / durationOf(stage.video)}%`;
    tellLabel(`${side} at ${clock(at(event) / 1000, 2)}`);
  });
  grip.addEventListener("pointerup", (event) => {
    if (!grip.dataset.held) return;
    event.stopPropagation();
    const rows = labelsOf(stage.video);
    if (Math.abs(event.clientX - Number(grip.dataset.held)) < CLICKED_PX) {
      delete grip.dataset.held;
      seek(time);
    } else setLabels(stage.video, side === "start" ? moveStart(rows, index, at(event)) : moveEnd(rows, index, at(event), durationOf(stage.video)));
  });
  grip.addEventListener("click", (event) => event.stopPropagation());
  return grip;
}

function timeAt(clientX) {
  const { left, width } = byId("label-axis").getBoundingClientRect();
  return Math.max(0, Math.min(durationOf(stage.video), ((clientX - left) / width) * durationOf(stage.video)));
}

function drawHead() {
  if (!stage) return;
  const share = here() / durationOf(stage.video);
  stage.channels?.show(here() / 1000, shownRows);
  byId("label-head").style.left = `${100 * share}%`;
  const scroll = byId("label-scroll");
  const x = share * byId("label-axis").offsetWidth;
  // The playhead stays in sight when the bar is zoomed.
  if (x < scroll.scrollLeft || x > scroll.scrollLeft + scroll.clientWidth) scroll.scrollLeft = x - scroll.clientWidth / 2;
  byId("label-time").textContent = `${clock(here() / 1000, 2)} of ${clock(durationOf(stage.video) / 1000)}`;
}

function seek(ms) {
  leaveStep();
  goTo(stage, Math.max(0, Math.min(durationOf(stage.video), ms)) / 1000);
  drawHead();
}

function faster(by) {
  speed = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(speed) + by))];
  stage.element.playbackRate = speed;
  byId("label-speed").value = String(speed);
}

function nextVideo() {
  const usable = DATA.videos.map((_, at) => at).filter((at) => DATA.videos[at].status !== "skipped");
  const after = [...usable.filter((at) => at > stage.video), ...usable.filter((at) => at < stage.video)];
  const next = after.find((at) => !labelsOf(at).length && !isLabelled(at)) ?? after[0];
  if (next === undefined) return;
  labelVideo(next, 0, true);
}

const COMMANDS = {
  " ": () => (isPlaying(stage) ? pauseStep() : setPlaying(stage, true)),
  ",": () => { setPlaying(stage, false); seek(here() - 1000 / DATA.videos[stage.video].fps); },
  ".": () => { setPlaying(stage, false); seek(here() + 1000 / DATA.videos[stage.video].fps); },
  Home: () => seek(0),
  Delete: deleteHere,
  Backspace: deleteHere,
  ArrowLeft: () => seek(here() - 1000),
  ArrowRight: () => seek(here() + 1000),
  "-": () => faster(-1),
  "+": () => faster(1),
  Enter: nextVideo,
};

function byKey(event) {
  if (state.view !== "label" || !stage || event.altKey || event.metaKey || isTyped(event)) return;
  if (event.ctrlKey) {
    if (event.key.toLowerCase() !== "z") return;
    undoLabel(event.shiftKey);
  } else if (COMMANDS[event.key]) COMMANDS[event.key]();
  else {
    const name = nameFor(event.key);
    if (!name) return;
    give(name);
  }
  event.preventDefault();
}

export const showLabelling = drawLabelling;

/** Where a person is: the video, its time, and how it is shown. */
export const labelPlace = () => stage && {
  video: DATA.videos[stage.video].id, seconds: here() / 1000, speed, zoom: byId("label-zoom").value, mode: byId("label-mode").value, scroll: byId("label-scroll").scrollLeft,
};

/** Go to where a person was on the page before. */
export function restorePlace(kept) {
  if (!place.has(kept.video)) return;
  byId("label-zoom").value = kept.zoom;
  byId("label-mode").value = kept.mode;
  speed = kept.speed;
  labelVideo(place.get(kept.video), kept.seconds);
  const scroll = () => { byId("label-scroll").scrollLeft = kept.scroll; };
  scroll();
  // Until a video is there, its playhead is at the start, and the bar follows it.
  stage.element.addEventListener("seeked", scroll, { once: true });
}

/** Stop the player, as when another tab is shown, and save the step that was begun last. */
export function pauseLabelling() {
  if (!stage) return;
  leaveStep();
  setPlaying(stage, false);
}

export function startLabelling() {
  offer(byId("label-speed"), SPEEDS.map((rate) => [rate, `${rate} ×`]));
  byId("label-speed").addEventListener("change", () => { speed = Number(byId("label-speed").value); stage.element.playbackRate = speed; byId("label-speed").blur(); });
  byId("label-mode").addEventListener("change", () => byId("label-mode").blur());
  byId("label-video").addEventListener("change", () => { labelVideo(Number(byId("label-video").value)); byId("label-video").blur(); });
  byId("label-zoom").addEventListener("input", () => { drawRows(labelsOf(stage.video)); byId("label-zoom").blur(); });
  byId("label-next").addEventListener("click", nextVideo);
  byId("label-undo").addEventListener("click", () => undoLabel());
  byId("label-redo").addEventListener("click", () => undoLabel(true));
  byId("label-axis").addEventListener("click", ({ target, clientX }) => seek(target.matches(".mark") ? shownRows[Number(target.dataset.index)][0] : timeAt(clientX)));
  startNewNames("label-new", listStep, true);
  window.addEventListener("pagehide", leaveStep);
  document.addEventListener("keydown", byKey);
  annotations.addEventListener("changed", () => { if (state.view === "label" && stage) drawLabelling(); });
}
