// The groups of videos, which people type in the window: a column of the table of videos, saved at once.

import { byId, make } from "./dom.js";
import { contentOf, filesRead, readFile, save, whyItStays } from "./saving.js";
import { MADE } from "./server.js";
import { DATA } from "./state.js";
import { csvField, oneLine } from "./text.js";

/** The table as it is: `columns`, `rows`, the `column` of groups, and `row_of` by video. */
let groupTable = null;

/** The table as a file. */
const groupText = ({ columns, rows }) => [columns, ...rows].map((cells) => cells.map((cell) => csvField(String(cell))).join(",")).concat("").join("\n");

function setGroup(video, group) {
  const { columns, rows, column, row_of: rowOf } = groupTable;
  if (!(video.id in rowOf)) {
    rowOf[video.id] = rows.length;
    rows.push(columns.map((name) => ({ video: video.name, task: DATA.task })[name] || ""));
  }
  rows[rowOf[video.id]][columns.indexOf(column)] = group;
  // A table without any group is removed.
  save("groups", rows.length ? groupText(groupTable) : null, structuredClone(groupTable));
}

async function openGrouping() {
  if (!byId("grouping").open || groupTable) return;
  try {
    await readFile("groups");
  } catch (error) {
    byId("grouping-status").textContent = error.message;
  }
}

function drawGrouping() {
  groupTable = structuredClone(contentOf("groups")) || null;
  byId("grouping-rows").replaceChildren();
  if (!groupTable) {
    byId("grouping-status").textContent = whyItStays("groups");
    return;
  }
  const { columns, rows, column, row_of: rowOf } = groupTable;
  byId("grouping-rows").replaceChildren(make("div", { className: "grouping" }, ...DATA.videos.flatMap((video) => {
    if (video.status === "skipped") return [];
    const value = video.id in rowOf ? rows[rowOf[video.id]][columns.indexOf(column)] : "";
    const field = make("input", { type: "text", maxLength: 80, autocomplete: "off", value, aria: { label: `${column} of ${video.name}` } });
    field.setAttribute("list", "grouping-names");
    field.addEventListener("change", () => { setGroup(video, oneLine(field.value)); tellGroups(); });
    return [make("span", { textContent: video.name }), field];
  })), make("datalist", { id: "grouping-names" }));
  tellGroups();
}

/** Show the number of groups, and what is still missing for a comparison. */
function tellGroups() {
  const { columns, rows, column, row_of: rowOf } = groupTable;
  const groups = Object.values(rowOf).map((at) => rows[at][columns.indexOf(column)]).filter(Boolean);
  const names = [...new Set(groups)];
  byId("grouping-names").replaceChildren(...names.map((value) => make("option", { value })));
  byId("grouping-status").textContent = names.length > 1 ? `Column ${column}: ${names.map((name) => `${name} (${groups.filter((group) => group === name).length})`).join(", ")}. The comparison follows with the next run.` : `Column ${column}: a comparison takes two groups.`;
}

export function startGrouping() {
  if (MADE) byId("grouping").addEventListener("toggle", openGrouping);
  filesRead.addEventListener("read", ({ detail: { kind } }) => { if (kind === "groups") drawGrouping(); });
}
