// How long steps take, and how long videos spend on them: two tables and a file. Only occurrences of key steps count.

import { download, make, table } from "./dom.js";
import { chip } from "./looks.js";
import { fileWords, inOrder, nameOf, occurrencesOf, sameStep } from "./results.js";
import { budgetLines, lengthsOf, spreadOf } from "./segments.js";
import { DATA, state } from "./state.js";
import { csvField, fileName, percent, seconds } from "./text.js";

/** Largest number of columns; wider tables are unreadable, and the file has everything. */
const MOST_COLUMNS = 20;

/** The usable videos with the occurrences of their key steps; steps of the same name count as one. */
const timesOf = (run) => DATA.videos.map((video, at) => ({ ...video, at })).filter(({ status }) => status !== "skipped")
  .map(({ at, name, id, duration }) => ({ name, id, duration, events: occurrencesOf(at, run).map(([start, end, step]) => [start, end, sameStep(run, step)]) }));

export function drawBudget(space) {
  const { run } = state;
  const videos = timesOf(run);
  const steps = inOrder(run).filter((step) => sameStep(run, step) === step);
  const whole = videos.reduce((sum, { duration }) => sum + duration, 0);
  const rows = steps.map((step) => {
    const lengths = lengthsOf(videos, step);
    const { n, mean, sd } = spreadOf(lengths);
    const total = n * mean;
    return make("tr", {}, make("td", {}, chip(run, step)),
      ...[String(n), n ? `${seconds(mean)}${sd === null ? "" : ` ± ${seconds(sd)}`}` : "", n ? `${seconds(Math.min(...lengths))} to ${seconds(Math.max(...lengths))}` : "", percent(total / whole)].map((textContent) => make("td", { textContent })));
  });
  const wide = steps.length <= MOST_COLUMNS;
  const times = videos.map((video) => {
    const perStep = steps.map((step) => lengthsOf([video], step).reduce((sum, length) => sum + length, 0));
    return { ...video, perStep, rest: video.duration - perStep.reduce((sum, length) => sum + length, 0) };
  });
  // What would be written as 0.0 is left out, also if it is there by rounding alone.
  const written = (s) => (s >= 0.05 ? seconds(s) : "");
  const rested = times.some(({ rest }) => written(rest));
  const perVideo = times.map(({ name, perStep, rest, duration }) => make("tr", {}, make("td", { textContent: name }),
    ...[...(wide ? perStep : []), ...(rested ? [rest] : []), duration].map((s) => make("td", { textContent: written(s) }))));
  const save = make("button", { type: "button", textContent: "Download all times (CSV)" });
  save.addEventListener("click", () => download(budgetLines(videos, steps, (step) => csvField(nameOf(run, step)), csvField).join("\n"), "text/csv", fileName(DATA.task, `${fileWords(run)}_times.csv`)));
  space.replaceChildren(space.firstElementChild,
    make("p", { className: "hint", textContent: "Seconds of an occurrence, mean ± standard deviation over n occurrences in all videos; segments that do not count are left out." }),
    table("Times of steps", ["Key step", "n", "Mean ± sd (s)", "From, to (s)", "Share of all time"], rows),
    make("p", { className: "hint", textContent: `Seconds of each video${wide ? " by key step" : ""}${rested ? "; rest is time without a key step that counts" : ""}.` }),
    table("Times of videos", ["Video", ...(wide ? steps.map((step) => nameOf(run, step) || String(step)) : []), ...(rested ? ["Rest"] : []), "All"], perVideo),
    make("p", { className: "controls" }, save));
}

/** Draw the times when they are opened, and anew when names change. */
export function startBudget(article) {
  const space = article.querySelector(".budget");
  space?.addEventListener("toggle", () => { if (space.open) drawBudget(space); });
}
