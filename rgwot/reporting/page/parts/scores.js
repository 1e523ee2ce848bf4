// The tab of scores: all methods and seeds side by side, and whether a result collapsed.

import { byId, make, offer, scrolling, table } from "./dom.js";
import { labelsOf } from "./labels.js";
import { factsOf, runTitle } from "./results.js";
import { DATA, state } from "./state.js";
import { listed, plural, score } from "./text.js";

const METRIC_NAMES = { f1: "F1", iou: "IoU", precision: "Precision", recall: "Recall", order_distance: "Order distance (lower is better)" };
const FIGURES = { embedding: "its embeddings in the plane", plan: "the transport between two of its videos" };
const RULE_NAMES = { exact: "exact", cnc: "cnc (both ends count)" };

export function startScores() {
  const scores = DATA.scores;
  byId("score-controls").hidden = !scores;
  if (!scores) return;
  offer(byId("metric"), scores.metrics.map((metric) => [metric, METRIC_NAMES[metric] || metric]));
  offer(byId("rule"), scores.rules.map((rule) => [rule, RULE_NAMES[rule] || rule]));
  for (const id of ["metric", "rule", "seeds"]) byId(id).addEventListener("change", drawScores);
}

/** The annotated videos that a row's result learned from. */
const givenOfRow = ({ method, decoder }) => (DATA.runs.find((facts) => facts.method === method && facts.decoder === decoder) || { given: [] }).given;

export function drawScores() {
  const scores = DATA.scores;
  const space = byId("score-table");
  if (!scores) {
    space.replaceChildren(...(state.annotated ? unscored([]) : [make("p", { textContent: DATA.videos.some((_, video) => labelsOf(video).length) ? "The labels are newer than this page; the next page has the scores of what they did not teach." : "No video of this task is annotated, so there is nothing to score." })]));
    return;
  }
  const [metric, rule, every] = [byId("metric").value, byId("rule").value, byId("seeds").checked];
  const columns = scores.protocols.flatMap((protocol) => scores.backgrounds.map((background) => ({ protocol, background, key: `${protocol} ${background} ${rule} ${metric}` })))
    .filter(({ key }) => scores.rows.some(({ mean }) => mean[key] !== undefined));
  const spans = scores.protocols.map((protocol) => [protocol, columns.filter((column) => column.protocol === protocol).length]).filter(([, n]) => n);
  const best = new Map(columns.map(({ key }) => {
    // Results that learned from annotations are scored on other videos.
    const values = scores.rows.filter((row) => !givenOfRow(row).length).map(({ mean }) => mean[key]).filter((value) => value !== undefined);
    return [key, metric === "order_distance" ? Math.min(...values) : Math.max(...values)];
  }));
  const head = [
    make("tr", {}, make("th", { scope: "col", rowSpan: 2, textContent: "Method / decoder" }), ...spans.map(([protocol, n]) => make("th", { scope: "colgroup", colSpan: n, textContent: protocol }))),
    make("tr", {}, ...columns.map(({ background }) => make("th", { scope: "col", textContent: `${background} bg` }))),
  ];
  const rows = scores.rows.flatMap((row) => {
    const trivial = row.kind === "trivial";
    const cells = columns.map(({ key }) => {
      const value = row.mean[key];
      const cell = make("td", { textContent: value === undefined ? "-" : `${score(value)}${row.sd[key] === undefined ? "" : ` ± ${score(row.sd[key])}`}` });
      if (value !== undefined && value === best.get(key)) cell.classList.add("best");
      return cell;
    });
    const given = givenOfRow(row);
    const rest = DATA.videos.filter(({ id, status }) => status === "ok" && !given.includes(id)).length;
    const title = `${row.method} / ${row.decoder}${trivial ? " (trivial)" : ""}${row.n > 1 ? `, ${row.n} tries` : ""}${given.length ? `, on ${plural(rest, "video")} that did not teach it` : ""}`;
    const made = [make("tr", { className: trivial ? "trivial" : "" }, make("th", { scope: "row", textContent: title }), ...cells)];
    if (every) {
      for (const { seed, value } of row.seeds) {
        made.push(make("tr", { className: "seed" }, make("th", { scope: "row", textContent: `try ${seed}` }), ...columns.map(({ key }) => make("td", { textContent: value[key] === undefined ? "-" : score(value[key]) }))));
      }
    }
    return made;
  });
  space.replaceChildren(
    ...unscored(scores.rows),
    make("p", { className: "hint", textContent: `In percent${scores.rows.some((row) => row.n > 1) ? ", mean ± standard deviation over tries" : ""}; the best of a column is underlined; bg is background. Trivial baselines never looked at a video: a result that does not beat them under a protocol shows nothing under it. micro_video and macro_video score each video by itself, which the other tabs do not show; micro_video counts frames, macro_video takes the mean over steps. In macro_task and strict_task one matching holds for all videos; macro_task takes the mean over matched steps, strict_task counts every frame. All but strict_task ignore unmatched key steps.` }),
    scrolling("Scores", make("table", { className: "scores" }, make("thead", {}, ...head), make("tbody", {}, ...rows))),
  );
}

/** The results without scores: the command for those that can be scored, and the reason for those that cannot. */
function unscored(rows) {
  const runs = DATA.runs.filter(({ method, decoder, seed }) => !rows.some((row) => row.method === method && row.decoder === decoder && row.seeds.some((one) => one.seed === seed)));
  const [missing, never] = [true, false].map((can) => runs.filter(({ score_file: file }) => Boolean(file) === can));
  return [
    missing.length ? `Not scored; ask for the scores, then for this page: ${missing.map(({ id, score_file: file }) => `${id}: rgwot run ${file}`).join("; ")}` : "",
    ...never.map(({ id, given, learned_from }) => (given.length ? `${id} has no score, because it learned from every annotated video. ${learned_from}` : `${id} has no score: none of the videos that are scored is annotated.`)),
  ].filter(Boolean).map((text) => make("p", { className: "notice", textContent: text }));
}

export function drawTraining() {
  const links = Object.entries(factsOf(state.run).figures).map(([name, href]) => make("a", { href, textContent: FIGURES[name] }));
  byId("figures").hidden = links.length === 0;
  byId("figures").replaceChildren("Figures of this result: ", ...links.flatMap((link, at) => (at ? [", ", link] : [link])));
  const headings = [...new Set(DATA.runs.flatMap(({ soundness }) => Object.keys(soundness)))].filter((heading) => heading !== "Notes");
  const rows = DATA.runs.map(({ soundness }, run) => make("tr", {},
    make("th", { scope: "row", textContent: runTitle(run) }),
    ...headings.map((heading) => make("td", { className: "text", textContent: soundness[heading] || "" }))));
  byId("soundness").replaceChildren(table("Collapse", ["Result", ...headings], rows));
  // A reason that holds for several results is given once.
  const notes = new Map();
  DATA.runs.forEach(({ soundness: { Notes: note } }, run) => { if (note) notes.set(note, [...(notes.get(note) || []), runTitle(run)]); });
  byId("soundness-notes").replaceChildren(...[...notes].map(([note, titles]) => make("p", { className: "hint", textContent: `${listed(titles)}: ${note}` })));
  const words = byId("curve-words");
  if (!words) return;
  const ends = DATA.curves.map(({ method, seed, loss }) => `${method}, try ${seed}: loss ${loss[0].toPrecision(3)} at first, ${loss[loss.length - 1].toPrecision(3)} in the end`);
  words.textContent = `${ends.join("; ")}. Means over 1/200 of the iterations.`;
  byId("curves").alt = `Training curves. ${words.textContent}`;
}
