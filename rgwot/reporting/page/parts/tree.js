// The tab "How many?": a tree of key steps, which the reader cuts. It shows parts of all videos with a typical frame each,
// and how they merge.

import { cutSegments, cutTable, cutTree, explainedShare, firstLeaf, letterOf, mergeLines } from "./cut.js";
import { barOfLength, byId, download, make, recall, remember, spread, TAB } from "./dom.js";
import { drawPicture, label, lookAt, lookOf, pictureAt, sharp, stripOf } from "./looks.js";
import { live, putAnswer } from "./live.js";
import { drawSplits, pictured, tellKept } from "./numbers.js";
import { factsOf, fromLabels, place, segmentsOf, stepsOf, viewOf } from "./results.js";
import { mostShared, overlaps } from "./segments.js";
import { afterRun, ask, below, MADE, tell } from "./server.js";
import { DATA, state } from "./state.js";
import { clock, fileName, listed, percent, plural } from "./text.js";

const LEAF_ROW = 44;
/** The colours, plain and in two patterns. */
const LOOKS = 3 * DATA.colours;
/** Milliseconds that the slider must rest before the server looks for key steps. */
const SETTLED_MS = 300;

/** The colours of the key steps of a cut: of the result's key step with most time in common, or else new ones. */
function looksOfCut(tree, steps, K) {
  const { run } = state;
  const shared = mostShared(DATA.videos.flatMap(({ id }, at) => (tree.videos[id] ? overlaps(segmentsOf(at, run), cutSegments(tree.videos[id], steps)) : [])));
  const usable = (look) => !look.includes("none") && !look.includes("s0");
  const looks = new Map([...shared].map(([step, own]) => /** @type {const} */ ([step, lookOf(run, own)])).filter(([, look]) => usable(look)));
  const taken = new Set([...stepsOf(run).map((own) => lookOf(run, own)), ...looks.values()].map(String));
  let next = 1;
  for (let step = 1; step <= K; step++) {
    if (looks.has(step)) continue;
    while (next < LOOKS && taken.has(String(lookAt(next)))) next += 1;
    looks.set(step, lookAt(next));
    next += 1;
  }
  return looks;
}

export function drawTree() {
  // Without a tree, the tab is hidden.
  const own = viewOf(state.run).tree;
  const n = own.leaves.length;
  if (state.cut.run !== state.run) {
    state.cut.run = state.run;
    // In the window, the slider sets the number of the results without labels.
    state.cut.K = Math.max(1, Math.min(n, (MADE && fromLabels(state.run) ? savedK : factsOf(state.run).K) || 7));
  }
  byId("cut").max = String(n);
  byId("cut").value = String(state.cut.K);
  drawMerges(own);
  byId("leaves").replaceChildren(...own.leaves.map((leaf) => leafRow(leaf)));
  const shown = DATA.videos.filter(({ id }) => own.videos[id]);
  byId("cut-bars").replaceChildren(...shown.flatMap((video) => [
    make("div", { className: "label", textContent: video.name }),
    barOfLength(video, shown, { data: { video: String(place.get(video.id)) } }),
  ]));
  showCut();
}

/** A typical frame of a leaf, if there are pictures, and its share of the videos. */
function leafRow(leaf) {
  const at = place.get(leaf.video);
  const canvas = make("canvas", { hidden: true });
  if (at !== undefined) {
    stripOf(at).then((image) => {
      if (!image) return;
      const height = LEAF_ROW - 6;
      const width = Math.min(height * DATA.videos[at].aspect, 96);
      drawPicture(sharp(canvas, width, height), image, pictureAt(at, leaf.time_s), 0, 0, width, height);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      canvas.hidden = false;
    });
  }
  const name = at === undefined ? leaf.video : DATA.videos[at].name;
  return make("li", {},
    make("span", { className: "chip" }), canvas,
    make("span", { className: "quiet", title: `${name} at ${clock(leaf.time_s)}`, textContent: percent(leaf.share, leaf.share < 0.1 ? 1 : 0) }));
}

/** Make a part of the drawing. */
function drawn(tag, properties) {
  const element = document.createElementNS(byId("merges").namespaceURI, tag);
  for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
  return element;
}

/** Draw the merges, with the leaves at the right. */
function drawMerges(own) {
  const height = own.leaves.length * LEAF_ROW;
  byId("merges").setAttribute("viewBox", `0 0 1000 ${height}`);
  byId("merges").style.height = `${height}px`;
  byId("merges").replaceChildren(...mergeLines(own, 1000, LEAF_ROW).map((d) => drawn("path", { d })), drawn("line", { id: "cut-line", y1: 0, y2: height }));
}

function moveCut(K) {
  state.cut.K = Math.max(1, Math.min(viewOf(state.run).tree.leaves.length, K));
  byId("cut").value = String(state.cut.K);
  showCut();
  if (!MADE) return;
  clearTimeout(cutTimer);
  cutTimer = setTimeout(followCut, SETTLED_MS);
}

/** Colour leaves and bars by the cut, and show what one key step more or fewer would change. */
function showCut() {
  const own = viewOf(state.run).tree;
  const { merges, leaves, videos } = own;
  const [n, K] = [leaves.length, state.cut.K];
  const steps = cutTree(own, K);
  const looks = looksOfCut(own, steps, K);
  byId("cut-at").textContent = String(K);
  // Half-way between the merge that leaves K clusters and the next merge; near the edge for the least and greatest K.
  const x = n > 1 ? Math.max(4, Math.min(996, (1000 * (K - 1.5)) / (n - 1))) : 500;
  for (const side of ["x1", "x2"]) byId("cut-line").setAttribute(side, String(x));
  [...byId("leaves").children].forEach((row, leaf) => row.firstElementChild.replaceWith(label(looks.get(steps[leaf]), letterOf(steps[leaf]))));
  for (const bar of byId("cut-bars").querySelectorAll(".bar")) {
    const video = DATA.videos[Number(bar.dataset.video)];
    const segments = cutSegments(videos[video.id], steps);
    bar.setAttribute("aria-label", `${video.name}: ${plural(segments.length, "segment")}, ${segments.slice(0, 40).map((one) => letterOf(one[2])).join(", ")}`);
    bar.replaceChildren(...segments.map(([start, end, step]) => {
      const made = make("div", { title: `${letterOf(step)}: ${clock(start)} to ${clock(end)}` }, make("span", { textContent: letterOf(step) }));
      made.classList.add("seg", ...looks.get(step));
      spread(made, start, end, video.duration);
      return made;
    }));
  }
  const explained = (count) => percent(explainedShare(own, count));
  const sentences = [`${plural(K, "key step")} of ${plural(n, "part")}: they explain ${explained(K)} of the differences between samples, and all ${n} parts ${explained(n)}.`];
  const stepOf = (cluster) => steps[firstLeaf(own, cluster)];
  if (K > 1) {
    const [a, b, more] = merges[n - K];
    sentences.push(`One fewer joins ${[stepOf(a), stepOf(b)].sort((one, other) => one - other).map(letterOf).join(" and ")} and gives up ${percent(more, 1)}.`);
  }
  if (K < n) {
    const [a, , less] = merges[n - K - 1];
    sentences.push(`One more divides ${letterOf(stepOf(a))} and gains ${percent(less, 1)}.`);
  }
  byId("cut-words").textContent = sentences.join(" ");
  const { another, K: found } = factsOf(state.run);
  // A result that learned from labels has as many key steps as these.
  byId("cut-next").hidden = Boolean(MADE) || K === found || !another;
  byId("cut-next").textContent = `For names, orders and scores, make a result with this number: ${another.slice(another.indexOf(": ") + 2).replace(/([@,]K=)\d+/, `$1${K}`)}`;
}

let savedK = 0;
let cutTimer = 0;
/** Whether an answer is being waited for; one is asked for at a time, and then that of the number where the slider is. */
let cutWaits = false;
/** An answer that takes longer, in milliseconds, is not compared with others by itself. */
const QUICK_MS = 5000;
const LOOKED_AT = `rgwot number ${DATA.dataset}/${DATA.task}`;

/** The plain result: the one whose number of key steps the slider sets. */
const numberedRun = () => DATA.runs.indexOf(runsOfSavedK()[0]);

/** In the window, replace the result without labels by the one with the chosen number of key steps. */
async function followCut() {
  const { K } = state.cut;
  if (K < 2 || (!fromLabels(state.run) && K === factsOf(state.run).K)) {
    tellCut();
    return;
  }
  Object.assign(byId("cut-use"), { hidden: false, disabled: true, textContent: `Use ${K}` });
  byId("cut-status").textContent = `Looking for ${plural(K, "key step")}.`;
  if (cutWaits) return;
  cutWaits = true;
  const began = performance.now();
  try {
    const answer = await ask(below("/api/K", DATA.dataset, DATA.task, String(K)));
    cutWaits = false;
    // The slider may have moved meanwhile.
    if (state.cut.K !== K) return followCut();
    const known = DATA.runs.findIndex(({ id }) => id === answer.facts.id);
    const before = known < 0 ? null : pictured(known);
    const run = putAnswer(answer);
    remember(LOOKED_AT, JSON.stringify({ base: savedK, K }), TAB);
    live.dispatchEvent(new CustomEvent("answer", { detail: { run, learned: false } }));
    if (before) drawSplits(before, pictured(run));
    tellCut();
    if (performance.now() - began < QUICK_MS) compareCut();
  } catch (error) {
    cutWaits = false;
    byId("cut-status").textContent = error.message;
    afterRun(error, () => { if (state.cut.K === K) followCut(); });
  }
}

/** The number of key steps that this tab showed last; 0 if it showed none, or if another number is in use since. */
export const lookedAt = () => recall(LOOKED_AT, savedK, TAB)?.K || 0;

/** Show the number of key steps again that the page before showed, although it is not the one in use. */
export async function restoreCut() {
  const K = MADE ? lookedAt() : 0;
  const before = DATA.runs[numberedRun()];
  if (!K || !before || before.K === K) return;
  try {
    const answer = await ask(below("/api/K", DATA.dataset, DATA.task, String(K)));
    // A person may have looked at another number meanwhile.
    if (DATA.runs[numberedRun()] !== before) return;
    if (state.cut.K === before.K) state.cut.run = -1;
    live.dispatchEvent(new CustomEvent("answer", { detail: { run: putAnswer(answer), learned: false, restored: true } }));
    tellCut();
  } catch (error) {
    afterRun(error, restoreCut);
  }
}

/** Tell which key steps one fewer and one more have, too. */
async function compareCut() {
  byId("cut-compare").hidden = true;
  await tellKept(numberedRun()).catch((error) => {
    byId("cut-kept").textContent = error.message;
    afterRun(error, () => { if (byId("cut-compare").hidden) compareCut(); });
  });
}

function tellCut() {
  const { K, lost } = factsOf(state.run);
  const used = K === savedK;
  Object.assign(byId("cut-use"), { hidden: !K || K < 2 || fromLabels(state.run), disabled: used, textContent: `Use ${K}`, title: used ? `${K} is the number in use` : "" });
  const labelled = DATA.runs.some((_, run) => fromLabels(run) && !state.forgotten.has(run));
  const without = labelled && !fromLabels(state.run) ? " This is the result without labels; choose the one with labels under Result." : "";
  byId("cut-status").textContent = byId("cut-use").hidden || used ? without : `Procedure, bars and deviations show ${plural(K, "key step")} now. They are numbered anew, so 3 is another key step than before; colours and typed names stay where most of their time is.${without}${lost ? ` ${lost}` : ""}`;
  const plain = numberedRun();
  byId("cut-compare").hidden = plain < 0 || !factsOf(plain).K;
  if (plain >= 0) byId("cut-compare").textContent = `Which of ${factsOf(plain).K} are there with ${listed([factsOf(plain).K - 1, factsOf(plain).K + 1].filter((K) => K > 1).map(String))}, too?`;
  byId("cut-kept").replaceChildren();
}

/** The results that use the saved number: their id sets no other one, and they did not learn from labels. */
const runsOfSavedK = () => DATA.runs.filter(({ kind, given, decoder }) => ["trained", "untrained"].includes(kind) && !given.length && !/[@,]K=/.test(decoder));

async function useCut() {
  const { K, lost } = factsOf(state.run);
  try {
    await tell("PUT", "/api/K", { K });
    savedK = K;
    tellCut();
    const methods = [...new Set(runsOfSavedK().map(({ method, decoder }) => `${method} / ${decoder}`))];
    byId("cut-status").textContent = `Saved: the next page has ${listed(methods)} with ${plural(K, "key step")}; what is learned from labels has the steps that are labelled.${lost ? ` ${lost}` : ""}`;
  } catch (error) {
    byId("cut-status").textContent = error.message;
  }
}

function downloadCut() {
  download(cutTable(viewOf(state.run).tree, state.cut.K), "text/csv", fileName(DATA.task, `K${state.cut.K}.csv`));
}

export function startTree() {
  byId("cut").addEventListener("input", () => moveCut(Number(byId("cut").value)));
  savedK = (runsOfSavedK()[0] || factsOf(0)).K;
  byId("cut-use").addEventListener("click", useCut);
  byId("cut-compare").addEventListener("click", compareCut);
  if (MADE) tellCut();
  byId("cut-download").addEventListener("click", downloadCut);
  byId("merges").addEventListener("click", (event) => {
    const { left, width } = byId("merges").getBoundingClientRect();
    moveCut(Math.ceil(((event.clientX - left) / width) * (viewOf(state.run).tree.leaves.length - 1)) + 1);
  });
}
