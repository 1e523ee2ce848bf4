// What is new on a page of the window since the one that was shown before it in the same tab.

import { isTaught, runTitle, segmentsOf, stepName } from "./results.js";
import { mostShared, overlaps } from "./segments.js";
import { MADE } from "./server.js";
import { DATA } from "./state.js";
import { percent, plural } from "./text.js";

/** The results of this page, for the next one: segments by video, with names if labels taught them, which keep their steps. */
export const shownResults = () => ({
  made: MADE,
  runs: DATA.runs.flatMap(({ id, K, kind }, run) => (kind === "trivial" ? [] : [{
    id, K, taught: isTaught(run), segments: DATA.videos.map((video, at) => [video.id, segmentsOf(at, run).map(([start, end, step]) => [start, end, isTaught(run) ? stepName(run, step) : step])]),
  }])),
});

/** How many segments of how many videos have another step than before, and the share of time. */
export function difference(before, after, taught) {
  const pairs = after.map(([video, segments]) => /** @type {const} */ ([segments, before.find(([id]) => id === video)?.[1] || []]));
  // Without labels, every result numbers its key steps anew.
  const matched = taught ? null : mostShared(pairs.flatMap(([segments, old]) => overlaps(old, segments)));
  const same = (step, old) => (matched && step ? matched.get(step) === old : step === old);
  const told = { segments: 0, of: 0, videos: 0, share: 0 };
  let whole = 0;
  for (const [segments, old] of pairs) {
    const others = segments.map((segment) => segment[1] - segment[0] - overlaps([segment], old).filter(([step, own]) => same(step, own)).reduce((sum, [, , seconds]) => sum + seconds, 0));
    const differing = others.filter((seconds) => seconds > 0.01);
    told.segments += differing.length;
    told.of += segments.length;
    told.videos += differing.length ? 1 : 0;
    told.share += differing.reduce((sum, seconds) => sum + seconds, 0);
    whole += segments.reduce((sum, [start, end]) => sum + end - start, 0);
  }
  return { ...told, share: whole ? told.share / whole : 0 };
}

/** What is new since another page (`shownResults`), in one line; empty if it is this one. */
export function newsSince(old) {
  if (!old || old.made === MADE) return "";
  const parts = shownResults().runs.flatMap(({ id, K, taught, segments }) => {
    const title = runTitle(DATA.runs.findIndex((facts) => facts.id === id));
    const before = old.runs.find((one) => one.id === id);
    if (!before) return [`${title} is new`];
    const { segments: n, of, videos, share } = difference(before.segments, segments, taught && before.taught);
    const number = K === before.K ? "" : `${plural(K, "key step")} instead of ${before.K}; `;
    return n ? [`${title}: ${number}${n} of ${plural(of, "segment")} differ, in ${videos} of ${plural(segments.length, "video")} (${percent(share, 1)} of the time)`] : [];
  });
  return parts.length ? `New since the page before: ${parts.join("; ")}.` : "All results are those of the page before.";
}
