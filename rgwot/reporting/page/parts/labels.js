// The annotations of the videos, as people make them in the window: rows [start, end, name] in milliseconds; a mark has
// equal start and end, and the name "-" means background. They belong to videos and not to a result, so they have names
// instead of numbers. Every change is saved; all changes since the page was opened can be undone.

import { MADE } from "./server.js";
import { save } from "./saving.js";
import { annotationLines, isMark, oneStepEach } from "./segments.js";
import { DATA, state } from "./state.js";
import { csvField, ms } from "./text.js";

/** Sends "changed" when an annotation has changed. */
export const annotations = new EventTarget();
const rowsOfTruth = (video) => DATA.truth[video].map(([start, end, step]) => [ms(start), ms(end), step ? DATA.steps[step] : "-"]);
/** The annotations as they were when the page was opened. */
const atOpening = DATA.videos.map((_, video) => rowsOfTruth(video));

export const labelsOf = (video) => state.labels.get(video) || atOpening[video];
export const isLabelled = (video) => state.labels.has(video);

/** Change the annotation of a video; successive changes of one `kind` count as one. A segment replaces the marks inside it. */
export function setLabels(video, changed, kind = null) {
  const rows = changed && oneStepEach(changed);
  const last = state.done[state.done.length - 1];
  const before = state.labels.get(video) || null;
  if (kind && last && last.kind === kind && last.video === video) last.after = rows;
  else state.done.push({ video, before, after: rows, kind });
  state.undone = [];
  put(video, rows);
}

function put(video, rows) {
  if (rows) state.labels.set(video, rows);
  else state.labels.delete(video);
  save("annotation", textOf(video), DATA.videos[video].id);
  annotations.dispatchEvent(new CustomEvent("changed", { detail: { video } }));
}

/** Undo the last change or, with `redo`, repeat the last undone one; returns the video, or -1 if there is none. */
export function undo(redo = false) {
  const change = (redo ? state.undone : state.done).pop();
  if (!change) return -1;
  (redo ? state.done : state.undone).push({ ...change, kind: null });
  put(change.video, redo ? change.after : change.before);
  return change.video;
}

/** The file of an annotation, with a player's times; null if there is nothing in it. */
export function textOf(video) {
  const { duration, start } = DATA.videos[video];
  const late = Math.round(1000 * start);
  const rows = [...labelsOf(video)].sort((a, b) => Number(isMark(a)) - Number(isMark(b)) || a[0] - b[0]).map(([from, to, name]) => [from + late, to + late, name]);
  const lines = annotationLines(rows, Math.floor(1000 * duration) + late, csvField);
  return lines.length ? ["start_s,end_s,label", ...lines, ""].join("\n") : null;
}

/** The names of all annotated steps, in the order of their first row. */
export const annotatedNames = () => [...new Set(DATA.videos.flatMap((_, video) => labelsOf(video).map(([, , name]) => name)))].filter((name) => name !== "-");

/** Whether annotations can be made here: only with a server, which saves them. */
export const ANNOTATES = Boolean(MADE);
