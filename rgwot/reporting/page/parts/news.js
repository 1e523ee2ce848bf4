// What is new on a page of the window since the one that was shown before it in the same tab.

import { fromLabels, runTitle, segmentsOf, stepName } from "./results.js";
import { difference } from "./segments.js";
import { MADE } from "./server.js";
import { DATA } from "./state.js";
import { percent, plural } from "./text.js";
import { lookedAt } from "./tree.js";

/** The results of this page, for the next one: segments by video, with names if they were learned from labels, which keep their steps. */
export const shownResults = () => ({
  made: MADE,
  runs: DATA.runs.flatMap(({ id, K, kind }, run) => (kind === "trivial" ? [] : [{
    id, K, labelled: fromLabels(run), segments: DATA.videos.map((video, at) => [video.id, segmentsOf(at, run).map(([start, end, step]) => [start, end, fromLabels(run) ? stepName(run, step) : step])]),
  }])),
});

/** What is new since another page (`shownResults`), by the id of a result; null without another page. */
export function newsSince(old) {
  if (!old || old.made === MADE) return null;
  return new Map(shownResults().runs.flatMap(({ id, K, labelled, segments }) => {
    const title = runTitle(DATA.runs.findIndex((facts) => facts.id === id));
    const before = old.runs.find((one) => one.id === id);
    if (!before) return [[id, `${title} is new`]];
    // The page before showed a number that is not in use, and this one will, too.
    if (K !== before.K && before.K === lookedAt()) return [];
    const { segments: n, of, videos, share } = difference(before.segments, segments, labelled && before.labelled);
    const number = K === before.K ? "" : `${plural(K, "key step")} instead of ${before.K}; `;
    return n ? [[id, `${title}: ${number}${n} of ${plural(of, "segment")} differ, in ${videos} of ${plural(segments.length, "video")} (${percent(share, 1)} of the time)`]] : [];
  }));
}

/** News (`newsSince`) in one line; empty if there is no page before. */
export const newsInWords = (news) => (!news ? "" : news.size ? `New since the page before: ${[...news.values()].join("; ")}.` : "All results are those of the page before.");
