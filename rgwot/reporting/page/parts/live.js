// Answers of the server while the page is open: results that it computed from labels, or with another number of key steps,
// take their place among the results of the page.

import { block, byId, setBlock } from "./dom.js";
import { colourOfName } from "./looks.js";
import { stepName } from "./results.js";
import { runInWords } from "./running.js";
import { overlaps, segmentsOfBars } from "./segments.js";
import { ask, below, MADE, watchServer } from "./server.js";
import { DATA, state } from "./state.js";

/** Sends "answer" (with the number of the result) when a result is new, and "state" with what the server says of itself. */
export const live = new EventTarget();

const ANNOTATED_AT_OPENING = Object.keys(DATA.steps).length > 0;

/**
 * Give the steps of an answer their colours: by name, so that a name has one colour in all answers; a step of an answer
 * without names has that of the step of the first result with which it shares most time, one to one.
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
  const common = new Map();
  for (const [video, own] of Object.entries(segments)) {
    for (const [a, b, seconds] of overlaps(segmentsOfBars(block("run-0").segments[video]), segmentsOfBars(own))) common.set(`${a} ${b}`, (common.get(`${a} ${b}`) || 0) + seconds);
  }
  const matched = new Map();
  for (const [pair] of [...common].sort((one, other) => other[1] - one[1])) {
    const [a, b] = pair.split(" ").map(Number);
    if (a && b && !matched.has(b) && ![...matched.values()].includes(a)) matched.set(b, a);
  }
  const taken = new Set([...matched.values()].map((step) => first.colour[step]));
  let next = 1;
  for (const step of facts.steps) {
    while (!matched.has(step) && taken.has(next)) next += 1;
    facts.colour[step] = matched.has(step) ? first.colour[matched.get(step)] : next;
    taken.add(facts.colour[step]);
  }
}

