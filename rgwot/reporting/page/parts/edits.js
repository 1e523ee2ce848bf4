// The segments and marks that a person edited. Edits do not change results. They are stored in this browser if the page
// is a file; in the window they are the annotation of the video, which is saved.

import { recall, remember } from "./dom.js";
import { ANNOTATES, labelsOf, setLabels } from "./labels.js";
import { factsOf, fromLabels, segmentsOf, stepCalled, stepName } from "./results.js";
import { isMark } from "./segments.js";
import { DATA, state } from "./state.js";
import { ms } from "./text.js";

const editsKey = (run) => `rgwot segments ${DATA.dataset}/${DATA.task}/${factsOf(run).id}/${factsOf(run).result}`;

/** The annotation of a video as rows of a result; if it has marks, the found segments are added. */
function labelled(video, run) {
  const rows = labelsOf(video).map(([start, end, name]) => [start, end, stepCalled(run, name)]);
  const marks = rows.filter(isMark);
  return marks.length ? [...segmentsOf(video, run).map(([start, end, step]) => [ms(start), ms(end), step]), ...marks] : rows;
}

/** The edited videos of a result, by id: rows of start and end in milliseconds, and key step. */
export function editsOf(run) {
  if (ANNOTATES) return Object.fromEntries([...state.labels.keys()].map((video) => [DATA.videos[video].id, labelled(video, run)]));
  if (!state.edits.has(run)) state.edits.set(run, (recall(editsKey(run), null) || { videos: {} }).videos);
  return state.edits.get(run);
}

export const isEdited = (video, run) => DATA.videos[video].id in editsOf(run);

/** The annotation of a video; annotated steps have numbers below 0 to distinguish them from a result's key steps. */
export const givenOf = (video) => DATA.truth[video].map(([start, end, step]) => [ms(start), ms(end), -step]);

/** The rows of a video in the chosen result: edited rows, or else the found segments and the annotated marks. */
export function rowsOf(video) {
  const { id } = DATA.videos[video];
  const marks = () => (ANNOTATES ? labelled(video, state.run) : givenOf(video).map(([start, end, step]) => [start, end, fromLabels(state.run) ? -step : step])).filter(isMark);
  return editsOf(state.run)[id] || [...segmentsOf(video, state.run).map(([start, end, step]) => [ms(start), ms(end), step]), ...marks()];
}

/** The rows of a video in the chosen result, in seconds. */
export const shownOf = (video) => rowsOf(video).map(([start, end, step]) => [start / 1000, end / 1000, step]);

/** Store the edited rows of a video, or null to restore the found segments; return the rows stored before. */
export function setRows(video, rows, kind = null) {
  if (ANNOTATES) {
    setLabels(video, rows && saidOf(video, rows).map(([start, end, step]) => [start, end, stepName(state.run, step)]), kind);
    return null;
  }
  const { [DATA.videos[video].id]: before, ...others } = editsOf(state.run);
  const videos = rows ? { ...others, [DATA.videos[video].id]: rows } : others;
  state.edits.set(state.run, videos);
  remember(editsKey(state.run), JSON.stringify({ base: null, videos }));
  return before;
}

/** The edited rows for the annotation: all, or only marks and annotated segments if there are marks. */
function saidOf(video, rows) {
  if (!rows.some(isMark)) return rows;
  const segments = labelsOf(video).filter((row) => !isMark(row)).map(([start, end, name]) => [start, end, stepCalled(state.run, name)]);
  return [...segments, ...rows.filter(isMark)];
}
