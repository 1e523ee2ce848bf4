// The annotations of the videos, as people make them in the window: rows [start, end, name] in milliseconds; a mark
// starts where it ends, and the name "-" is background. They belong to the videos and not to a result, so they have names
// and not numbers. Every change is saved, and can be undone back to what the file had when the page was opened.

import { MADE } from "./server.js";
import { contentOf, filesRead, save } from "./saving.js";
import { annotationLines, isMark, oneStepEach } from "./segments.js";
import { DATA, state } from "./state.js";
import { csvField, ms } from "./text.js";

/** Sends "changed" when an annotation has changed. */
export const annotations = new EventTarget();
const rowsOfTruth = (video) => DATA.truth[video].map(([start, end, step]) => [ms(start), ms(end), step ? DATA.steps[step] : "-"]);

/** The rows of an annotation's file, whose times are those of a player; null if the page cannot show it. */
function rowsOfFile(video) {
  const { id, start, duration } = DATA.videos[video];
  const last = Math.floor(1000 * duration);
  const time = (s) => Math.max(0, Math.min(last, ms(s) - Math.round(1000 * start)));
  return contentOf("annotation", id)?.map(([from, to, name]) => [time(from), time(to), name]).sort((a, b) => a[0] - b[0]) ?? null;
}

/** The annotations as they were read last, which may differ from those that the results of the page are compared with. */
const atOpening = DATA.videos.map((_, video) => rowsOfFile(video) ?? rowsOfTruth(video));
atOpening.forEach((rows, video) => { if (JSON.stringify(rows) !== JSON.stringify(rowsOfTruth(video))) state.labels.set(video, rows); });

filesRead.addEventListener("read", ({ detail: { kind, video: id } }) => {
  if (kind !== "annotation") return;
  const video = DATA.videos.findIndex((one) => one.id === id);
  atOpening[video] = rowsOfFile(video) ?? rowsOfTruth(video);
  state.labels.set(video, atOpening[video]);
  state.done = state.done.filter((change) => change.video !== video);
  state.undone = state.undone.filter((change) => change.video !== video);
  annotations.dispatchEvent(new CustomEvent("changed", { detail: { video } }));
});

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
  const late = DATA.videos[video].start;
  const content = labelsOf(video).map(([start, end, name]) => [start / 1000 + late, end / 1000 + late, name]);
  save("annotation", textOf(video), content, DATA.videos[video].id);
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

/** The videos without labels from which the others would learn most, the best first. */
export const suggestedVideos = () => (DATA.next?.videos || []).map((id) => DATA.videos.findIndex((video) => video.id === id)).filter((video) => video >= 0 && !labelsOf(video).length);

/** Whether annotations can be made here: only with a server, which saves them. */
export const ANNOTATES = Boolean(MADE);
