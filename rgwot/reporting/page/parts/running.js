// The progress of a run of the workflow in words. All functions are pure.

import { clock, plural } from "./text.js";

/** The progress of a video or training in words, with the time left. */
export const noteInWords = ({ title, done, total, unit, left_s: left }) => `${title}: ${done} of ${plural(total, unit)}, ${clock(left, 0)} left`;

/** About how long a run still takes. */
const leftInWords = (seconds) => `${seconds < 50 ? "less than a minute" : `about ${Math.round(seconds / 60)} min`} left`;

/** What a run is doing; a later one begins with the first stage, too, if all videos are read. */
function stageInWords({ stage, stages, read: [read, all] }, isFirst) {
  if (stage !== 1) return stages[stage - 1];
  if (read < all) return `${stages[0]}, ${read} of ${all}`;
  return isFirst ? stages[0] : "looking at videos and labels";
}

/** Whether a run can be cancelled: not when only its end is left. */
export const canBeCancelled = ({ at_work: atWork, done, steps }) => Boolean(atWork) && !(steps && done >= steps);

/** What runs do in one line, the first one (which finds the first answer) or a later one; empty if there is nothing to say. */
export function runInWords(run, isFirst = false) {
  if (run.at_work) {
    if (!canBeCancelled(run)) return "The results are written.";
    const what = run.stage ? `${isFirst ? "First answer" : "Updating the results"}: ${stageInWords(run, isFirst)}` : isFirst ? "Beginning with the first answer" : "Looking for what has changed";
    return `${what} (${clock(run.seconds, 0)} so far${run.left_s == null ? "" : `, ${leftInWords(run.left_s)}`}).`;
  }
  if (run.locked) return "Another run is at work on this study, in a terminal or on a cluster, or one was killed. You can go on annotating; results follow when it has ended. If none runs, type rgwot run --unlock.";
  if (run.fault) return `The last ${isFirst ? "run" : "update of the results"} failed: ${run.fault}`;
  if (run.cancelled) return isFirst ? "The first answer was cancelled." : "The update of the results was cancelled; the next change begins another one. What you labelled is saved.";
  return run.waiting ? "The results are updated soon." : "";
}
