import assert from "node:assert/strict";
import { test } from "node:test";

import { canBeCancelled, runInWords } from "../../../rgwot/reporting/page/parts/running.js";

const RUN = { at_work: true, seconds: 62, done: 1, steps: 12, stage: 1, stages: ["reading the videos", "finding key steps"], left_s: 170, read: [3, 8] };

test("a first answer tells its stage, the videos that are read, and the time left if it is known", () => {
  assert.equal(runInWords(RUN, true), "First answer: reading the videos, 3 of 8 (1:02 so far, about 3 min left).");
  assert.match(runInWords({ ...RUN, left_s: 20 }, true), /less than a minute left/);
  assert.equal(runInWords({ ...RUN, stage: 2, left_s: null, read: [0, 0] }, true), "First answer: finding key steps (1:02 so far).");
});

test("a later run updates the results, and reads no video that is read", () => {
  assert.equal(runInWords({ ...RUN, stage: 2, left_s: null }), "Updating the results: finding key steps (1:02 so far).");
  for (const read of [[8, 8], [0, 0]]) assert.doesNotMatch(runInWords({ ...RUN, read, left_s: null }), /reading/);
  assert.equal(runInWords({ ...RUN, stage: 0, steps: 0, done: 0, left_s: null }), "Looking for what has changed (1:02 so far).");
});

test("a run whose jobs are all done cannot be cancelled, and does not seem to work", () => {
  assert.deepEqual([RUN, { ...RUN, done: 12 }, { ...RUN, steps: 0, done: 0 }, { ...RUN, at_work: false }].map(canBeCancelled), [true, false, true, false]);
  assert.equal(runInWords({ ...RUN, done: 12 }), "The results are written.");
});
