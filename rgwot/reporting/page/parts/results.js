// The facts, key steps and segments of a result, and the names of its key steps. A page without a server cannot
// write files: typed names stay in this browser, and can be downloaded as a file that the workflow reads. Names belong to
// one result, because every training numbers its clusters anew.

import { block, byId, download, recall, remember } from "./dom.js";
import { contentOf, filesRead, save } from "./saving.js";
import { occurrences, segmentsOfBars } from "./segments.js";
import { MADE } from "./server.js";
import { DATA, state } from "./state.js";
import { namesText, oneLine, plural } from "./text.js";

export const LONGEST_NAME = 80;
/** The number of a video, by its id. */
export const place = new Map(DATA.videos.map((video, at) => [video.id, at]));

export const factsOf = (run) => DATA.runs[run];
export const bodyOf = (run) => block(`run-${run}`);
export const ownView = (run) => block(`view-${run}`);
/** The view of a result; without one it has only the tree, which depends on the method. */
export const viewOf = (run) => ownView(run) || treeOfMethod(run);
/** The key steps of a result, without background. */
export const stepsOf = (run) => factsOf(run).steps;
/** The result whose tree is shown with a result: its own, or the first one of its method; -1 without any. */
export const runOfTree = (run) => (ownView(run)?.tree ? run : DATA.runs.findIndex(({ method }, one) => method === factsOf(run).method && ownView(one)?.tree));
function treeOfMethod(run) {
  const other = runOfTree(run);
  return other < 0 ? null : { ...ownView(other), typical: [] };
}
const learnedFrom = ({ given }) => (given.length ? ` learned from labels of ${plural(given.length, "video")}` : "");
export function runTitle(run) {
  const { method, decoder, seed, K } = factsOf(run);
  return `${method} / ${decoder}, ${K ? `${plural(K, "key step")}${learnedFrom(factsOf(run))}, ` : ""}try ${seed}`;
}
/** The results that can be chosen; trivial results are only compared under Scores, unless there are no others. */
export function chosenRuns() {
  const all = DATA.runs.map((_, run) => run).filter((run) => !state.forgotten.has(run));
  const worth = all.filter((run) => factsOf(run).kind !== "trivial");
  return worth.length ? worth : all;
}
/** What a result has, in words; with its method and seed where another result has as much. */
export function shownTitle(run) {
  const facts = factsOf(run);
  if (!facts.K || !["trained", "untrained"].includes(facts.kind)) return runTitle(run);
  const words = (one) => `${plural(one.K || 0, "key step")}${learnedFrom(one) || " found without labels"}`;
  const alike = chosenRuns().map(factsOf).filter((one) => words(one) === words(facts));
  const apart = [alike.some(({ method, decoder }) => method !== facts.method || decoder !== facts.decoder) ? `${facts.method} / ${facts.decoder}` : "", alike.some(({ seed }) => seed !== facts.seed) ? `try ${facts.seed}` : ""].filter(Boolean);
  return `${words(facts)}${apart.length ? ` (${apart.join(", ")})` : ""}`;
}
/** A result in the name of a file: its decoder, with its method and seed where the page has others. */
export function fileWords(run) {
  const { method, decoder, seed } = factsOf(run);
  const others = chosenRuns().map(factsOf);
  const parts = [others.some((one) => one.method !== method) ? method : "", decoder, others.some((one) => one.seed !== seed) ? `seed${seed}` : ""];
  return parts.filter(Boolean).join("_").replace(/[^\w.@=,+-]/g, "-");
}
/** The result that learned from labels, or -1. */
export const labelledRun = () => DATA.runs.findIndex((_, run) => fromLabels(run) && !state.forgotten.has(run));
/** The annotated step with which a found key step is matched over all videos, 0 for background, or undefined. */
export const matchOf = (run, step) => factsOf(run).match[step];
/** Whether a result learned from annotated videos; its key steps then have the numbers and names of annotated steps. */
export const fromLabels = (run) => run >= 0 && factsOf(run).given.length > 0;
/** The segments of a video as [start, end, step] in seconds; run -1 is the annotation. */
export const segmentsOf = (video, run) => (run < 0 ? DATA.truth[video] : segmentsOfBars(bodyOf(run).segments[video]));
/** The occurrences of key steps in a video. */
export const occurrencesOf = (video, run) => occurrences(segmentsOf(video, run));
export const hasBackground = (run) => DATA.videos.some((_, at) => segmentsOf(at, run).some(([, , step]) => step === 0));
/** The place of a key step among the colours. */
export const placeOf = (run, step) => factsOf(run).colour[step];
/** The key steps of a run in the order of its procedure. */
export const inOrder = (run) => factsOf(run).order;

const keyOf = (run) => `rgwot names ${DATA.dataset}/${DATA.task}/${factsOf(run).id}/${factsOf(run).result}`;

/** The names of a run by step: the names in the file, with the changes made in this browser. */
export function namesOf(run) {
  if (!state.names.has(run)) {
    const inFile = factsOf(run).names;
    // The window saves names in the file.
    const kept = MADE ? null : recall(keyOf(run), inFile);
    state.names.set(run, kept ? kept.names : { ...inFile });
  }
  return state.names.get(run);
}

/** Names of a run's key steps that people typed; names that annotated videos gave are left out. */
const typedOf = (run) => Object.fromEntries(Object.entries(namesOf(run)).filter(([step, name]) => stepsOf(run).includes(Number(step)) && name !== factsOf(run).labels[step]));

/** The name of a step, if any; in every result, a step below 0 is an annotated step. */
export const nameOf = (run, step) => (run < 0 || step < 0 ? DATA.steps[Math.abs(step)] : namesOf(run)[step]) || "";
/** The key step that a key step is merged into: the first one with its name, or background if its name is "-". */
export function sameStep(run, step) {
  const name = run < 0 ? "" : nameOf(run, step);
  if (!name) return step;
  return name === "-" ? 0 : stepsOf(run).find((other) => nameOf(run, other) === name) ?? step;
}

/** A name, or else the number. */
export const labelOf = (run, step) => nameOf(run, step) || (step ? String(Math.abs(step)) : "-");
/** The number and the name; the name alone of a step that was learned from labels, whose number nobody chose. */
export function fullLabel(run, step) {
  if (step === 0) return "background";
  const name = nameOf(run, step);
  if (name && step > 0 && fromLabels(run)) return name;
  return `${run < 0 || step < 0 ? "annotated step" : "key step"} ${Math.abs(step)}${name ? `: ${name}` : ""}`;
}
/** A name, or else the number in words; 0 is the method's own background. */
export const stepTitle = (run, step) => nameOf(run, step) || (step ? `key step ${step}` : "background");
/** The match of a key step among the annotated ones, in words. */
export function matchInWords(run, step) {
  const match = matchOf(run, step);
  return match === undefined ? "matched to no annotated step" : match ? `matched to annotated step ${match}: ${DATA.steps[match]}` : "matched to background";
}

/**
 * The name of a key step in annotations: the name in the annotations that it was learned from, even if it was renamed
 * since, or else its own name, or "key step" with its number; "-" is background.
 */
export function stepName(run, step) {
  const own = step < 0 ? step : sameStep(run, step);
  return own ? (fromLabels(run) && factsOf(run).labels[own]) || nameOf(run, own) || `key step ${own}` : "-";
}

/** The present name, in the shown result, of the key step that has this name in annotations. */
export function calledNow(name) {
  const step = fromLabels(state.run) && stepsOf(state.run).find((own) => stepName(state.run, own) === name);
  return (step && nameOf(state.run, step)) || name;
}

/** The key step of a result that has this name in annotations; a step that the result lacks gets the next number. */
export function stepCalled(run, name) {
  if (name === "-") return 0;
  const named = Object.keys(namesOf(run)).map(Number);
  const own = [...stepsOf(run), ...named].find((step) => stepName(run, step) === name || nameOf(run, step) === name);
  if (own) return own;
  const step = Math.max(0, ...stepsOf(run), ...named, ...Object.keys(DATA.steps).map(Number)) + 1;
  state.names.set(run, { ...namesOf(run), [step]: name });
  return step;
}

export function rename(run, step, text) {
  const names = { ...namesOf(run) };
  const name = oneLine(text) || factsOf(run).labels[step];
  if (name) names[step] = name;
  else delete names[step];
  state.names.set(run, names);
  if (MADE) saveNames();
  else remember(keyOf(run), JSON.stringify({ base: factsOf(run).names, names }));
}

/** Forget what was typed in this browser; the names of the file stay. In the window all typed names are in the file. */
export function forgetTyped(run) {
  remember(keyOf(run), null);
  state.names.delete(run);
  if (!MADE) return;
  state.names.set(run, { ...factsOf(run).labels });
  saveNames();
}

/** The segments of a run by video (key step and end in milliseconds), saved so that names can be carried over. */
const segmentTexts = (run) => Object.fromEntries(Object.entries(bodyOf(run).segments)
  .filter(([, { ends }]) => ends)
  .map(([video, { ends, steps }]) => [DATA.videos[video].id, ends.map((end, at) => `${steps[at]} ${end}`).join(" ")]));

/** The entries of the file of names, including those of other results. */
function namesEntries() {
  const entries = new Map(Object.entries(DATA.typed));
  DATA.runs.forEach((facts, run) => {
    const names = typedOf(run);
    if (Object.keys(names).length) entries.set(facts.id, { result: facts.result, names, segments: segmentTexts(run) });
    else if (entries.has(facts.id) && entries.get(facts.id).result === facts.result) entries.delete(facts.id);
  });
  return entries;
}

/** The file of names. */
export const namesFile = () => namesText(namesEntries(), DATA.names_path);

/** Save the file of names, or remove it if there are none. */
function saveNames() {
  const of = Object.fromEntries(DATA.runs.map(({ id, result }, run) => [id, { result, names: typedOf(run) }]));
  DATA.typed = Object.fromEntries(namesEntries());
  save("names", Object.keys(DATA.typed).length ? namesFile() : null, { typed: DATA.typed, of });
}

/** Take the names of the file as it was read last in place of those that the page was made with. */
export function takeNames() {
  const content = contentOf("names");
  if (!content) return;
  DATA.typed = content.typed;
  DATA.runs.forEach((facts, run) => {
    const own = content.of[facts.id];
    if (own && own.result !== facts.result) return;
    facts.names = { ...facts.labels, ...own?.names };
    state.names.delete(run);
  });
}
takeNames();
filesRead.addEventListener("read", ({ detail: { kind } }) => { if (kind === "names") takeNames(); });

export function downloadNames() {
  download(namesFile(), "application/yaml", `${DATA.task}.yaml`);
  const cut = DATA.names_path.lastIndexOf("/") + 1;
  byId("names-status").textContent = `Downloaded. Move it into the folder ${DATA.names_path.slice(0, cut) || "."} (create it if it is missing) as ${DATA.names_path.slice(cut)}; then repeat the command that made this page, such as \`rgwot run first\`. Tables and figures then use the names, too.`;
}
