// The segments that a person edited, as this browser stores them. An edit changes no result.

import { recall, remember } from "./dom.js";
import { factsOf, segmentsOf } from "./results.js";
import { DATA, state } from "./state.js";

export const ms = (seconds) => Math.round(1000 * seconds);
const editsKey = (run) => `rgwot segments ${DATA.dataset}/${DATA.task}/${factsOf(run).id}/${factsOf(run).result}`;

/** The edited videos of a result, by id: rows of start and end in milliseconds, and key step. */
export function editsOf(run) {
  if (!state.edits.has(run)) state.edits.set(run, (recall(editsKey(run), null) || { videos: {} }).videos);
  return state.edits.get(run);
}

/** The segments of a video as a person edited them, in seconds; null where nobody did. */
export function editedOf(video, run) {
  const rows = editsOf(run)[DATA.videos[video].id];
  return rows ? rows.map(([start, end, step]) => [start / 1000, end / 1000, step]) : null;
}

/** The rows of a video in the chosen result, edited or not. */
export const rowsOf = (video) => editsOf(state.run)[DATA.videos[video].id] || segmentsOf(video, state.run).map(([start, end, step]) => [ms(start), ms(end), step]);

/** Store the edited rows of a video, or with null restore what was found; return the rows stored before. */
export function setRows(video, rows) {
  const { [DATA.videos[video].id]: before, ...others } = editsOf(state.run);
  const videos = rows ? { ...others, [DATA.videos[video].id]: rows } : others;
  state.edits.set(state.run, videos);
  remember(editsKey(state.run), JSON.stringify({ base: null, videos }));
  return before;
}
