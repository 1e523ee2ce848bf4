// Editing the segments of a video in the tab of videos: a person corrects what was found, or marks moments, and downloads
// the result as the annotation of the video.

import { byId, download, make, offer } from "./dom.js";
import { editsOf, givenOf, isEdited, rowsOf, setRows } from "./edits.js";
import { ANNOTATES, undo } from "./labels.js";
import { goTo, player, playFrom, setPlaying, timeOf } from "./player.js";
import { hidePopup, showPopup } from "./popup.js";
import { factsOf, fullLabel, nameOf, rename, sameStep, stepCalled, stepsOf } from "./results.js";
import { annotationLines, cutRows, giveRow, indexAt, isMark, moveBorder, nearerSide, putMark } from "./segments.js";
import { DATA, state } from "./state.js";
import { clock, csvField, ms, oneLine, plural, when } from "./text.js";
import { cards, clear, fill, refreshCards, targetOf } from "./videos.js";

const NUDGE_MS = 100;
const editable = (run) => run >= 0 && ["trained", "untrained"].includes(factsOf(run).kind);
const fixing = () => byId("editing").open && editable(state.run);

/** Make an edit that can be undone, and choose the segment at time `at`; successive edits of one `kind` are undone together. */
function edit(video, rows, at, kind = null) {
  const before = setRows(video, rows, kind);
  if (!ANNOTATES) {
    const last = state.undoable[state.undoable.length - 1];
    if (!kind || !last || last.kind !== kind || last.run !== state.run) state.undoable.push({ run: state.run, video, rows: before, kind });
    tellEditing("Kept in this browser. Download the annotation to keep it for good.");
  }
  drawEdited(video, at);
}

function takeBack(redo = false) {
  if (ANNOTATES) {
    const video = undo(redo);
    if (video >= 0) drawEdited(video, state.chosen && state.chosen.video === video ? state.chosen.at : null);
    return;
  }
  const last = state.undoable.findLastIndex(({ run }) => run === state.run);
  if (last < 0) return;
  const [{ video, rows }] = state.undoable.splice(last, 1);
  setRows(video, rows);
  tellEditing("Taken back.");
  drawEdited(video, state.chosen && state.chosen.video === video ? state.chosen.at : null);
}

function drawEdited(video, at) {
  if (at !== null) choose(video, at);
  const card = cards.querySelector(`.card[data-video="${video}"]`);
  if (card) {
    clear(card, null);
    fill(card);
  }
  drawEditing();
  showChosen(at !== null);
}

/** Choose the mark at a time of a video (in milliseconds), or else the segment; a cut is made at this time. */
function choose(video, at) {
  const rows = rowsOf(video);
  const mark = rows.findIndex((row) => isMark(row) && row[0] === at);
  const index = mark < 0 ? indexAt(rows, at) : mark;
  state.chosen = index < 0 ? null : { video, index, at };
}

const chosenRow = () => rowsOf(state.chosen.video)[state.chosen.index];

/** The playing video, and its time in milliseconds; null if no video is playing. */
function onNow() {
  if (!state.playing || !state.playing.element.isConnected || state.playing.element.paused) return null;
  return { video: state.playing.video, at: ms(timeOf(state.playing)) };
}

/** Choose the segment that the player shows; a paused player counts only if it shows the chosen video. */
function follow() {
  if (!state.playing || !fixing()) return;
  const before = state.chosen;
  if (state.playing.element.paused && (!before || before.video !== state.playing.video)) return;
  choose(state.playing.video, ms(timeOf(state.playing)));
  drawEditing();
  const { chosen } = state;
  if (!chosen || !before || chosen.video !== before.video || chosen.index !== before.index) showChosen();
}

/** Pause the player; if it shows the video of the chosen segment, go to the chosen time, where a cut is made. */
function halt({ video, at }) {
  if (!state.playing) return;
  setPlaying(state.playing, false);
  if (state.playing.video === video) goTo(state.playing, at / 1000);
}

/** Act on the chosen segment or, while a video plays, on the segment that is playing. */
function act(action) {
  const now = onNow();
  if (now) choose(now.video, now.at);
  if (state.chosen) ACTIONS[action]();
}

/** Move the nearer border of the chosen segment to the clicked time, or to the time of the player. */
function borderHere() {
  const { at } = state.chosen;
  const side = nearerSide(chosenRow(), at);
  if (side) moveChosen(side, at, at);
}

/** Move a border of the chosen segment, or the chosen mark. Successive moves are one edit. */
function moveChosen(side, to, at = null) {
  const { video, index } = state.chosen;
  const [start, end, step] = chosenRow();
  if (start === end) {
    const time = Math.round(Math.min(1000 * DATA.videos[video].duration, Math.max(0, to)));
    edit(video, putMark(rowsOf(video), time, step, index), time, `mark ${video} ${index}`);
    return;
  }
  const { rows, moved } = moveBorder(rowsOf(video), index, side, to);
  if (rows) edit(video, rows, at ?? (moved[0] + moved[1]) / 2, `${side} ${video} ${side === "end" ? start : end}`);
}

/** Assign the chosen segment to a key step, or to no key step (0). */
function giveTo(step) {
  const { video, index, at } = state.chosen;
  edit(video, giveRow(rowsOf(video), index, step), at);
}

/** Mark the chosen moment: the mark gets this key step, and the time around it stays unknown. */
function markChosen() {
  const { video, at } = state.chosen;
  edit(video, putMark(rowsOf(video), Math.round(at), chosenRow()[2]), Math.round(at));
}

/** Assign the chosen segment to no key step, or delete the chosen mark. */
function clearChosen() {
  const { video, index, at } = state.chosen;
  if (isMark(chosenRow())) edit(video, rowsOf(video).filter((_, n) => n !== index), at);
  else giveTo(0);
}

/** The key steps of a result, and those that a person added. */
const knownSteps = (run) => [...new Set([...stepsOf(run), ...Object.values(editsOf(run)).flat().map(([, , step]) => step)])].filter(Boolean);

/** The key step with a name; a new one if no key step has it. */
function stepNamed(name) {
  const run = state.run;
  if (ANNOTATES || name === "-") return stepCalled(run, name);
  const known = knownSteps(run);
  const same = known.find((step) => nameOf(run, step) === name);
  if (same) return same;
  const step = Math.max(0, ...known, ...Object.keys(DATA.steps).map(Number)) + 1;
  rename(run, step, name);
  return step;
}

function giveChosen() {
  const name = oneLine(byId("edit-new").value);
  byId("edit-new").value = "";
  const step = name ? stepNamed(name) : Number(byId("edit-other").value);
  if (name || step) giveTo(step);
}

/** Cut the chosen segment at the chosen time: each part can then be assigned to a key step of its own. */
function cutChosen() {
  const { video, at } = state.chosen;
  const cut = Math.round(at);
  edit(video, cutRows(rowsOf(video), cut), cut);
}

function tellEditing(text) {
  byId("edit-status").textContent = text;
}

/** The actions of the buttons on the chosen segment. */
const ACTIONS = {
  "edit-give": giveChosen,
  "edit-none": clearChosen,
  "edit-mark": markChosen,
  "edit-border": borderHere,
  "edit-cut": cutChosen,
  "edit-play": () => (onNow() ? state.playing.element.pause() : playFrom(state.chosen.video, state.chosen.at / 1000)),
  "edit-start-earlier": () => moveChosen("start", chosenRow()[0] - NUDGE_MS),
  "edit-start-later": () => moveChosen("start", chosenRow()[0] + NUDGE_MS),
  "edit-end-earlier": () => moveChosen("end", chosenRow()[1] - NUDGE_MS),
  "edit-end-later": () => moveChosen("end", chosenRow()[1] + NUDGE_MS),
};
const KEYS = {
  Delete: "edit-none", Backspace: "edit-none", b: "edit-border", c: "edit-cut", m: "edit-mark", p: "edit-play",
  ",": "edit-end-earlier", ".": "edit-end-later", "<": "edit-start-earlier", ">": "edit-start-later",
};

export function drawEditing() {
  const run = state.run;
  const { chosen } = state;
  byId("editing").hidden = !editable(run);
  byId("click-does").textContent = fixing() ? "click one of this result to choose it, any other to play" : "click it to play the video from there";
  byId("enter-does").textContent = fixing() ? "do the same" : "play";
  if (!editable(run)) return;
  const count = Object.keys(editsOf(run)).length;
  byId("editing-count").textContent = count ? `(${plural(count, "video")} edited)` : "";
  const [start, end, step] = chosen ? chosenRow() : [0, 0, 0];
  byId("edit-chosen").textContent = chosen
    ? `Chosen: ${step ? fullLabel(run, step) : "no key step"}, ${when(start / 1000, end / 1000, 2)} of ${DATA.videos[chosen.video].name}${start < end ? `; a cut or a mark is made at ${clock(chosen.at / 1000, 2)}` : ""}.`
    : "Nothing chosen: click a segment of this result, or press Enter on it.";
  const others = knownSteps(run).filter((other) => other !== step && sameStep(run, other) === other);
  drawOthers(others.map((other) => [String(other), fullLabel(run, other)]));
  for (const id of Object.keys(ACTIONS)) byId(id).disabled = !chosen;
  const marked = Boolean(chosen) && start === end;
  byId("edit-none").textContent = marked ? "Delete the mark" : "No key step";
  byId("edit-none").disabled ||= !step && !marked;
  for (const id of ["edit-border", "edit-cut", "edit-mark"]) byId(id).disabled ||= marked;
  byId("edit-undo").disabled = !(ANNOTATES ? state.done.length : state.undoable.some((edit) => edit.run === run));
}

/** List the key steps to which the chosen segment can be assigned; an unchanged list is kept, so that it stays open. */
function drawOthers(others) {
  const list = byId("edit-other");
  const content = JSON.stringify(others);
  if (list.dataset.told === content) return;
  list.dataset.told = content;
  const before = list.value;
  offer(list, others);
  if (others.some(([value]) => value === before)) list.value = before;
}

/**
 * The annotation of an edited video: a table for a file beside the video, where the layout `folder` reads it. Times are
 * those that a video player shows.
 * Segments cover the whole video: time without a key step is annotated as background. Marks are exported with the
 * segments that were annotated before.
 */
function annotationOf(video, marks = false) {
  const run = state.run;
  const { duration, start } = DATA.videos[video];
  const late = Math.round(1000 * start);
  const exported = marks ? [...givenOf(video).filter((row) => !isMark(row)), ...rowsOf(video).filter(isMark)] : rowsOf(video).filter((row) => !isMark(row));
  const rows = exported.map(([from, to, step]) => [from + late, to + late, step]);
  const lines = annotationLines(rows, Math.floor(1000 * duration) + late, (step) => {
    const merged = sameStep(run, step);
    return csvField(merged ? nameOf(run, merged) || `key step ${merged}` : "-");
  });
  return ["start_s,end_s,label", ...lines, ""].join("\n");
}

/** Buttons below the bars of a video: download its annotation, undo all edits. */
function editRow(at) {
  const edited = isEdited(at, state.run);
  if (!edited && !fixing()) return null;
  const { name, path } = DATA.videos[at];
  const save = (words, marks) => {
    const button = make("button", { type: "button", className: marks ? "save marks" : "save", textContent: `Download ${words}`, aria: { label: `Download ${words} of ${name}` } });
    button.addEventListener("click", () => {
      download(annotationOf(at, marks), "text/csv", `${name}.csv`);
      const where = path.toLowerCase().endsWith(".csv") ? "into a folder annotations beside" : "beside";
      tellEditing(`Downloaded. Put ${name}.csv ${where} ${path}, and remove other annotations of this video from there; then run \`rgwot run first\`.`);
    });
    return button;
  };
  const back = make("button", { type: "button", className: "back", textContent: "As it was found", aria: { label: `Undo all edits of ${name}` } });
  back.addEventListener("click", () => edit(at, null, state.chosen && state.chosen.video === at ? state.chosen.at : null));
  const saves = ANNOTATES ? [] : rowsOf(at).some(isMark) ? [save("marks", true), save("all segments instead", false)] : [save("annotation", false)];
  return make("div", { className: "controls" }, ...saves, edited ? back : null);
}

/** Show what is chosen, with grips to drag borders or the mark. */
function showChosen(focus = false) {
  for (const old of cards.querySelectorAll(".grip")) old.remove();
  for (const old of cards.querySelectorAll(".seg.chosen")) old.classList.remove("chosen");
  const { chosen } = state;
  if (!chosen || !fixing()) return;
  const bar = cards.querySelector(`.card[data-video="${chosen.video}"] .bar[data-run="${state.run}"]`);
  const segment = bar && bar.querySelector(`.seg[data-index="${chosen.index}"]`);
  if (!segment) return;
  segment.classList.add("chosen");
  if (focus) segment.focus({ preventScroll: true });
  bar.append(...(isMark(chosenRow()) ? ["mark"] : ["start", "end"]).map((side) => grip(bar, side)));
}

function grip(bar, side) {
  const { video } = state.chosen;
  const duration = ms(DATA.videos[video].duration);
  const old = chosenRow()[side === "start" ? 0 : 1];
  const grip = make("div", { className: `grip ${side}`, aria: { hidden: "true" } });
  grip.style.left = `${(100 * old) / duration}%`;
  let at = null;
  grip.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    if (state.playing) setPlaying(state.playing, false);
    grip.setPointerCapture(event.pointerId);
    at = old;
  });
  grip.addEventListener("pointermove", (event) => {
    if (at === null) return;
    event.stopPropagation();
    const { left, width } = bar.getBoundingClientRect();
    at = Math.min(duration, Math.max(0, ((event.clientX - left) / width) * duration));
    grip.style.left = `${(100 * at) / duration}%`;
    tellEditing(`${side} at ${clock(at / 1000, 2)}`);
    showPopup([`${side} ${clock(at / 1000, 2)}`], event.clientX, event.clientY, [video, at / 1000]);
  });
  grip.addEventListener("pointerup", (event) => {
    if (at === null) return;
    event.stopPropagation();
    hidePopup();
    const to = at;
    at = null;
    if (Math.abs(to - old) > 1) moveChosen(side, to);
  });
  grip.addEventListener("click", (event) => event.stopPropagation());
  return grip;
}

/** The segment of the chosen result at an event, while segments are edited. */
function editedTarget(event) {
  const target = fixing() && event.target.closest(".seg") && targetOf(event.target, event.detail ? event.clientX : null);
  return target && target.run === state.run && target.segment ? target : null;
}

/** Choose the segment of a target; the chosen time is its middle unless a pointer was used.
 * @param {{ at: number, seconds: number, run: number, segment?: any }} target */
function chooseTarget({ at, segment, seconds }, pointed) {
  choose(at, pointed && !isMark(segment) ? ms(seconds) : ms((segment[0] + segment[1]) / 2));
  if (state.chosen) halt(state.chosen);
  drawEditing();
  showChosen(true);
}

export function startEditing() {
  byId("editing").addEventListener("toggle", () => {
    drawEditing();
    refreshCards();
  });
  cards.addEventListener("filled", ({ target }) => {
    const at = Number(target.dataset.video);
    target.append(...[editRow(at)].filter(Boolean));
    if (state.chosen && state.chosen.video === at) showChosen();
  });
  player.addEventListener("played", follow);
  for (const id of Object.keys(ACTIONS)) byId(id).addEventListener("click", () => act(id));
  byId("edit-undo").addEventListener("click", () => takeBack());
  // Pause, so that the chosen segment stays the same while a key step is selected.
  for (const id of ["edit-other", "edit-new"]) {
    for (const kind of ["pointerdown", "keydown"]) byId(id).addEventListener(kind, () => { if (onNow()) state.playing.element.pause(); });
  }
  byId("edit-new").addEventListener("keydown", ({ key }) => { if (key === "Enter") act("edit-give"); });
  // These listeners come first, so that a click does not play the video.
  cards.addEventListener("click", (event) => {
    const target = editedTarget(event);
    if (!target) return;
    event.stopPropagation();
    chooseTarget(target, event.detail > 0);
  }, true);
  cards.addEventListener("keydown", editByKey, true);
  player.addEventListener("keydown", editByKey, true);
}

/** Edit the segment that has the focus or, if the focus is in the player, the chosen segment; Ctrl+Z undoes. */
function editByKey(event) {
  if (!fixing() || event.altKey || event.metaKey || (event.ctrlKey ? event.key.toLowerCase() !== "z" : !KEYS[event.key])) return;
  const target = event.ctrlKey ? null : editedTarget(event);
  if (!event.ctrlKey && !target && !(state.chosen && player.contains(event.target))) return;
  event.preventDefault();
  event.stopPropagation();
  if (event.ctrlKey) {
    takeBack(event.shiftKey);
    return;
  }
  const { chosen } = state;
  const row = chosen && target && chosen.video === target.at ? chosenRow() : null;
  // A segment that is already chosen keeps the clicked time; while a video plays, `act` chooses the segment.
  if (target && !onNow() && (!row || row[0] !== ms(target.segment[0]) || row[1] !== ms(target.segment[1]))) chooseTarget(target, false);
  if (!byId(KEYS[event.key]).disabled) act(KEYS[event.key]);
}
