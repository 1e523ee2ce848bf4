// The data of the page and everything that changes while it is open. No other module has global state.

/** @type {import("./types.js").PageData} */
export const DATA = JSON.parse(document.getElementById("data").textContent);
const madeWithSteps = Object.keys(DATA.steps).length > 0;
// In the window, labels and names that were saved after the page was made take the place of those in it.
const labelsNow = JSON.parse(document.getElementById("now")?.textContent || "{}");
if (labelsNow.truth) {
  const { steps, typed, truth } = labelsNow;
  Object.assign(DATA, { steps, typed, truth: DATA.videos.map(({ id }) => truth[id] || []) });
  for (const facts of DATA.runs) {
    const typed = DATA.typed[facts.id];
    if (!typed || typed.result === facts.result) facts.names = { ...facts.labels, ...typed?.names };
  }
}

export const state = {
  /** The chosen result, and the tab that is shown. */
  run: 0,
  view: "procedure",
  /** The id of the result that a person chose, empty if none, and that of a newer one that is offered beside it. */
  picked: "",
  offered: "",
  /** Whether a colour means an annotated step, because the page was made with annotations and there still are some. */
  annotated: madeWithSteps && Object.keys(DATA.steps).length > 0,
  /** In the window, the results that learned from labels which were all undone since. */
  forgotten: new Set(),
  /** The tabs whose content is up to date. */
  drawn: new Set(),
  /** The player (video, element, time of the first frame), and the element that had the focus before. */
  playing: null,
  opener: null,
  /** The names of each result as they are in this browser, and the edited segments of its videos. */
  names: new Map(),
  edits: new Map(),
  /** In the window, the places of annotated steps among the colours, if the page was made without annotations. */
  colours: new Map(),
  /** In the window, the colour of every name of a step; a name keeps its first colour. */
  coloursOfNames: new Map(),
  /** In the window, the annotations that were changed since the page was opened, and the changes, for undo and redo. */
  labels: new Map(),
  done: [],
  undone: [],
  /** The segment that is edited (video, index, time in ms), and edits that can be undone. */
  chosen: null,
  undoable: [],
  /** The cut of the tree of key steps: the result that it belongs to, and the number of key steps. */
  cut: { run: -1, K: 0 },
  /** The number of the popup's last content; older pictures that arrive late are dropped. */
  popupTurn: 0,
};
