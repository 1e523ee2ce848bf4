// The comparison of two results in the tab of scores: their agreement, the counterpart of each key step, and
// which key steps were split or merged.

import { block, byId, make, offer, table } from "./dom.js";
import { chip, titled } from "./looks.js";
import { inOrder, runTitle, stepTitle } from "./results.js";
import { DATA } from "./state.js";
import { clock, percent, plural, score } from "./text.js";

export function startComparison() {
  const several = DATA.runs.length > 1;
  byId("compare-controls").hidden = !several;
  if (!several) return;
  for (const [id, chosen] of /** @type {const} */ ([["compare-a", 0], ["compare-b", differentFrom(0)]])) {
    offer(byId(id), DATA.runs.map((_, run) => [run, runTitle(run)]));
    byId(id).value = String(chosen);
    byId(id).addEventListener("change", drawComparison);
  }
}

/** The first result of another method or decoder, from which one learns more than from another seed. */
function differentFrom(run) {
  const { method, decoder } = DATA.runs[run];
  const other = DATA.runs.findIndex((facts) => facts.method !== method || facts.decoder !== decoder);
  return other < 0 ? 1 : other;
}

export function drawComparison() {
  const space = byId("compared");
  if (DATA.runs.length < 2) {
    space.replaceChildren(make("p", { textContent: "There is one result; with another one, the two can be compared here." }));
    return;
  }
  const [a, b] = [Number(byId("compare-a").value), Number(byId("compare-b").value)];
  const comparison = block("comparisons").find(({ pair }) => pair.includes(a) && pair.includes(b));
  if (a === b || !comparison) {
    const command = [a, b].map((run) => DATA.runs[run].folder).join(" ");
    // With many results, only the first is compared with every other.
    const many = a && b && block("comparisons").every(({ pair }) => pair.includes(0));
    const besides = DATA.runs[a].given.length + DATA.runs[b].given.length ? " besides those that a result learned from, which are not compared" : "";
    space.replaceChildren(make("p", { textContent: a === b ? "Choose two different results." : many ? `Not compared here: there are so many results that only the first is compared with every other. On a terminal: rgwot compare ${command}` : `Not compared: they have no video in common${besides}.` }));
    return;
  }
  const side = comparison.sides[comparison.pair[0] === a ? 0 : 1];
  const alone = (comparison.alone ? `; ${plural(comparison.alone, "video")} only in one of them` : "") + (comparison.labelled ? `; ${plural(comparison.labelled, "video")} left out, because a result learned from ${comparison.labelled === 1 ? "it" : "them"}` : "");
  const changes = [
    ...Object.entries(side.split).map(([step, others]) => change("Split", "A", [[a, Number(step)]], "is", others.map((other) => [b, other]), "B")),
    ...Object.entries(side.merged).map(([step, others]) => change("Merged", "A", others.map((other) => [a, other]), "are", [[b, Number(step)]], "B")),
  ];
  const rows = side.parts.map(([step, seconds, shares, kappa, segments]) => make("tr", {},
    make("td", { className: "text" }, titled(a, [[step, stepTitle(a, step)]])),
    make("td", { textContent: clock(seconds, 0) }),
    make("td", { className: "wrap text" }, titled(b, shares.map(([other, share]) => [other, `${percent(share)} ${stepTitle(b, other)}`]))),
    make("td", { textContent: kappa === null ? "" : kappa.toFixed(2) }),
    make("td", { textContent: segments === null ? "" : score(segments) })));
  space.replaceChildren(
    make("p", { id: "compare-words", textContent: `${plural(comparison.videos, "video")}, ${clock(comparison.seconds, 0)}${alone}. Adjusted Rand index ${comparison.rand.toFixed(2)} (1: the same key steps, about 0: unrelated ones). F1 after matching key steps one to one: ${score(side.macro)} (of the mean precision and recall of A's key steps), ${score(comparison.strict)} (of all time). Cohen's kappa ${comparison.kappa === null ? "none" : comparison.kappa.toFixed(2)}. F1 of segments ${comparison.segments === null ? "none" : score(comparison.segments)}: segments of a key step match if their intersection is at least half of their union.` }),
    make("h2", { textContent: "Split or merged" }),
    changes.length ? make("ul", { className: "changes" }, ...changes) : make("p", { textContent: "No key step of A is clearly split or merged in B: at least two parts would have to be a fifth of it each, and lie mostly inside it." }),
    make("h2", { textContent: "What each key step of A is in B" }),
    table("Key steps of A in B", ["Key step of A", "Time", "In B", "Kappa", "Segments"], rows),
  );
}

/** A line such as: Split: key step 2 of A is key step 7, key step 8 and key step 9 of B. */
function change(what, first, parts, verb, others, second) {
  return make("li", {}, `${what}: `, ...joinedChips(parts), ` of ${first} ${verb} `, ...joinedChips(others), ` of ${second}.`);
}

/** The chips of key steps of a result in the order of its procedure, joined by commas and "and". */
function joinedChips(steps) {
  const sorted = [...steps].sort(([run, one], [, other]) => inOrder(run).indexOf(one) - inOrder(run).indexOf(other));
  return sorted.flatMap(([run, step], at) => [at === 0 ? "" : at === sorted.length - 1 ? " and " : ", ", chip(run, step, stepTitle(run, step))]);
}
