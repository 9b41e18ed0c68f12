// View "Time line": the journal with diffs, undo, rewind, checkpoints and blame.

import { announce, button, clock, confirm, el, field, files, fill, moment, plural, section, split } from "./dom.js";
import { act, on, processes, repository, request, workspaces } from "./net.js";

const PAGE = 100;
let view = null; // its `sources` are the journals by workspace, each read through one process

function makeRow({ process, entry }) {
  const marks = [entry.checkpoint ? `checkpoint ${entry.checkpoint}` : "", entry.undone ? "undone" : "", entry.undo ? "an undo" : ""];
  const row = button("", () => showEntry(process, entry), { class: entry.undone ? "entry undone" : "entry" });
  row.append(el("span.number", {}, `#${entry.number}`), el("span.time", {}, clock(entry.time)), el("span.tool", {}, entry.tool),
    el("span.summary", {}, [view.sources.size > 1 ? repository(process) : "", entry.message, entry.said, (entry.paths ?? []).join(", ")].filter(Boolean).join("  ")),
    el("span.marks", {}, marks.filter(Boolean).map((one) => el("span.badge", {}, one))));
  return el("li", {}, row);
}

/** Read the newest entries of a journal, or those before the ones that are there. */
async function load(source, older = false) {
  try {
    const before = older ? source.entries.at(-1)?.number ?? null : null;
    const { entries, more, digest } = await request("journal", { before, limit: PAGE }, source.process.id);
    source.entries = older ? [...source.entries, ...entries] : entries;
    Object.assign(source, { more, digest, failed: "" });
  } catch (error) {
    source.failed = `${repository(source.process)}: ${error.message}`;
  }
  drawList();
}

function drawList() {
  const sources = [...view.sources.values()];
  const rows = sources.flatMap(({ process, entries }) => entries.map((entry) => ({ process, entry })));
  const failed = sources.map((one) => one.failed).filter(Boolean);
  fill(view.list, rows.sort((a, b) => b.entry.time - a.entry.time).map(makeRow));
  fill(view.failed, failed.join(" "));
  view.older.hidden = !sources.some((one) => one.more);
  view.empty.hidden = rows.length + failed.length > 0 || sources.some((one) => !one.digest);
}

/** Have a source for each workspace; the place chooser of the forms is there where they are several. */
function follow() {
  const now = workspaces();
  for (const place of view.sources.keys()) if (!now.some((one) => one.workspace === place)) view.sources.delete(place);
  for (const process of now) {
    const known = view.sources.get(process.workspace);
    if (known) known.process = process;
    else {
      const source = { process, entries: [], more: false, digest: "", failed: "" };
      view.sources.set(process.workspace, source);
      load(source);
    }
  }
  const chosen = view.place.value;
  fill(view.place, now.map((one) => el("option", { value: one.workspace, title: one.workspace }, repository(one))));
  if (view.sources.has(chosen)) view.place.value = chosen;
  view.place.hidden = now.length < 2;
  drawList();
}

/** Run an action of a journal and show what the server said. */
async function run(process, method, params, what) {
  try {
    const { ok, text } = await act(process, method, params);
    fill(view.said, `${ok ? "" : "Not done: "}${text}`);
    announce(`${what}: ${text}`);
  } catch (error) {
    fill(view.said, `Not done: ${error.message}`);
  }
  const source = view.sources.get(process.workspace);
  if (source) await load(source);
}

async function undo(process, entry, { files: changed, digest }) {
  const yes = await confirm({ title: `Undo #${entry.number} in ${repository(process)}?`, action: "Undo", danger: true,
    body: [el("p", {}, "These changes are taken back. The undo is an entry of its own, which can be undone."), files(changed)] });
  if (yes) await run(process, "undo", { number: entry.number, digest }, "Undo");
}

async function rewind(process, entry) {
  const preview = await request("rewind_preview", { to: entry.number }, process.id).catch((error) => ({ failed: error.message }));
  if (preview.failed) return fill(view.said, `Not done: ${preview.failed}`);
  const list = preview.files.map((file) => (typeof file === "string" ? { path: file } : file));
  const refused = preview.refused ?? [];
  const yes = await confirm({ title: `Rewind ${repository(process)} to #${entry.number}?`, action: refused.length ? "" : "Rewind", danger: true,
    body: [refused.length ? section("The rewind would be refused", el("ul", {}, refused.map((one) => el("li", {}, el("code", {}, typeof one === "string" ? one : JSON.stringify(one)))))) : null,
      el("p", {}, `${plural(list.length, "file")} would become as after #${entry.number}:`), files(list)] });
  if (yes) await run(process, "rewind", { to: entry.number, digest: preview.digest }, "Rewind");
  return yes;
}

async function showEntry(process, entry) {
  const body = el("div", {}, el("p.note", {}, "Loading…"));
  const actions = el("div.buttons");
  view.split.show(el("h2", {}, `#${entry.number} ${entry.tool}`),
    el("p.facts", {}, [repository(process), entry.message, entry.said, moment(entry.time), entry.session].filter(Boolean).join("  ·  ")), actions, body);
  try {
    const shown = await request("journal_entry", { number: entry.number }, process.id);
    fill(actions, entry.undone ? null : button("Undo…", () => undo(process, entry, shown), { class: "danger" }),
      button("Rewind to here…", () => rewind(process, entry)));
    fill(body, files(shown.files));
  } catch (error) {
    fill(body, el("p.note", {}, error.message));
  }
}

async function showBlame({ process }, path) {
  try {
    const { lines } = await request("blame", { path }, process.id);
    const rows = lines.map((one) => el("tr", {}, el("td.number", {}, one.line ?? ""),
      el("td.number", {}, one.number > 0 ? button(`#${one.number}`, () => showEntry(process, { number: one.number, tool: "" }), { class: "link" }) : one.number < 0 ? "other" : "–"),
      el("td", {}, el("code", {}, one.text))));
    view.split.show(el("h2", {}, `Blame of ${path}`), el("p.note", {}, "The entry of the journal that last wrote each line; – is from before, “other” was not written by toolroll."),
      el("table.blame", {}, el("thead", {}, el("tr", {}, ["Line", "Entry", "Text"].map((one) => el("th", { scope: "col" }, one)))), el("tbody", {}, rows)));
  } catch (error) {
    fill(view.said, `No blame: ${error.message}`);
  }
}

function form(label, placeholder, action, submit) { // `submit` gets the source that is chosen
  const input = el("input", { type: "text", required: true, placeholder });
  return el("form.inline", { onsubmit: (event) => {
    event.preventDefault();
    const source = view.sources.get(view.place.value);
    if (source) submit(source, input.value.trim());
  } }, field(label, input), el("button.act", { type: "submit" }, action));
}

export function showTimeline(main) {
  const list = el("ol.entries", { "aria-label": "Journal, newest first" });
  const older = button("Older entries", () => { for (const one of view.sources.values()) if (one.more) load(one, true); }, { hidden: true });
  const empty = el("p.empty", { hidden: true }, "The journal has no changes yet.");
  const pane = el("section.pane", { "aria-label": "Chosen entry" }, el("p.empty", {}, "Choose an entry to see its diff."));
  const failed = el("p.note");
  view = { list, older, empty, failed, sources: new Map(), place: el("select", { "aria-label": "Repository" }), said: el("p.said", { role: "status" }),
    split: split(el("div.list", {}, failed, list, empty, older), pane) };
  fill(main, el("div.toolbar", {}, view.place, form("New checkpoint", "name", "Set", ({ process, digest }, name) => run(process, "checkpoint", { name, digest }, "Checkpoint")),
    form("Blame of a file", "path in the workspace", "Show", showBlame), view.said), view.split.frame);
  follow();
}

on("processes", () => { if (view?.list.isConnected) follow(); });

on("journal", ({ process }) => {
  const source = view?.list.isConnected && view.sources.get(processes.get(process)?.workspace);
  if (!source) return;
  clearTimeout(source.timer);
  source.timer = setTimeout(() => load(source), 200);
});
