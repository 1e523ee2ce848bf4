// Numbers, times and lists as text. All functions are pure.

/** Write seconds as 1:02.3, rounded to the last digit. */
export function clock(seconds, digits = 1) {
  const unit = 10 ** digits;
  const ticks = Math.round(seconds * unit);
  const minutes = Math.floor(ticks / (60 * unit));
  const rest = (ticks - minutes * 60 * unit) / unit;
  return `${minutes}:${rest.toFixed(digits).padStart(digits ? 3 + digits : 2, "0")}`;
}

export const ms = (seconds) => Math.round(1000 * seconds);

/** The times of a segment or mark in words. */
export const when = (start, end, digits) => (start === end ? `marked at ${clock(start, digits)}` : `${clock(start, digits)} to ${clock(end, digits)}`);

/** A typed name in one line. */
export const oneLine = (text) => text.replace(/\p{Cc}+/gu, " ").trim();
/** Seconds with one decimal, or with none from 100 s on. */
export const seconds = (s) => (s < 99.95 ? s.toFixed(1) : String(Math.round(s)));
export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;
/** A score in percent, without the sign. */
export const score = (value) => (100 * value).toFixed(1);
export const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;
/** A measured value with three digits. */
export const amount = (value) => String(Number(value.toPrecision(3)));
/** A value with as many digits as are needed to distinguish hundredths of a range. */
export const inRange = (value, range) => (Math.abs(value) >= 1e6 || range < 1e-4 ? String(Number(value.toPrecision(5))) : value.toFixed(Math.max(0, Math.ceil(2 - Math.log10(range)))));
export const probability = (p) => (p < 0.001 ? "< 0.001" : p.toFixed(3));
/** A list such as: 1, 2 and 3. */
export const listed = (parts) => [parts.slice(0, -1).join(", "), parts[parts.length - 1]].filter(Boolean).join(" and ");

/** The name of a file to download: the task's name, decoded from its id `task`, then "_" and `rest`. */
export function fileName(task, rest) {
  try {
    return `${decodeURIComponent(task)}_${rest}`;
  } catch {
    // The name is not UTF-8.
    return `${task}_${rest}`;
  }
}

/** A field of a CSV file. */
export const csvField = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A double-quoted YAML scalar; characters that do not print become escapes. */
export function yamlText(text) {
  const letters = Array.from(text.toWellFormed ? text.toWellFormed() : text, (letter) => {
    if (letter === '"' || letter === "\\") return `\\${letter}`;
    if (!/\p{C}|\p{Zl}|\p{Zp}/u.test(letter)) return letter;
    return `\\U${letter.codePointAt(0).toString(16).padStart(8, "0")}`;
  });
  return `"${letters.join("")}"`;
}

/** The file of names, from pairs of a result's id and { result, names, segments }; `path` is where the file belongs. */
export function namesText(entries, path) {
  const lines = [`# Names of key steps, typed into the page of a task. Its place is ${path.replace(/\p{C}/gu, "?")}`];
  for (const [run, { result, names, segments }] of [...entries].sort()) {
    lines.push(`${yamlText(run)}:`, `  result: ${yamlText(result)}`, "  names:");
    for (const step of Object.keys(names).map(Number).sort((a, b) => a - b)) lines.push(`    ${step}: ${yamlText(names[step])}`);
    const videos = Object.keys(segments);
    if (videos.length) lines.push("  segments:", ...videos.map((video) => `    ${yamlText(video)}: ${yamlText(segments[video])}`));
  }
  return `${lines.join("\n")}\n`;
}

/** The keys of steps, in the order in which they are assigned; 0 is for background, and commands use other keys. */
export const STEP_KEYS = "123456789abcdefghijklmnopqrstuvwxyz";
/** The first key that is not taken; an empty text if all are taken. */
export const keyFor = (taken) => [...STEP_KEYS].find((key) => !taken.includes(key)) || "";
