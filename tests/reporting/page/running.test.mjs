import assert from "node:assert/strict";
import { test } from "node:test";

import { runInWords } from "../../../rgwot/reporting/page/parts/running.js";

const RUN = { at_work: true, seconds: 62, done: 1, steps: 12, stage: 1, stages: ["reading the videos", "finding key steps"], left_s: 170 };

test("a run tells its stage and the time left of the whole, if it is known", () => {
  assert.equal(runInWords(RUN), "Working for 1:02: reading the videos (stage 1 of 2), 1 of 12 jobs done; about 3 min left of the whole first answer.");
  assert.match(runInWords({ ...RUN, left_s: 20 }), /less than a minute left/);
  assert.equal(runInWords({ ...RUN, stage: 0, left_s: null }), "Working for 1:02, 1 of 12 jobs done.");
});
