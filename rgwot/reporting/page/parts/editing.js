// Editing the segments of a video in the view of videos: a person corrects what was found, and downloads the result as
// the annotation of the video. An edit changes nothing else on the page.

const NUDGE_MS = 100;
const fix = { chosen: null };
const undoable = [];
const edited = new Map();
const editable = (run) => run >= 0 && ["trained", "untrained"].includes(factsOf(run).kind);
const fixing = () => byId("editing").open && editable(state.run);
const ms = (seconds) => Math.round(1000 * seconds);

const editsKey = (run) => `rgwot segments ${DATA.dataset}/${DATA.task}/${factsOf(run).id}/${factsOf(run).result}`;

/** The edited videos of a result, by id: rows of start and end in milliseconds, and key step. */
function editsOf(run) {
  if (!edited.has(run)) edited.set(run, (recall(editsKey(run), null) || { videos: {} }).videos);
  return edited.get(run);
}

/** The segments of a video as a person edited them, in seconds; null where nobody did. */
function editedOf(video, run) {
  const rows = editsOf(run)[DATA.videos[video].id];
  return rows ? rows.map(([start, end, step]) => [start / 1000, end / 1000, step]) : null;
}

const rowsOf = (video) => editsOf(state.run)[DATA.videos[video].id] || segmentsOf(video, state.run).map(([start, end, step]) => [ms(start), ms(end), step]);

/** Store the edited rows of a video, or with null restore what was found; return the rows stored before. */
function setRows(video, rows) {
  const { [DATA.videos[video].id]: before, ...others } = editsOf(state.run);
  const videos = rows ? { ...others, [DATA.videos[video].id]: rows } : others;
  edited.set(state.run, videos);
  remember(editsKey(state.run), JSON.stringify({ base: null, videos }));
  return before;
}

/** Make an edit that can be undone, and choose the segment at a time; successive edits of one `kind` count as one. */
function edit(video, rows, at, kind = null) {
  const before = setRows(video, rows);
  const last = undoable[undoable.length - 1];
  if (!kind || !last || last.kind !== kind || last.run !== state.run) undoable.push({ run: state.run, video, rows: before, kind });
  tellEditing("Kept in this browser. Download the annotation to keep it for good.");
  drawEdited(video, at);
}

function takeBack() {
  const last = undoable.findLastIndex(({ run }) => run === state.run);
  if (last < 0) return;
  const [{ video, rows }] = undoable.splice(last, 1);
  setRows(video, rows);
  tellEditing("Taken back.");
  drawEdited(video, fix.chosen && fix.chosen.video === video ? fix.chosen.at : null);
}

function drawEdited(video, at) {
  if (at !== null) choose(video, at);
  const card = cards.querySelector(`.card[data-video="${video}"]`);
  clear(card, null);
  fill(card);
  drawEditing();
  showChosen(at !== null);
}

/** Choose the segment at a time of a video, in milliseconds; a cut is made there. */
function choose(video, at) {
  const index = rowsOf(video).findIndex(([start, end]) => start <= at && at < end);
  fix.chosen = index < 0 ? null : { video, index, at };
}

const chosenRow = () => rowsOf(fix.chosen.video)[fix.chosen.index];

/** The video that is playing, and its time in milliseconds; null if none is playing. */
function onNow() {
  if (!playing || !playing.element.isConnected || playing.element.paused) return null;
  return { video: playing.video, at: ms(playing.element.currentTime - playing.origin) };
}

/** Choose the segment that the player shows; a paused player counts only if it shows the chosen video. */
function follow() {
  if (!playing || !fixing()) return;
  const before = fix.chosen;
  if (playing.element.paused && (!before || before.video !== playing.video)) return;
  choose(playing.video, ms(playing.element.currentTime - playing.origin));
  drawEditing();
  const { chosen } = fix;
  if (!chosen || !before || chosen.video !== before.video || chosen.index !== before.index) showChosen();
}

/** Pause the player; if it shows the video of the chosen segment, go to the chosen time, where a cut is made. */
function halt({ video, at }) {
  if (!playing) return;
  playing.element.pause();
  if (playing.video === video) playing.element.currentTime = playing.origin + at / 1000;
}

/** Act on the chosen segment or, while a video plays, on the segment that is playing. */
function act(action) {
  const now = onNow();
  if (now) choose(now.video, now.at);
  if (fix.chosen) ACTIONS[action]();
}

/** Move the nearer border of the chosen segment to the time that was clicked or is playing. */
function borderHere() {
  const { at } = fix.chosen;
  const [start, end] = chosenRow();
  if (at > start) moveBorder(at - start < end - at ? "start" : "end", at, at);
}

/** Move a border of the chosen segment; its neighbours grow or shrink. Successive moves of a border are one edit. */
function moveBorder(side, to, at = null) {
  const { video, index } = fix.chosen;
  const rows = rowsOf(video);
  const [start, end, step] = rows[index];
  const last = rows[rows.length - 1][1];
  const time = Math.round(Math.min(last, Math.max(0, to)));
  if (side === "end" ? time <= start : time >= end) return;
  let [before, after] = [rows.slice(0, index), rows.slice(index + 1)];
  if (side === "end") {
    if (!after.length) after = [[end, last, 0]];
    after = after.map(([first, till, own], n) => [n ? Math.max(first, time) : time, till, own]);
  } else {
    if (!before.length) before = [[0, start, 0]];
    before = before.map(([first, till, own], n) => [first, n < before.length - 1 ? Math.min(till, time) : time, own]);
  }
  const own = side === "end" ? [start, time, step] : [time, end, step];
  const kept = [...before, own, ...after].filter(([first, till]) => first < till);
  edit(video, kept, at ?? (own[0] + own[1]) / 2, `${side} ${video} ${side === "end" ? start : end}`);
}

/** Give the chosen segment to a key step; 0 is none. */
function giveTo(step) {
  const { video, index, at } = fix.chosen;
  edit(video, rowsOf(video).map(([start, end, own], n) => [start, end, n === index ? step : own]), at);
}

/** The key steps of a result, and those that a person added. */
const knownSteps = (run) => [...new Set([...stepsOf(run), ...Object.values(editsOf(run)).flat().map(([, , step]) => step)])].filter(Boolean);

/** The key step with a name; a new one if no key step has it. */
function stepNamed(name) {
  const run = state.run;
  if (name === "-") return 0;
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

/** Cut the chosen segment where it was clicked: each part can then be given to another key step. */
function cutChosen() {
  const { video, at } = fix.chosen;
  const cut = Math.round(at);
  const rows = rowsOf(video).flatMap(([start, end, own]) => (start < cut && cut < end ? [[start, cut, own], [cut, end, own]] : [[start, end, own]]));
  edit(video, rows, cut);
}

function tellEditing(text) {
  byId("edit-status").textContent = text;
}

/** What the buttons do with the chosen segment. */
const ACTIONS = {
  "edit-give": giveChosen,
  "edit-none": () => giveTo(0),
  "edit-border": borderHere,
  "edit-cut": cutChosen,
  "edit-play": () => (onNow() ? playing.element.pause() : playFrom(fix.chosen.video, fix.chosen.at / 1000)),
  "edit-start-earlier": () => moveBorder("start", chosenRow()[0] - NUDGE_MS),
  "edit-start-later": () => moveBorder("start", chosenRow()[0] + NUDGE_MS),
  "edit-end-earlier": () => moveBorder("end", chosenRow()[1] - NUDGE_MS),
  "edit-end-later": () => moveBorder("end", chosenRow()[1] + NUDGE_MS),
};
const KEYS = {
  Delete: "edit-none", Backspace: "edit-none", b: "edit-border", c: "edit-cut", p: "edit-play",
  ",": "edit-end-earlier", ".": "edit-end-later", "<": "edit-start-earlier", ">": "edit-start-later",
};

function drawEditing() {
  const run = state.run;
  const { chosen } = fix;
  byId("editing").hidden = !editable(run);
  byId("click-does").textContent = fixing() ? "click one of this result to choose it, any other to play" : "click it to play the video from there";
  byId("enter-does").textContent = fixing() ? "do the same" : "play";
  if (!editable(run)) return;
  const count = Object.keys(editsOf(run)).length;
  byId("editing-count").textContent = count ? `(${plural(count, "video")} edited)` : "";
  const [start, end, step] = chosen ? chosenRow() : [0, 0, 0];
  byId("edit-chosen").textContent = chosen
    ? `Chosen: ${step ? fullLabel(run, step) : "no key step"}, ${clock(start / 1000, 2)} to ${clock(end / 1000, 2)} of ${DATA.videos[chosen.video].name}; a cut is made at ${clock(chosen.at / 1000, 2)}.`
    : "Nothing chosen: click a segment of this result, or press Enter on it.";
  const others = knownSteps(run).filter((other) => other !== step && sameStep(run, other) === other);
  drawOthers(others.map((other) => [String(other), fullLabel(run, other)]));
  for (const id of Object.keys(ACTIONS)) byId(id).disabled = !chosen;
  byId("edit-none").disabled ||= !step;
  byId("edit-undo").disabled = !undoable.some((one) => one.run === run);
}

/** List the key steps that the chosen segment can be given to; an unchanged list is kept, so that it stays open. */
function drawOthers(others) {
  const list = byId("edit-other");
  const told = JSON.stringify(others);
  if (list.dataset.told === told) return;
  list.dataset.told = told;
  const before = list.value;
  list.replaceChildren(...others.map(([value, textContent]) => make("option", { value, textContent })));
  if (others.some(([value]) => value === before)) list.value = before;
}

/**
 * The annotation of an edited video: the table that the layout `folder` reads beside the video. Time without a key step
 * is annotated as background, so that no time is unknown.
 */
function annotationOf(video) {
  const run = state.run;
  const field = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const last = Math.floor(1000 * DATA.videos[video].duration);
  const lines = rowsOf(video).flatMap(([start, end, step]) => {
    const own = sameStep(run, step);
    const till = Math.min(end, last);
    const label = own ? nameOf(run, own) || `key step ${own}` : "-";
    return start < till ? [`${start / 1000},${till / 1000},${field(label)}`] : [];
  });
  return ["start_s,end_s,label", ...lines, ""].join("\n");
}

/** Buttons below the bars of a video: download its annotation, undo all edits. */
function editRow(at) {
  const own = editedOf(at, state.run) !== null;
  if (!own && !fixing()) return null;
  const { name, path } = DATA.videos[at];
  const save = make("button", { type: "button", className: "save", textContent: "Download annotation", aria: { label: `Download the annotation of ${name}` } });
  save.addEventListener("click", () => {
    download(annotationOf(at), "text/csv", `${name}.csv`);
    const where = path.toLowerCase().endsWith(".csv") ? "into a folder annotations beside" : "beside";
    tellEditing(`Downloaded. Put ${name}.csv ${where} ${path}, and remove other annotations of this video from there; then run \`rgwot run first\`.`);
  });
  const back = make("button", { type: "button", className: "back", textContent: "As it was found", aria: { label: `Undo all edits of ${name}` } });
  back.addEventListener("click", () => edit(at, null, fix.chosen && fix.chosen.video === at ? fix.chosen.at : null));
  return make("div", { className: "controls" }, save, own ? back : null);
}

/** Mark the chosen segment, with grips to drag its borders. */
function showChosen(focus = false) {
  for (const old of cards.querySelectorAll(".grip")) old.remove();
  for (const old of cards.querySelectorAll(".seg.chosen")) old.classList.remove("chosen");
  const { chosen } = fix;
  if (!chosen || !fixing()) return;
  const bar = cards.querySelector(`.card[data-video="${chosen.video}"] .bar[data-run="${state.run}"]`);
  const segment = bar && bar.querySelector(`.seg[data-index="${chosen.index}"]`);
  if (!segment) return;
  segment.classList.add("chosen");
  if (focus) segment.focus({ preventScroll: true });
  bar.append(grip(bar, "start"), grip(bar, "end"));
}

function grip(bar, side) {
  const { video } = fix.chosen;
  const duration = ms(DATA.videos[video].duration);
  const old = chosenRow()[side === "start" ? 0 : 1];
  const made = make("div", { className: `grip ${side}`, aria: { hidden: "true" } });
  made.style.left = `${(100 * old) / duration}%`;
  let at = null;
  made.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    if (playing) playing.element.pause();
    made.setPointerCapture(event.pointerId);
    at = old;
  });
  made.addEventListener("pointermove", (event) => {
    if (at === null) return;
    event.stopPropagation();
    const { left, width } = bar.getBoundingClientRect();
    at = Math.min(duration, Math.max(0, ((event.clientX - left) / width) * duration));
    made.style.left = `${(100 * at) / duration}%`;
    tellEditing(`${side === "end" ? "Ends" : "Starts"} at ${clock(at / 1000, 2)}`);
    showPopup([`${side} ${clock(at / 1000, 2)}`], event.clientX, event.clientY, [[video, at / 1000]]);
  });
  made.addEventListener("pointerup", (event) => {
    if (at === null) return;
    event.stopPropagation();
    hidePopup();
    const to = at;
    at = null;
    if (Math.abs(to - old) > 1) moveBorder(side, to);
  });
  made.addEventListener("click", (event) => event.stopPropagation());
  return made;
}

/** The segment of the chosen result that an event is about, while segments are edited. */
function editedTarget(event) {
  const target = fixing() && event.target.closest(".seg") && targetOf(event.target, event.detail ? event.clientX : null);
  return target && target.run === state.run && target.segment ? target : null;
}

/** Choose the segment of a target; without a pointer its middle is the time. */
function chooseTarget({ at, segment, seconds }, pointed) {
  choose(at, pointed ? ms(seconds) : ms((segment[0] + segment[1]) / 2));
  if (fix.chosen) halt(fix.chosen);
  drawEditing();
  showChosen(true);
}

function startEditing() {
  byId("editing").addEventListener("toggle", () => {
    refreshCards();
    showChosen();
  });
  for (const id of Object.keys(ACTIONS)) byId(id).addEventListener("click", () => act(id));
  byId("edit-undo").addEventListener("click", takeBack);
  // Pause, so that the chosen segment stays the same while a key step is selected.
  for (const id of ["edit-other", "edit-new"]) {
    for (const kind of ["pointerdown", "keydown"]) byId(id).addEventListener(kind, () => { if (onNow()) playing.element.pause(); });
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

/** Edit the segment that has the focus, or the chosen one from within the player. */
function editByKey(event) {
  if (!fixing() || event.altKey || event.metaKey || (event.ctrlKey ? event.key !== "z" : !KEYS[event.key])) return;
  const target = event.ctrlKey ? null : editedTarget(event);
  if (!event.ctrlKey && !target && !(fix.chosen && player.contains(event.target))) return;
  event.preventDefault();
  event.stopPropagation();
  if (event.ctrlKey) {
    takeBack();
    return;
  }
  const { chosen } = fix;
  const row = chosen && target && chosen.video === target.at ? chosenRow() : null;
  // A segment that is already chosen keeps the clicked time; while a video plays, `act` chooses the segment.
  if (target && !onNow() && (!row || row[0] !== ms(target.segment[0]))) chooseTarget(target, false);
  if (!byId(KEYS[event.key]).disabled) act(KEYS[event.key]);
}
