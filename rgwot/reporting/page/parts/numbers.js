// What another number of key steps changes, in the window: which of them split or merged, and which are there with one
// fewer and one more, too.

import { byId, make } from "./dom.js";
import { label, lookOf } from "./looks.js";
import { shot, shotsOf } from "./procedure.js";
import { factsOf, labelOf, segmentsOf, stepsOf } from "./results.js";
import { keptSteps, overlaps, segmentsOfBars, splitSteps } from "./segments.js";
import { ask, below } from "./server.js";
import { DATA } from "./state.js";
import { listed, plural } from "./text.js";

/** What is shown of a result, which an answer with another number replaces. */
export const pictured = (run) => ({
  K: factsOf(run).K,
  segments: DATA.videos.map((_, at) => segmentsOf(at, run)),
  steps: new Map(stepsOf(run).map((step) => [step, { look: lookOf(run, step), text: labelOf(run, step), shot: shotsOf(run, step)[0] }])),
});

const overlapsOf = (some, others) => some.flatMap((segments, at) => overlaps(segments, others[at]));

/** A step with a picture. */
const drawnStep = ({ steps }, step) => make("span", { className: "named" }, steps.get(step).shot ? shot(...steps.get(step).shot) : null, label(steps.get(step).look, steps.get(step).text));

const stepList = (side, steps) => steps.flatMap((step, at) => [at ? " and " : " ", drawnStep(side, step)]);

/** List the steps that split or merged between two results (`pictured`). */
export function drawSplits(before, after) {
  const pairs = overlapsOf(before.segments, after.segments);
  const [of, now] = [` of ${before.K}`, ` of ${after.K}`];
  const items = [
    ...[...splitSteps(pairs)].map(([step, parts]) => make("li", {}, "Split:", ...stepList(before, [step]), of, " is", ...stepList(after, parts), now)),
    ...[...splitSteps(pairs.map(([a, b, seconds]) => [b, a, seconds]))].map(([step, parts]) => make("li", {}, "Merged:", ...stepList(before, parts), of, " are", ...stepList(after, [step]), now)),
  ];
  byId("cut-splits").replaceChildren(items.length ? make("ul", { className: "keys" }, ...items) : make("p", { textContent: `Against ${plural(before.K, "key step")}, none was clearly split or merged: borders moved.` }));
}

/** Tell which steps of a result are there with one fewer and one more, too. */
export async function tellKept(run) {
  const own = pictured(run);
  /** @type {[number, Set<number>][]} */
  const kept = [];
  for (const K of [own.K - 1, own.K + 1].filter((other) => other > 1)) {
    byId("cut-kept").textContent = `Looking for ${plural(K, "key step")}.`;
    const { body } = await ask(below("/api/K", DATA.dataset, DATA.task, String(K)));
    if (factsOf(run).K !== own.K) return;
    kept.push([K, keptSteps(overlapsOf(own.segments, DATA.videos.map((_, at) => segmentsOfBars(body.segments[at]))))]);
  }
  const steps = stepsOf(run);
  const always = steps.filter((step) => kept.every(([, some]) => some.has(step)));
  const never = steps.filter((step) => kept.every(([, some]) => !some.has(step)));
  const told = (words, some) => (some.length ? [make("p", {}, words, ...some.flatMap((step) => [" ", drawnStep(own, step)]))] : []);
  byId("cut-kept").replaceChildren(
    make("p", { textContent: `Of ${plural(steps.length, "key step")}, ${listed(kept.map(([K, some]) => `${some.size} are there with ${K}, too`))} (three quarters of their time or more in common).` }),
    ...told("Whatever the number:", always), ...told(`With ${own.K} alone:`, never));
}
