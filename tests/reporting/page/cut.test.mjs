import assert from "node:assert/strict";
import { test } from "node:test";

import { cutSegments, cutTable, cutTree, explainedShare, firstLeaf, letterOf, mergeLines } from "../../../rgwot/reporting/page/parts/cut.js";

// Leaves 0 and 2 merge into 4, leaves 1 and 3 into 5, and 4 and 5 into 6.
const TREE = {
  leaves: [{}, {}, {}, {}],
  merges: [[0, 2, 0.1], [1, 3, 0.2], [4, 5, 0.5]],
  videos: { a: { ends: [1000, 2000, 3500], leaves: [0, 2, 1] } },
};

test("a cut makes the first merges, and numbers key steps by their first leaf", () => {
  assert.deepEqual(cutTree(TREE, 4), [1, 2, 3, 4]);
  assert.deepEqual(cutTree(TREE, 3), [1, 2, 1, 3]);
  assert.deepEqual(cutTree(TREE, 2), [1, 2, 1, 2]);
  assert.deepEqual(cutTree(TREE, 1), [1, 1, 1, 1]);
});

test("adjoining segments of one key step are joined", () => {
  assert.deepEqual(cutSegments(TREE.videos.a, cutTree(TREE, 2)), [[0, 2, 1], [2, 3.5, 2]]);
  assert.deepEqual(cutSegments(TREE.videos.a, cutTree(TREE, 4)), [[0, 1, 1], [1, 2, 3], [2, 3.5, 2]]);
  assert.equal(cutTable(TREE, 2), "video,scope,start_s,end_s,key_step\na,task,0,2,1\na,task,2,3.5,2\n");
});

test("each merge that is not made explains its share", () => {
  assert.equal(explainedShare(TREE, 1), 0);
  assert.equal(explainedShare(TREE, 2), 0.5);
  assert.ok(Math.abs(explainedShare(TREE, 4) - 0.8) < 1e-12);
});

test("the first leaf of a cluster is found through its merges", () => {
  assert.equal(firstLeaf(TREE, 3), 3);
  assert.equal(firstLeaf(TREE, 5), 1);
  assert.equal(firstLeaf(TREE, 6), 0);
});

test("merges are drawn from the leaves at the right to one cluster at the left", () => {
  assert.deepEqual(mergeLines(TREE, 900, 10), ["M900 5H600V25H900", "M900 15H300V35H900", "M600 15H0V25H300"]);
});

test("key steps of a cut have letters, and not the numbers of other key steps", () => {
  assert.deepEqual([1, 2, 26, 27, 28, 52, 53].map(letterOf), ["A", "B", "Z", "AA", "AB", "AZ", "BA"]);
});
