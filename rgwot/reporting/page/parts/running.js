// The progress of a run of the workflow in words. All functions are pure.

import { clock, plural } from "./text.js";

/** The progress of a video or training in words, with the time left. */
export const noteInWords = ({ title, done, total, unit, left_s: left }) => `${title}: ${done} of ${plural(total, unit)}, ${clock(left, 0)} left`;

/** About how long the first answer still takes. */
const leftInWords = (seconds) => `${seconds < 50 ? "less than a minute" : `about ${Math.round(seconds / 60)} min`} left of the whole first answer`;

/** The jobs at work in one line; empty if there are none. */
export function runInWords(run) {
  if (run.at_work) {
    const stage = run.stage ? `: ${run.stages[run.stage - 1]} (stage ${run.stage} of ${run.stages.length})` : "";
    return `Working for ${clock(run.seconds, 0)}${stage}${run.steps ? `, ${run.done} of ${plural(run.steps, "job")} done` : ""}${run.left_s == null ? "" : `; ${leftInWords(run.left_s)}`}.`;
  }
  if (run.locked) return "Another run is at work on this study, in a terminal or on a cluster, or one was killed. You can go on annotating; results follow when it has ended. If none runs, type rgwot run --unlock.";
  if (run.fault) return `The last run failed: ${run.fault}`;
  if (run.cancelled) return "The run was cancelled.";
  return run.waiting ? "A run begins soon, which writes the results of your changes." : "";
}
