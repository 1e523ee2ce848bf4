// Segments of videos: reading, summarising and editing them. All functions are pure. Segments are [start, end, step]
// in seconds; a mark has equal start and end. A segment that does not count as an occurrence of its key step has a
// fourth entry: the key step that it shows instead, or 0. Rows are the same in milliseconds, first the segments,
// without gaps, then the marks; they are never changed in place.

const TICKS = [0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];
/** A video with more segments than this is summarised by its order instead. */
const MOST_COMING = 40;

/** Turn stored bars (`ends` in milliseconds, and key `steps`) into segments [start, end, step] in seconds. */
export function segmentsOfBars(bars) {
  if (!bars || bars.many) return [];
  const { ends, steps, shows = {} } = bars;
  return steps.map((step, at) => [at ? ends[at - 1] / 1000 : 0, ends[at] / 1000, step, ...(at in shows ? [shows[at]] : [])]);
}

/** The occurrences of key steps among segments: segments that count, joined if only uncounted ones are between them. */
export function occurrences(segments) {
  const found = [];
  let between = null;
  for (const [start, end, step, shows = step] of segments) {
    const last = found[found.length - 1];
    if (!shows) between = step && between !== null ? true : null;
    else if (between && last[2] === shows) last[1] = end;
    else found.push([start, end, shows]);
    if (shows) between = false;
  }
  return found;
}

/** Whether no two key steps come in both orders; the orders may lack different key steps. */
export function isOneOrder(orders) {
  const pairs = new Set(orders.flatMap((order) => order.flatMap((first, at) => order.slice(at + 1).map((later) => `${first} ${later}`))));
  return [...pairs].every((pair) => !pairs.has(pair.split(" ").reverse().join(" ")));
}

/** The results whose bars are drawn, the chosen result first; `which` is "one", "seeds", "methods" or "all". */
export function drawnRuns(runs, chosen, which) {
  const same = (a, b) => runs[a].method === runs[b].method && runs[a].decoder === runs[b].decoder;
  const firstSeed = (run) => runs.findIndex((_, other) => same(other, run)) === run;
  const rule = {
    one: () => false,
    seeds: (run) => same(run, chosen),
    methods: (run) => !same(run, chosen) && firstSeed(run),
    all: () => true,
  }[which];
  return [chosen, ...runs.keys()].filter((run, at) => at === 0 || (run !== chosen && rule(run)));
}

/** The key steps of events [start, end, step] without background; the `order` if there are none or too many. */
export function comingSteps(events, order) {
  // Touching events of one step are one; with something in between they count as often as they occur.
  const coming = events.filter(([start, , step], at) => step && !(at && events[at - 1][2] === step && events[at - 1][1] === start)).map(([, , step]) => step);
  return coming.length && coming.length <= MOST_COMING ? coming : order;
}

/** The number of occurrences, the seconds and the videos of every key step, from the occurrences in all videos. */
export function stepNumbers(steps, videos) {
  const numbers = new Map(steps.map((step) => [step, { segments: 0, seconds: 0, videos: 0 }]));
  for (const segments of videos) {
    for (const step of new Set(segments.map((segment) => segment[2]))) if (numbers.has(step)) numbers.get(step).videos += 1;
    for (const [start, end, step] of segments) {
      if (!numbers.has(step)) continue;
      numbers.get(step).segments += 1;
      numbers.get(step).seconds += end - start;
    }
  }
  return numbers;
}

/** The distance and the times, in seconds, of at most `most` ticks below an axis.
 * @returns {[number, number[]]} */
export function tickTimes(duration, most) {
  const step = TICKS.find((size) => duration / size <= most) || 7200;
  return [step, Array.from({ length: Math.floor((0.97 * duration) / step) + 1 }, (_, n) => n * step)];
}

/** The times that the segments of two segmentations of a video have in common, as [step, other step, seconds]. */
export const overlaps = (segments, others) => segments.flatMap(([start, end, step]) => others
  .map(([from, to, other]) => [step, other, Math.min(end, to) - Math.max(start, from)]).filter(([, , seconds]) => seconds > 0));

/** For each step of one segmentation, the step of another that shares most time with it, one to one (`overlaps`). */
export function mostShared(pairs) {
  const common = new Map();
  for (const [a, b, seconds] of pairs) if (a && b) common.set(`${a} ${b}`, (common.get(`${a} ${b}`) || 0) + seconds);
  const matched = new Map();
  for (const [pair] of [...common].sort((one, other) => other[1] - one[1])) {
    const [a, b] = pair.split(" ").map(Number);
    if (!matched.has(b) && ![...matched.values()].includes(a)) matched.set(b, a);
  }
  return matched;
}

/**
 * Compare two lists of [video, segments]: how many of the segments (`segments` of `of`), in how many `videos`, have
 * another step than before, and the `share` of time that has.
 */
export function difference(before, after, named) {
  const pairs = after.map(([video, segments]) => /** @type {const} */ ([segments, before.find(([id]) => id === video)?.[1] || []]));
  // Without names, every result numbers its key steps anew.
  const matched = named ? null : mostShared(pairs.flatMap(([segments, old]) => overlaps(old, segments)));
  const same = (step, old) => (matched && step ? matched.get(step) === old : step === old);
  const found = { segments: 0, of: 0, videos: 0, share: 0 };
  let [differing, whole] = [0, 0];
  for (const [segments, old] of pairs) {
    const others = segments.map((segment) => segment[1] - segment[0] - overlaps([segment], old).filter(([step, own]) => same(step, own)).reduce((sum, [, , seconds]) => sum + seconds, 0)).filter((seconds) => seconds > 0.01);
    found.segments += others.length;
    found.of += segments.length;
    found.videos += others.length ? 1 : 0;
    differing += others.reduce((sum, seconds) => sum + seconds, 0);
    whole += segments.reduce((sum, [start, end]) => sum + end - start, 0);
  }
  return { ...found, share: whole ? differing / whole : 0 };
}

/** The times of `overlaps` by pair of steps, and of each step on either side. */
function sums(pairs) {
  const [both, first, second] = [new Map(), new Map(), new Map()];
  const add = (map, key, seconds) => map.set(key, (map.get(key) || 0) + seconds);
  for (const [a, b, seconds] of pairs) {
    add(both, `${a} ${b}`, seconds);
    add(first, a, seconds);
    add(second, b, seconds);
  }
  return { both: [...both].map(([pair, seconds]) => [...pair.split(" ").map(Number), seconds]), first, second };
}

/**
 * The parts of split steps, by step, from `overlaps`: more than half of each is inside the step, and at least two of
 * them cover a fifth of it each.
 */
export function splitSteps(pairs) {
  const { both, first, second } = sums(pairs);
  const parts = new Map();
  for (const [a, b, seconds] of both) if (a && b && seconds > 0.5 * second.get(b)) parts.set(a, [...(parts.get(a) || []), [b, seconds]]);
  const split = [...parts].filter(([a, of]) => of.filter(([, seconds]) => seconds >= 0.2 * first.get(a)).length > 1);
  return new Map(split.map(([a, of]) => [a, of.map(([b]) => b)]));
}

/** The steps whose common time with a step of another result is at least three quarters of their union (`overlaps`). */
export function keptSteps(pairs) {
  const { both, first, second } = sums(pairs);
  return new Set(both.filter(([a, b, seconds]) => a && b && seconds >= 0.75 * (first.get(a) + second.get(b) - seconds)).map(([a]) => a));
}

/** The lengths in seconds of all occurrences of a step in videos with `events` [start, end, step]. */
export const lengthsOf = (videos, step) => videos.flatMap(({ events }) => events.filter((event) => event[2] === step).map(([start, end]) => end - start));

/** Number, mean and standard deviation (n - 1) of values; the deviation is null for fewer than two values. */
export function spreadOf(values) {
  const n = values.length;
  const mean = n ? values.reduce((sum, value) => sum + value, 0) / n : 0;
  const sd = n > 1 ? Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1)) : null;
  return { n, mean, sd };
}

/** The times of videos as lines of a table: a row per video and step, and a row for other time, which is key step 0. */
export function budgetLines(videos, steps, nameOfStep, field) {
  const lines = videos.flatMap((video) => {
    const own = steps.map((step) => lengthsOf([video], step));
    const sums = own.map((lengths) => lengths.reduce((sum, length) => sum + length, 0));
    const rest = Math.max(0, video.duration - sums.reduce((sum, one) => sum + one, 0));
    return [...steps.map((step, at) => [step, nameOfStep(step), own[at].length, sums[at]]), [0, "rest", 0, rest]]
      .map(([step, name, n, sum]) => `${field(video.id)},${step},${name},${n},${Number(sum.toFixed(3))},${Number((sum / video.duration).toFixed(4))}`);
  });
  return ["video,key_step,name,occurrences,seconds,share", ...lines, ""];
}

/** Whether a segment [start, end, step] is a mark.
 * @param {any[]} segment */
export const isMark = ([start, end]) => start === end;

/** Put a mark at a time, in place of any mark at this time and of the mark at `index`. */
export const putMark = (rows, time, step, index = -1) => [
  ...rows.filter((row, n) => n !== index && !(isMark(row) && row[0] === time)), [time, time, step],
].sort((a, b) => Number(isMark(a)) - Number(isMark(b)) || a[0] - b[0]);

/** Rows without marks inside a segment of another step: a moment has one step, and the segment takes precedence. */
export const oneStepEach = (rows) => rows.filter((row) => !isMark(row) || !rows.some(([start, end, step]) => start <= row[0] && row[0] < end && step !== row[2]));

/** Rows without the mark nearest to a time if it is at most `slack` away, or else without the segment at this time. */
export function withoutRowAt(rows, time, slack) {
  const away = (row) => (isMark(row) ? Math.abs(row[0] - time) : Infinity);
  const nearest = Math.min(...rows.map(away));
  const index = nearest <= slack ? rows.findIndex((row) => away(row) === nearest) : indexAt(rows, time);
  return rows.filter((_, n) => n !== index);
}

/** The index of the segment at a time, -1 if there is none. */
export const indexAt = (segments, time) => segments.findLastIndex(([start, end]) => start <= time && time < end);

/** The side ("start" or "end") of a row that is nearer to a time inside it; null if the time is its start. */
export const nearerSide = ([start, end], at) => (at > start ? (at - start < end - at ? "start" : "end") : null);

/** Move a border of a row; its neighbours grow or shrink. Returns the new rows and the changed row, or {} if that row would vanish. */
export function moveBorder(all, index, side, to) {
  const rows = all.filter((row) => !isMark(row));
  const [start, end, step] = rows[index];
  const last = rows[rows.length - 1][1];
  const time = Math.round(Math.min(last, Math.max(0, to)));
  if (side === "end" ? time <= start : time >= end) return {};
  let [before, after] = [rows.slice(0, index), rows.slice(index + 1)];
  if (side === "end") {
    if (!after.length) after = [[end, last, 0]];
    after = after.map(([first, till, own], n) => [n ? Math.max(first, time) : time, till, own]);
  } else {
    if (!before.length) before = [[0, start, 0]];
    before = before.map(([first, till, own], n) => [first, n < before.length - 1 ? Math.min(till, time) : time, own]);
  }
  const moved = side === "end" ? [start, time, step] : [time, end, step];
  return { rows: [...[...before, moved, ...after].filter(([first, till]) => first < till), ...all.filter(isMark)], moved };
}

/** Assign a row to a key step, or to no key step (0). */
export const giveRow = (rows, index, step) => rows.map(([start, end, own], n) => [start, end, n === index ? step : own]);

/** Cut the row at a time in two. */
export const cutRows = (rows, cut) => rows.flatMap(([start, end, own]) => (start < cut && cut < end ? [[start, cut, own], [cut, end, own]] : [[start, end, own]]));

/** Rows as lines of a CSV table: times in seconds, cut off at `last` ms, and no end for a mark; `write` formats the key step. */
export const annotationLines = (rows, last, write) => rows.flatMap(([start, end, step]) => {
  const till = Math.min(end, last);
  if (start === end) return [`${till / 1000},,${write(step)}`];
  return start < till ? [`${start / 1000},${till / 1000},${write(step)}`] : [];
});

/** The index of the span [left, right] that is nearest to a position. */
export function nearestSpan(spans, position) {
  const away = ([left, right]) => Math.max(left - position, position - right, 0);
  return spans.reduce((best, span, at) => (best < 0 || away(span) < away(spans[best]) ? at : best), -1);
}

/** The length of a segment that a key begins where there is none, in milliseconds; it grows while the video plays. */
const BEGUN_MS = 200;

/**
 * Begin a step at a time in rows of an annotation: the rest of the segment at this time gets its label. Where there is
 * no segment, a short one is made (`BEGUN_MS`), and the segment before is extended to it (`reached`).
 */
export function beginStep(rows, time, label, duration) {
  const [segments, marks] = [rows.filter((row) => !isMark(row)), rows.filter(isMark)];
  const at = segments.findIndex(([start, end]) => start <= time && time < end);
  if (at >= 0) {
    const [start, end, own] = segments[at];
    const parts = [[start, time, own], [time, end, label]].filter(([from, to]) => from < to);
    return [...joined([...segments.slice(0, at), ...parts, ...segments.slice(at + 1)]), ...marks];
  }
  const before = reached(segments.filter(([, end]) => end <= time), time);
  const after = segments.filter(([start]) => start > time);
  const end = Math.min(time + BEGUN_MS, duration, ...after.slice(0, 1).map(([start]) => start));
  return time < end ? [...joined([...before, [time, end, label], ...after]), ...marks] : rows;
}

/** Extend the last segment that ends at or before a time to this time, if no other segment is in between. */
export function reached(rows, time) {
  const last = rows.findLastIndex((row) => !isMark(row) && row[1] <= time);
  const next = rows.find((row) => !isMark(row) && row[0] >= (last < 0 ? 0 : rows[last][1]) && row[0] < time && row !== rows[last]);
  if (last < 0 || next) return rows;
  return rows.map((row, n) => (n === last ? [row[0], time, row[2]] : row));
}

/** Join neighbours with the same label. */
const joined = (rows) => rows.reduce((all, row) => {
  const last = all[all.length - 1];
  if (last && last[2] === row[2] && last[1] === row[0]) return [...all.slice(0, -1), [last[0], row[1], row[2]]];
  return [...all, row];
}, []);

/** Move the start of a row of an annotation, and the end of the row before if they touch; no row is removed. */
export function moveStart(rows, index, to) {
  const before = index > 0 && rows[index - 1][1] === rows[index][0] ? index - 1 : -1;
  const low = before >= 0 ? rows[before][0] + 1 : index > 0 ? rows[index - 1][1] : 0;
  const time = Math.round(Math.min(rows[index][1] - 1, Math.max(low, to)));
  return rows.map((row, n) => (n === index ? [time, row[1], row[2]] : n === before ? [row[0], time, row[2]] : row));
}

/** Move the end of a row of an annotation, and the start of the next row if they touch. */
export function moveEnd(rows, index, to, duration) {
  const next = rows[index + 1];
  if (next && !isMark(next) && next[0] === rows[index][1]) return moveStart(rows, index + 1, Math.max(to, rows[index][0] + 1));
  const time = Math.round(Math.max(rows[index][0] + 1, Math.min(next && !isMark(next) ? next[0] : duration, to)));
  return rows.map((row, n) => (n === index ? [row[0], time, row[2]] : row));
}
