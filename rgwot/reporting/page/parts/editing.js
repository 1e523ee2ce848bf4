// Correcting key steps in the view of videos: choose a segment of the result, and change it or its key step. Every
// change is an edit (see corrections.js), listed with who made it; taking one away undoes it.

const NUDGE_S = 0.1;
// A part that a split gives a key step of its own has at least this share of the time of what is split.
const LEAST_SHARE = 0.1;
const fix = { chosen: null, moving: null };
const fixing = () => byId("correcting").open && correctable(state.run);

/** Add an edit, with who and when; the view is drawn anew. */
function addEdit(edit) {
  const said = { by: byId("edit-by").value.trim(), when: new Date().toISOString().slice(0, 10), why: byId("edit-why").value.trim() };
  const entry = { ...edit };
  for (const [key, text] of Object.entries(said)) if (text) entry[key] = text.replace(/\p{Cc}+/gu, " ");
  byId("edit-why").value = "";
  setEdits([...edits(), entry]);
  correctionsChanged("Kept in this browser. Download the file to keep it for good.");
  return entry;
}

function removeEdit(at) {
  setEdits(edits().filter((_, other) => other !== at));
  correctionsChanged("Taken back.");
}

function correctionsChanged(said) {
  byId("edit-status").textContent = said;
  const { chosen } = fix;
  if (chosen) choose(chosen.video, (chosen.start + chosen.end) / 2);
  drawVerdict();
  redraw();
  drawEditing();
}

/** Choose the segment of the result at a time of a video. */
function choose(video, seconds) {
  const row = segmentsOf(video, state.run).find(([start, end]) => start <= seconds && seconds < end);
  fix.chosen = row ? { video, start: row[0], end: row[1], step: row[2] } : null;
}

const segmentOfChosen = () => [DATA.videos[fix.chosen.video].id, fix.chosen.start, fix.chosen.end];

/** Move a border of the chosen segment; moved again at once, it is still one edit. */
function moveBorder(side, seconds) {
  const { chosen } = fix;
  if (!chosen || !chosen.step) return;
  const other = side === "end" ? chosen.start : chosen.end;
  const at = Math.min(DATA.videos[chosen.video].duration, Math.max(0, Math.round(seconds * 1000) / 1000));
  if (side === "end" ? at <= other : at >= other) return;
  const list = edits();
  const again = fix.moving && list[list.length - 1] === fix.moving.edit && fix.moving.side === side && fix.moving.video === chosen.video && fix.moving.other === other;
  if (again) setEdits(list.slice(0, -1));
  const edit = addEdit({ edit: "border", segment: again ? fix.moving.edit.segment : segmentOfChosen(), [side]: at });
  fix.moving = { edit, side, video: chosen.video, other };
  choose(chosen.video, side === "end" ? (other + at) / 2 : (at + other) / 2);
  drawEditing();
  showChosen(true);
}

/** Split a key step by the clusters beneath it: the coarsest cut of the tree that divides it in earnest. */
function splitChosen() {
  const { step } = fix.chosen;
  const own = viewOf(state.run) && viewOf(state.run).tree;
  if (!own) return tellEditing("The clusters beneath a key step are shown of the first seed of a method.");
  const parts = [];
  for (const [id, { ends, leaves }] of Object.entries(own.videos)) {
    for (const [start, end, which] of place.has(id) ? segmentsOf(place.get(id), state.run) : []) {
      if (which !== step) continue;
      leaves.forEach((leaf, n) => {
        const from = Math.max(ms(start), n ? ends[n - 1] : 0);
        const to = Math.min(ms(end), ends[n]);
        if (from < to) parts.push([id, from, to, leaf]);
      });
    }
  }
  const total = parts.reduce((sum, [, from, to]) => sum + to - from, 0);
  for (let K = 2; K <= own.leaves.length; K++) {
    const groups = cutTree(own, K);
    const times = new Map();
    for (const [, from, to, leaf] of parts) times.set(groups[leaf], (times.get(groups[leaf]) || 0) + to - from);
    const [, second] = [...times].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    if (!second || second[1] < LEAST_SHARE * total) continue;
    const part = [];
    for (const [id, from, to, leaf] of parts) {
      const before = part[part.length - 1];
      if (groups[leaf] !== second[0]) continue;
      if (before && before[0] === id && before[2] === from / 1000) before[2] = to / 1000;
      else part.push([id, from / 1000, to / 1000]);
    }
    addEdit({ edit: "split", step: referenceOf(state.run, step), part });
    return undefined;
  }
  return tellEditing("There is one cluster beneath this key step; nothing divides it.");
}

function tellEditing(text) {
  byId("edit-status").textContent = text;
}

/** What the buttons do with the chosen segment or its key step. */
const ACTIONS = {
  "edit-merge": () => addEdit({ edit: "merge", step: referenceOf(state.run, fix.chosen.step), into: referenceOf(state.run, Number(byId("edit-other").value)) }),
  "edit-assign": () => addEdit({ edit: "assign", segment: segmentOfChosen(), step: referenceOf(state.run, Number(byId("edit-other").value)) }),
  "edit-rename": () => {
    const name = oneLine(byId("edit-name").value);
    if (name) addEdit({ edit: "rename", step: referenceOf(state.run, fix.chosen.step), name });
  },
  "edit-split": splitChosen,
  "edit-background": () => addEdit({ edit: "background", step: referenceOf(state.run, fix.chosen.step) }),
  "edit-delete": () => addEdit({ edit: "delete", segment: segmentOfChosen() }),
  "edit-start-earlier": () => moveBorder("start", fix.chosen.start - NUDGE_S),
  "edit-start-later": () => moveBorder("start", fix.chosen.start + NUDGE_S),
  "edit-end-earlier": () => moveBorder("end", fix.chosen.end - NUDGE_S),
  "edit-end-later": () => moveBorder("end", fix.chosen.end + NUDGE_S),
};
const KEYS = {
  Delete: "edit-delete", Backspace: "edit-delete", s: "edit-split", b: "edit-background",
  ",": "edit-end-earlier", ".": "edit-end-later", "<": "edit-start-earlier", ">": "edit-start-later",
};

function drawEditing() {
  const { chosen } = fix;
  const run = state.run;
  byId("correcting").hidden = !correctable(run);
  byId("click-does").textContent = fixing() ? "click one of the first bar to choose it, any other to play" : "click it to play the video from there";
  byId("enter-does").textContent = fixing() ? "do the same" : "play";
  if (!correctable(run)) return;
  const step = chosen ? chosen.step : 0;
  byId("edit-chosen").textContent = chosen
    ? `Chosen: ${fullLabel(run, step)}, ${clock(chosen.start, 2)} to ${clock(chosen.end, 2)} of ${DATA.videos[chosen.video].name}.`
    : "Nothing chosen: click a segment of the first bar of this result, or press Enter on it.";
  const others = stepsOf(run).filter((other) => other !== step);
  const before = byId("edit-other").value;
  byId("edit-other").replaceChildren(...others.map((other) => make("option", { value: String(other), textContent: fullLabel(run, other) })));
  if (others.map(String).includes(before)) byId("edit-other").value = before;
  for (const id of Object.keys(ACTIONS)) byId(id).disabled = !chosen || (!step && id !== "edit-assign");
  for (const id of ["edit-merge", "edit-assign"]) byId(id).disabled ||= !others.length;
  byId("edit-name").value = step ? nameOf(run, step) : "";
  byId("edit-undo").disabled = !edits().length;
  const corrected = correctedOf(run);
  byId("edits").replaceChildren(...edits().map((edit, at) => editRow(edit, at, corrected.report[at])));
  const open = edits().length;
  byId("correcting-count").textContent = open ? `(${plural(open, "correction")})` : "";
  const behind = JSON.stringify(edits()) !== JSON.stringify(DATA.corrections);
  byId("edit-behind").hidden = !behind;
}

/** One edit of the list: what it does here or why nothing, where, who, and a button to take it back. */
function editRow(edit, at, { reason, said }) {
  const first = edit.segment || edit.step[0];
  const video = place.has(first[0]) ? DATA.videos[place.get(first[0])].name : first[0];
  const where = `${video}, ${clock(first[1])} to ${clock(first[2])}${edit.step && !edit.segment && edit.step.length > 1 ? " and elsewhere" : ""}`;
  const who = [edit.by, edit.when, edit.why].filter(Boolean).join(", ");
  const back = make("button", { type: "button", className: "more", textContent: "Take back", aria: { label: `Take back correction ${at + 1}` } });
  back.addEventListener("click", () => removeEdit(at));
  const text = `${said} (${where})${who ? `. ${who}` : ""}${reason ? `. Does not hold here: ${reason}` : ""} `;
  return make("li", { className: reason ? "lost" : "" }, make("span", { textContent: text }), back);
}

/** Mark the chosen segment, with grips to drag its borders. */
function showChosen(focus = false) {
  for (const old of cards.querySelectorAll(".grip")) old.remove();
  for (const old of cards.querySelectorAll(".seg.chosen")) old.classList.remove("chosen");
  const { chosen } = fix;
  if (!chosen || !fixing()) return;
  const bar = cards.querySelector(`.card[data-video="${chosen.video}"] .bar[data-run="${state.run}"]`);
  if (!bar) return;
  const index = segmentsOf(chosen.video, state.run).findIndex(([start]) => start === chosen.start);
  const segment = bar.querySelector(`.seg[data-index="${index}"]`);
  if (!segment) return;
  segment.classList.add("chosen");
  if (focus) segment.focus({ preventScroll: true });
  if (!chosen.step) return;
  for (const side of ["start", "end"]) bar.append(grip(bar, side));
}

function grip(bar, side) {
  const { chosen } = fix;
  const { duration } = DATA.videos[chosen.video];
  const made = make("div", { className: `grip ${side}`, aria: { hidden: "true" } });
  made.style.left = `${(100 * chosen[side]) / duration}%`;
  let at = null;
  made.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    made.setPointerCapture(event.pointerId);
    at = chosen[side];
  });
  made.addEventListener("pointermove", (event) => {
    if (at === null) return;
    event.stopPropagation();
    const { left, width } = bar.getBoundingClientRect();
    at = Math.min(duration, Math.max(0, ((event.clientX - left) / width) * duration));
    made.style.left = `${(100 * at) / duration}%`;
    tellEditing(`${side === "end" ? "Ends" : "Starts"} at ${clock(at, 2)}`);
    showPopup([`${side} ${clock(at, 2)}`], event.clientX, event.clientY, [[chosen.video, at]]);
  });
  made.addEventListener("pointerup", (event) => {
    if (at === null) return;
    event.stopPropagation();
    hidePopup();
    const to = at;
    at = null;
    if (Math.abs(to - chosen[side]) > 0.001) moveBorder(side, to);
  });
  made.addEventListener("click", (event) => event.stopPropagation());
  return made;
}

function startEditing() {
  try {
    byId("edit-by").value = localStorage.getItem("rgwot by") || "";
  } catch {
    // See recall.
  }
  byId("edit-by").addEventListener("change", () => remember("rgwot by", byId("edit-by").value));
  byId("correcting").addEventListener("toggle", () => {
    showChosen();
    drawEditing();
  });
  for (const [id, act] of Object.entries(ACTIONS)) byId(id).addEventListener("click", act);
  byId("edit-undo").addEventListener("click", () => removeEdit(edits().length - 1));
  byId("edit-download").addEventListener("click", () => {
    download(correctionsFile(), "application/yaml", `${DATA.task}.yaml`);
    tellEditing(`${whereTo(DATA.corrections_path)}. Exports, bundles and results/corrected then follow it.`);
  });
  // Before a click plays the video.
  cards.addEventListener("click", (event) => {
    const target = fixing() && event.target.closest(".seg") && targetOf(event.target, event.detail ? event.clientX : null);
    if (!target || target.run !== state.run || !target.segment) return;
    event.stopPropagation();
    choose(target.at, (target.segment[0] + target.segment[1]) / 2);
    drawEditing();
    showChosen(true);
  }, true);
  cards.addEventListener("keydown", (event) => {
    if (!fixing() || event.altKey || event.metaKey) return;
    if (event.ctrlKey ? event.key !== "z" : !KEYS[event.key]) return;
    const target = !event.ctrlKey && event.target.matches(".seg") && targetOf(event.target);
    if (!event.ctrlKey && (!target || target.run !== state.run || !target.segment)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.ctrlKey) {
      if (edits().length) removeEdit(edits().length - 1);
      return;
    }
    choose(target.at, (target.segment[0] + target.segment[1]) / 2);
    drawEditing();
    if (!byId(KEYS[event.key]).disabled) ACTIONS[KEYS[event.key]]();
    showChosen(true);
  }, true);
}
