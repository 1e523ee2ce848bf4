// Answers of the server while the page is open: results that it computed from labels, or with another number of key
// steps, are put among the results of the page.

import { block, byId, setBlock } from "./dom.js";
import { colourOfName } from "./looks.js";
import { namesOf, stepName } from "./results.js";
import { canBeCancelled, runInWords } from "./running.js";
import { mostShared, overlaps, segmentsOfBars } from "./segments.js";
import { ask, below, MADE, watchServer } from "./server.js";
import { DATA, state } from "./state.js";

/**
 * Sends "state" with the state of the server, and "answer" with the number of a result, `run`. For a result that was
 * `learned` from labels, and not asked for by a person, `isNew` is whether the page did not have it yet. One that the page
 * before showed is `restored`: it is not chosen thereby.
 */
export const live = new EventTarget();

/**
 * Colour the steps of an answer by their names, so that a name has the same colour in all answers. If an answer has no
 * names, a step gets the colour of the step of the first result with which it shares most time, one to one.
 */
function colourAnswer(facts, run, { segments }) {
  if (run === 0) return;
  if (facts.given.length) {
    for (const step of facts.steps) {
      facts.colour[step] = colourOfName(stepName(run, step));
      state.colours.set(step, facts.colour[step]);
    }
    return;
  }
  const first = DATA.runs[0];
  const matched = mostShared(Object.entries(segments).flatMap(([video, bars]) => overlaps(segmentsOfBars(block("run-0").segments[video]), segmentsOfBars(bars))));
  const taken = new Set([...matched.values()].map((step) => first.colour[step]));
  let next = 1;
  for (const step of facts.steps) {
    while (!matched.has(step) && taken.has(next)) next += 1;
    facts.colour[step] = matched.has(step) ? first.colour[matched.get(step)] : next;
    taken.add(facts.colour[step]);
  }
}

/** Put an answer among the results, in place of the one with its id; returns the number of the result. */
export function putAnswer({ facts, body, picture, truth, steps, status }) {
  const known = DATA.runs.findIndex(({ id }) => id === facts.id);
  const run = known < 0 ? DATA.runs.length : known;
  const same = known >= 0 && DATA.runs[run].result === facts.result;
  // Names that were typed while the answer was on its way stay with the labels that they replaced.
  const typed = Object.entries(state.names.get(run) || {}).map(([step, name]) => [DATA.runs[run].labels[step], name]);
  DATA.runs[run] = facts;
  state.forgotten.delete(run);
  setBlock(`run-${run}`, body);
  // Typical frames belong to another answer; the tree does not depend on the answer.
  const view = block(`view-${run}`) || block("view-0");
  if (!same) setBlock(`view-${run}`, view && { ...view, typical: [] });
  Object.assign(DATA, { truth, steps });
  DATA.videos.forEach((video, at) => [video.status, video.reason] = status[at]);
  state.names.delete(run);
  const kept = typed.flatMap(([label, name]) => Object.keys(facts.labels).filter((step) => label && facts.labels[step] === label).map((step) => [step, name]));
  if (kept.length) state.names.set(run, { ...namesOf(run), ...Object.fromEntries(kept) });
  if (!state.annotated) colourAnswer(facts, run, body);
  document.querySelector(`.procedure[data-run="${run}"]`)?.remove();
  // The template of the page made this markup and escaped every text in it; a script in it would not run either.
  const drawn = new DOMParser().parseFromString(picture, "text/html").querySelector(".procedure");
  drawn.dataset.run = String(run);
  byId("procedure").prepend(drawn);
  return run;
}

/** Remove the results that learned from labels, because there are no labels any more. */
function forgetTaught() {
  DATA.runs.forEach(({ given }, run) => { if (given.length) state.forgotten.add(run); });
  state.annotated = false;
  DATA.true_procedures = [];
}

/**
 * From the last answer of the server: what it changed, as spans in milliseconds by video id (`changed`) and as a
 * `share` of all samples; and whether the last answers changed little (`settled`).
 */
export let latest = { changed: {}, share: null, settled: false };

let answerVersion = 0;
let fetching = false;
async function learn(server) {
  if (fetching || !server || server.version === answerVersion) return;
  fetching = true;
  try {
    const answer = await ask(below("/api/answer", DATA.dataset, DATA.task));
    answerVersion = answer.version;
    if (answer.facts) {
      latest = answer;
      if (!answer.facts.given.length) forgetTaught();
      const before = DATA.runs.find(({ id }) => id === answer.facts.id)?.result;
      live.dispatchEvent(new CustomEvent("answer", { detail: { run: putAnswer(answer), learned: true, isNew: before !== answer.facts.result } }));
    }
  } catch {
    // The next state reports this and asks again.
  }
  fetching = false;
}

function showState(server) {
  byId("gone").hidden = server !== null;
  if (!server) return false;
  const shownTask = (server.tasks || []).find(({ dataset, task }) => dataset === DATA.dataset && task === DATA.task);
  const answer = (server.answers || {})[`${DATA.dataset}/${DATA.task}`];
  byId("many-windows").hidden = !(server.windows > 1);
  byId("newer").hidden = !shownTask || !shownTask.made || shownTask.made === MADE;
  const lines = [answer?.working ? "Learning from your labels." : answer?.waiting ? "Your labels are learned in a moment, from files that are being written." : "", answer?.fault || "", server.run ? runInWords(server.run) : "", server.problem || ""];
  byId("running").textContent = lines.filter(Boolean).join(" ");
  byId("cancel").hidden = !server.run || !canBeCancelled(server.run);
  live.dispatchEvent(new CustomEvent("state", { detail: server }));
  learn(answer);
  return Boolean(answer?.working);
}

export function startLive() {
  if (MADE) watchServer(showState);
}
