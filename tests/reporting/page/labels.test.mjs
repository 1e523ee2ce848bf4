import assert from "node:assert/strict";
import test from "node:test";
import { beginStep, moveEnd, moveStart, reached } from "../../../rgwot/reporting/page/parts/segments.js";
import { keyFor } from "../../../rgwot/reporting/page/parts/text.js";

test("keys of a video that plays make segments one after the other", () => {
  let rows = beginStep([], 1000, "pour", 10000);
  assert.deepEqual(rows, [[1000, 1200, "pour"]]);
  rows = beginStep(rows, 4000, "stir", 10000);
  assert.deepEqual(rows, [[1000, 4000, "pour"], [4000, 4200, "stir"]]);
  rows = beginStep(reached(rows, 6000), 6000, "-", 10000);
  assert.deepEqual(rows, [[1000, 4000, "pour"], [4000, 6000, "stir"], [6000, 6200, "-"]]);
  assert.deepEqual(reached(rows, 10000)[2], [6000, 10000, "-"]);
});

test("a step that is begun inside another lasts to its end, and equal neighbours become one", () => {
  const rows = [[0, 4000, "pour"], [4000, 6000, "stir"]];
  assert.deepEqual(beginStep(rows, 2000, "-", 10000), [[0, 2000, "pour"], [2000, 4000, "-"], [4000, 6000, "stir"]]);
  assert.deepEqual(beginStep(rows, 4000, "pour", 10000), [[0, 6000, "pour"]]);
  assert.deepEqual(beginStep(rows, 2000, "stir", 10000), [[0, 2000, "pour"], [2000, 6000, "stir"]]);
});

test("marks stay, no row gets lost, and nothing lasts longer than the video", () => {
  const rows = [[0, 1000, "pour"], [500, 500, "stir"]];
  assert.deepEqual(beginStep(rows, 9900, "stir", 10000), [[0, 9900, "pour"], [9900, 10000, "stir"], [500, 500, "stir"]]);
  assert.equal(beginStep([], 10000, "pour", 10000).length, 0);
  assert.deepEqual(reached([[0, 1000, "pour"], [3000, 4000, "stir"]], 3500)[0], [0, 1000, "pour"]);
});

test("borders are moved between their neighbours", () => {
  const rows = [[0, 1000, "pour"], [1000, 2000, "stir"], [3000, 4000, "pour"]];
  assert.deepEqual(moveStart(rows, 1, 500), [[0, 500, "pour"], [500, 2000, "stir"], [3000, 4000, "pour"]]);
  assert.deepEqual(moveStart(rows, 1, -5)[0], [0, 1, "pour"]);
  assert.deepEqual(moveEnd(rows, 0, 1500, 5000), [[0, 1500, "pour"], [1500, 2000, "stir"], [3000, 4000, "pour"]]);
  assert.deepEqual(moveEnd(rows, 1, 9000, 5000)[1], [1000, 3000, "stir"]);
  assert.deepEqual(moveEnd(rows, 2, 9000, 5000)[2], [3000, 5000, "pour"]);
  assert.deepEqual(moveStart(rows, 2, 100)[2], [2000, 4000, "pour"]);
});

test("keys are given in turn, digits first, none twice", () => {
  assert.equal(keyFor([]), "1");
  assert.equal(keyFor(["1", "3"]), "2");
  assert.equal(keyFor([..."123456789"]), "a");
  assert.equal(keyFor([..."123456789abcdefghijklmnopqrstuvwxyz"]), "");
});
