// Corrections of key steps: kept as edits, replayed on a result by the rules of rgwot.corrections.replay, step by step
// the same. Times are whole milliseconds; a row is [start, end, key step].

const MOST_VIDEOS = 12;
const replayed = new Map();
let allEdits = null;

const correctionsKey = `rgwot corrections ${DATA.dataset}/${DATA.task}`;

/** All edits: those of the file, or what they became since in this browser. */
function edits() {
  if (!allEdits) {
    const kept = recall(correctionsKey, DATA.corrections);
    allEdits = kept ? kept.edits : [...DATA.corrections];
  }
  return allEdits;
}

function setEdits(list) {
  allEdits = list;
  replayed.clear();
  remember(correctionsKey, JSON.stringify({ base: DATA.corrections, edits: list }));
}

const correctable = (run) => run >= 0 && ["trained", "untrained"].includes(factsOf(run).kind);

/** A result with corrections: rows by video, names, and of every edit why it does not hold; null without any. */
function correctedOf(run) {
  if (!correctable(run) || !edits().length) return null;
  if (!replayed.has(run)) replayed.set(run, replay(run, edits()));
  return replayed.get(run);
}

/** The key steps of a result, without background. */
function stepsOf(run) {
  const corrected = correctedOf(run);
  if (!corrected) return factsOf(run).steps;
  const steps = new Set([...corrected.rows.values()].flat().map((row) => row[2]));
  return [...steps].filter((step) => step > 0).sort((a, b) => a - b);
}

/** What a key step is remembered by: all its segments in the videos in which it takes longest. */
function referenceOf(run, step) {
  const own = DATA.videos.map((video, at) => ({ id: video.id, rows: segmentsOf(at, run).filter((row) => row[2] === step) }));
  const length = ({ rows }) => rows.reduce((sum, [start, end]) => sum + Math.round(1000 * (end - start)), 0);
  const longest = own.filter(({ rows }) => rows.length).sort((a, b) => length(b) - length(a)).slice(0, MOST_VIDEOS);
  return longest.flatMap(({ id, rows }) => rows.map(([start, end]) => [id, start, end]));
}

/** The key step at a time, undefined beyond the end. */
function stepAt(run, video, seconds) {
  const row = segmentsOf(video, run).find(([start, end]) => start <= seconds && seconds < end);
  return row && row[2];
}

/** The order of a video's key steps: by the mean time of each, where corrections of this browser changed it. */
function orderOf(run, at) {
  const known = bodyOf(run).orders[at] || [];
  if (!correctedOf(run) || JSON.stringify(edits()) === JSON.stringify(DATA.corrections)) return known;
  const sums = new Map();
  for (const [start, end, step] of segmentsOf(at, run)) {
    const [length, moment] = sums.get(step) || [0, 0];
    if (step) sums.set(step, [length + end - start, moment + (end - start) * (start + end)]);
  }
  const mean = (step) => sums.get(step)[1] / sums.get(step)[0];
  return known.length ? [...sums.keys()].sort((a, b) => mean(a) - mean(b) || a - b) : [];
}

/** Typical frames that show a key step now: of all that became it in turn, the best of each first. */
function typicalOf(run, step) {
  const view = viewOf(run);
  if (!view) return [];
  if (!correctedOf(run)) return (view.typical.find((one) => one.key_step === step) || { frames: [] }).frames;
  const shows = ({ video, time_s }) => place.has(video) && stepAt(run, place.get(video), time_s) === step;
  return view.typical.flatMap(({ frames }) => frames.filter(shows).map((frame, turn) => ({ frame, turn })))
    .sort((a, b) => a.turn - b.turn).slice(0, 6).map(({ frame }) => frame);
}

const ms = (seconds) => Math.round(1000 * seconds);

/** Rows without empty ones, neighbours of one key step as one. */
function joined(rows) {
  const found = [];
  for (const [start, end, step] of rows) {
    const last = found[found.length - 1];
    if (end <= start) continue;
    if (last && last[1] === start && last[2] === step) last[1] = end;
    else found.push([start, end, step]);
  }
  return found;
}

function replay(run, list) {
  const rows = new Map();
  for (const [at, { ends, steps }] of Object.entries(bodyOf(run).segments)) {
    if (ends) rows.set(Number(at), joined(steps.map((step, n) => [n ? ends[n - 1] : 0, ends[n], step])));
  }
  const names = { ...namesOf(run) };
  let last = Math.max(0, ...Object.keys(names).map(Number), ...[...rows.values()].flat().map((row) => row[2]));
  const NO_STEP = "no key step here has more than half in common with it";
  const NO_VIDEO = "its video is not in this result";
  const NO_SEGMENT = "no segment here has more than half in common with it";
  const NOTHING_LEFT = "nothing of the segment would be left";
  const rowsOf = (video) => rows.get(place.get(video));

  function shared(wanted) {
    const found = new Map();
    let total = 0;
    for (const [video, from, to] of wanted) {
      if (!rowsOf(video)) continue;
      total += ms(to) - ms(from);
      for (const [start, end, step] of rowsOf(video)) {
        const both = Math.min(end, ms(to)) - Math.max(start, ms(from));
        if (both > 0) found.set(step, (found.get(step) || 0) + both);
      }
    }
    return [found, total];
  }

  function stepFor(wanted) {
    const [found, total] = shared(wanted);
    const whole = new Map();
    for (const video of new Set(wanted.map((one) => one[0]))) {
      for (const [start, end, step] of rowsOf(video) || []) whole.set(step, (whole.get(step) || 0) + end - start);
    }
    const own = [...found].find(([step, both]) => step !== 0 && 2 * both > total + whole.get(step) - both);
    return own && own[0];
  }

  function mostly(wanted) {
    const [found, total] = shared(wanted);
    const own = [...found].find(([, both]) => 2 * both > total);
    return own && own[0];
  }

  function segmentFor([video, from, to]) {
    return (rowsOf(video) || []).find(([start, end, step]) => {
      const both = Math.min(end, ms(to)) - Math.max(start, ms(from));
      return step !== 0 && 2 * both > Math.max(end, ms(to)) - Math.min(start, ms(from));
    });
  }

  function paint(video, start, end, step, only = null) {
    rows.set(place.get(video), joined(rowsOf(video).flatMap(([first, till, own]) => {
      const [left, right] = [Math.max(first, start), Math.min(till, end)];
      if (left >= right || (only !== null && own !== only)) return [[first, till, own]];
      return [[first, left, own], [left, right, step], [right, till, own]];
    })));
  }

  function become(step, other) {
    for (const [at, own] of rows) rows.set(at, joined(own.map(([start, end, one]) => [start, end, one === step ? other : one])));
    const name = names[step];
    delete names[step];
    if (name && other !== 0 && !names[other]) names[other] = name;
  }

  const called = (name) => Object.keys(names).map(Number).sort((a, b) => a - b).find((step) => names[step] === name);
  const missing = (...wanted) => (wanted.flat().some(([video]) => rowsOf(video)) ? NO_STEP : "none of its videos is in this result");
  const inWords = (step) => (step ? names[step] || String(step) : "background");

  /** The key step that a part is already, if the rest of what it was part of is not in it. */
  function apart(step, part) {
    const alone = stepFor(part);
    if (alone === undefined) return undefined;
    const videos = new Set(step.map((one) => one[0]));
    const [inside, own] = shared(step);
    const [ofPart, ofOwn] = shared(part.filter((one) => videos.has(one[0])));
    return 2 * ((inside.get(alone) || 0) - (ofPart.get(alone) || 0)) <= own - ofOwn ? alone : undefined;
  }

  // What every kind of edit does; it returns [why it does not fit or "", what it did].
  const kinds = {
    merge({ step, into }) {
      let [one, other] = [stepFor(step), stepFor(into)];
      if (one === undefined || other === undefined) {
        one = other = mostly(step);
        if (!one || mostly(into) !== one) return [missing(step, into)];
      }
      const said = `merge ${inWords(one)} into ${inWords(other)}`;
      if (one !== other) become(one, other);
      return ["", said];
    },
    rename({ step, name }) {
      const own = stepFor(step);
      if (own === undefined) return [missing(step)];
      const [other, said] = [called(name), `call ${inWords(own)} “${name}”`];
      names[own] = name;
      if (other !== undefined && other !== own) become(own, other);
      return ["", said];
    },
    split({ step, part, name }) {
      let alone = apart(step, part);
      let said = `keep ${inWords(alone)} apart`;
      if (alone === undefined) {
        const own = stepFor(step);
        if (own === undefined) return [missing(step)];
        if (!shared(part)[0].get(own)) return ["nothing of the part is in this key step"];
        last += 1;
        alone = last;
        for (const [video, start, end] of part) if (rowsOf(video)) paint(video, ms(start), ms(end), alone, own);
        said = `split ${inWords(own)}: a part becomes ${alone}`;
      }
      if (name) names[alone] = name;
      return ["", said];
    },
    background({ step }) {
      const own = stepFor(step);
      if (own === undefined) return mostly(step) === 0 ? ["", "background, as it is"] : [missing(step)];
      const said = `mark ${inWords(own)} as background`;
      become(own, 0);
      return ["", said];
    },
    delete({ segment }) {
      const own = segmentFor(segment);
      if (own) paint(segment[0], own[0], own[1], 0);
      else if (mostly([segment]) !== 0) return [rowsOf(segment[0]) ? NO_SEGMENT : NO_VIDEO];
      return ["", own ? `delete a segment of ${inWords(own[2])}` : "delete a segment"];
    },
    border({ segment, start, end }) {
      const video = segment[0];
      const own = segmentFor(segment);
      if (!own) return [rowsOf(video) ? NO_SEGMENT : NO_VIDEO];
      const [from, to, step] = own;
      const at = rowsOf(video).indexOf(own);
      if (end !== undefined) {
        if (ms(end) <= from) return [NOTHING_LEFT];
        const after = at + 1 < rowsOf(video).length ? rowsOf(video)[at + 1][2] : 0;
        paint(video, Math.min(to, ms(end)), Math.max(to, ms(end)), ms(end) > to ? step : after);
        return ["", `end a segment of ${inWords(step)} at ${clock(end, 2)}`];
      }
      if (ms(start) >= to) return [NOTHING_LEFT];
      const before = at ? rowsOf(video)[at - 1][2] : 0;
      paint(video, Math.min(from, ms(start)), Math.max(from, ms(start)), ms(start) < from ? step : before);
      return ["", `start a segment of ${inWords(step)} at ${clock(start, 2)}`];
    },
    assign({ segment, step, name }) {
      const [video, start, end] = segment;
      if (!rowsOf(video)) return [NO_VIDEO];
      if (!shared([segment])[0].size) return ["the video has ended by then"];
      let own = 0;
      if (step || name) {
        own = step ? stepFor(step) : undefined;
        if (own === undefined && name) own = called(name);
        if (own === undefined && name) {
          last += 1;
          own = last;
          names[own] = name;
        }
        if (own === undefined) return [missing(step)];
      }
      paint(video, ms(start), ms(end), own);
      return ["", `give a segment to ${inWords(own)}`];
    },
  };
  const report = list.map((edit) => {
    const [reason, said] = kinds[edit.edit](edit);
    return { reason, said: said || edit.edit };
  });
  return { rows, names, report };
}

/** The file of corrections: one edit a line, as YAML in flow style. */
function correctionsFile() {
  const scalar = (value) => (Array.isArray(value) ? `[${value.map(scalar).join(", ")}]` : typeof value === "number" ? String(value) : quoted(value));
  const lines = edits().map((edit) => `- {${Object.entries(edit).map(([key, value]) => `${key}: ${scalar(value)}`).join(", ")}}`);
  const head = `# Corrections of key steps, one a line, replayed in this order; delete a line to undo it. Its place is ${DATA.corrections_path.replace(/\p{C}/gu, "?")}`;
  return `${[head, ...lines].join("\n")}\n`;
}
