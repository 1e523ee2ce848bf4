import assert from "node:assert/strict";
import { test } from "node:test";

import { amount, clock, csvField, fileName, inRange, listed, namesText, oneLine, percent, plural, probability, score, yamlText } from "../../../rgwot/reporting/page/parts/text.js";

test("clock carries rounded seconds into minutes", () => {
  assert.equal(clock(62.34), "1:02.3");
  assert.equal(clock(59.96), "1:00.0");
  assert.equal(clock(59.94), "0:59.9");
  assert.equal(clock(119.6, 0), "2:00");
  // As `moment` in Python rounds.
  assert.deepEqual([65.9, 59.5, 12.5].map((s) => clock(s, 0)), ["1:06", "1:00", "0:13"]);
  assert.equal(clock(0.004, 2), "0:00.00");
});

test("numbers", () => {
  assert.equal(percent(0.256), "26 %");
  assert.equal(percent(0.0123, 1), "1.2 %");
  assert.equal(score(0.1234), "12.3");
  assert.equal(plural(1, "video"), "1 video");
  assert.equal(plural(0, "video"), "0 videos");
  assert.equal(plural(2, "entry", "entries"), "2 entries");
  assert.equal(amount(12345.6), "12300");
  assert.equal(amount(0.1), "0.1");
  // Hundredths of the range can be distinguished at any level: air pressure, a count, an acceleration.
  assert.equal(inRange(1013.2512, 0.6), "1013.251");
  assert.equal(inRange(1340.2, 2000), "1340");
  assert.equal(inRange(-0.0312, 6), "-0.03");
  assert.equal(inRange(12345678, 20), "12346000");
  assert.equal(inRange(5, 0), "5");
  assert.equal(probability(0.0009), "< 0.001");
  assert.equal(probability(0.001), "0.001");
});

test("lists", () => {
  assert.equal(listed([]), "");
  assert.equal(listed(["1"]), "1");
  assert.equal(listed(["1", "2", "3"]), "1, 2 and 3");
});

test("a typed name becomes one line", () => {
  assert.equal(oneLine(" pour\n\twater\u0000 "), "pour water");
});

test("a file is named as people write the task", () => {
  assert.equal(fileName("washing%20hands", "K6.csv"), "washing hands_K6.csv");
  assert.equal(fileName("caf%e9", "K6.csv"), "caf%e9_K6.csv");
});

test("a CSV field is quoted only where it must be", () => {
  assert.equal(csvField("stir"), "stir");
  assert.equal(csvField('stir, "slowly"'), '"stir, ""slowly"""');
  assert.equal(csvField("a\nb"), '"a\nb"');
});

test("YAML escapes quotes, backslashes and what does not print", () => {
  assert.equal(yamlText('a "b" \\ 搅'), '"a \\"b\\" \\\\ 搅"');
  assert.equal(yamlText("\u202e\u2028\u0007"), '"\\U0000202e\\U00002028\\U00000007"');
});

test("the file of names is sorted by result and by number", () => {
  const entries = new Map([["b/seed0", { result: "2", names: { 10: "ten", 9: "nine" }, segments: { "0003": "9 1500 10 3000" } }], ["a/seed0", { result: "1", names: { 1: "one" }, segments: {} }]]);
  assert.equal(namesText(entries, "names/\u202ex.yaml").split("\n").slice(1).join("\n"), [
    '"a/seed0":', '  result: "1"', "  names:", '    1: "one"',
    '"b/seed0":', '  result: "2"', "  names:", '    9: "nine"', '    10: "ten"', "  segments:", '    "0003": "9 1500 10 3000"', "",
  ].join("\n"));
  assert.ok(namesText(entries, "names/\u202ex.yaml").startsWith("# Names of key steps, typed into the page of a task. Its place is names/?x.yaml\n"));
});
