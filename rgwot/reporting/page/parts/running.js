// The progress of a run of the workflow in words. All functions are pure.

import { clock, plural } from "./text.js";

/** A video or training at work, with the seconds left. */
export const noteInWords = ({ title, done, total, unit, left_s: left }) => `${title}: ${done} of ${plural(total, unit)}, ${clock(left, 0)} left`;

/** The jobs at work in one line; empty if there are none. */
export function runInWords(run) {
  if (run.at_work) return `Working for ${clock(run.seconds, 0)}${run.steps ? `, ${run.done} of ${plural(run.steps, "job")} done` : ""}.`;
  if (run.locked) return "Another run is at work on this study, in a terminal or on a cluster, or one was killed. You can go on annotating; results follow when it has ended. If none runs, type rgwot run --unlock.";
  if (run.fault) return `The last run failed: ${run.fault}`;
  if (run.cancelled) return "The run was cancelled.";
  return run.waiting ? "A run begins soon, which writes the results of your changes." : "";
}
