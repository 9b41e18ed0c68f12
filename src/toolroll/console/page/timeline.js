// View "Time line": the journal with diffs, undo, rewind, checkpoints and blame.

import { announce, button, clock, confirm, el, field, files, fill, moment, plural, section, split } from "./dom.js";
import { current, on, request } from "./net.js";

const PAGE = 100;
let view = null;

function makeRow(entry) {
  const marks = [entry.checkpoint ? `checkpoint ${entry.checkpoint}` : "", entry.undone ? "undone" : "", entry.undo ? "an undo" : ""];
  const row = button("", () => showEntry(entry), { class: entry.undone ? "entry undone" : "entry" });
  row.append(el("span.number", {}, `#${entry.number}`), el("span.time", {}, clock(entry.time)), el("span.tool", {}, entry.tool),
    el("span.summary", {}, [entry.message, entry.said, (entry.paths ?? []).join(", ")].filter(Boolean).join("  ")),
    el("span.marks", {}, marks.filter(Boolean).map((one) => el("span.badge", {}, one))));
  return el("li", {}, row);
}

async function load(before = null) {
  const { entries, more } = await request("journal", { before, limit: PAGE });
  if (before === null) fill(view.list);
  view.list.append(...entries.map(makeRow));
  view.older.hidden = !more;
  view.last = entries.at(-1)?.number ?? null;
  view.empty.hidden = view.list.children.length > 0;
}

/** Run an action of the journal and show what the server said. */
async function act(method, params, what) {
  try {
    const { ok, text } = await request(method, params);
    fill(view.said, `${ok ? "" : "Not done: "}${text}`);
    announce(`${what}: ${text}`);
    await load();
    return ok;
  } catch (error) {
    fill(view.said, `Not done: ${error.message}`);
    return false;
  }
}

async function undo(entry, changed) {
  const yes = await confirm({ title: `Undo #${entry.number}?`, action: "Undo", danger: true,
    body: [el("p", {}, "These changes are taken back. The undo is an entry of its own, which can be undone."), files(changed)] });
  if (yes) await act("undo", { number: entry.number }, "Undo");
}

async function rewind(entry) {
  const preview = await request("rewind_preview", { to: entry.number }).catch((error) => ({ failed: error.message }));
  if (preview.failed) return fill(view.said, `Not done: ${preview.failed}`);
  const list = preview.files.map((file) => (typeof file === "string" ? { path: file } : file));
  const refused = preview.refused ?? [];
  const yes = await confirm({ title: `Rewind to #${entry.number}?`, action: refused.length ? "" : "Rewind", danger: true,
    body: [refused.length ? section("The rewind would be refused", el("ul", {}, refused.map((one) => el("li", {}, el("code", {}, typeof one === "string" ? one : JSON.stringify(one)))))) : null,
      el("p", {}, `${plural(list.length, "file")} would become as after #${entry.number}:`), files(list)] });
  if (yes) await act("rewind", { to: entry.number, last: preview.last }, "Rewind");
  return yes;
}

async function showEntry(entry) {
  const body = el("div", {}, el("p.note", {}, "Loading…"));
  const actions = el("div.buttons");
  view.split.show(el("h2", {}, `#${entry.number} ${entry.tool}`),
    el("p.facts", {}, [entry.message, entry.said, moment(entry.time), entry.session].filter(Boolean).join("  ·  ")), actions, body);
  try {
    const { files: changed } = await request("journal_entry", { number: entry.number });
    fill(actions, entry.undone ? null : button("Undo…", () => undo(entry, changed), { class: "danger" }),
      button("Rewind to here…", () => rewind(entry)));
    fill(body, files(changed));
  } catch (error) {
    fill(body, el("p.note", {}, error.message));
  }
}

async function showBlame(path) {
  try {
    const { lines } = await request("blame", { path });
    const rows = lines.map((one) => el("tr", {}, el("td.number", {}, one.line ?? ""),
      el("td.number", {}, one.number > 0 ? button(`#${one.number}`, () => showEntry({ number: one.number, tool: "" }), { class: "link" }) : one.number < 0 ? "other" : "–"),
      el("td", {}, el("code", {}, one.text))));
    view.split.show(el("h2", {}, `Blame of ${path}`), el("p.note", {}, "The entry of the journal that last wrote each line; – is from before, “other” was not written by toolroll."),
      el("table.blame", {}, el("thead", {}, el("tr", {}, ["Line", "Entry", "Text"].map((one) => el("th", { scope: "col" }, one)))), el("tbody", {}, rows)));
  } catch (error) {
    fill(view.said, `No blame: ${error.message}`);
  }
}

function form(label, placeholder, action, submit) {
  const input = el("input", { type: "text", required: true, placeholder });
  return el("form.inline", { onsubmit: (event) => {
    event.preventDefault();
    submit(input.value.trim());
  } }, field(label, input), el("button", { type: "submit" }, action));
}

export async function showTimeline(main) {
  const list = el("ol.entries", { "aria-label": "Journal, newest first" });
  const older = button("Older entries", () => load(view.last), { hidden: true });
  const empty = el("p.empty", { hidden: true }, "The journal has no changes yet.");
  const pane = el("section.pane", { "aria-label": "Chosen entry" }, el("p.empty", {}, "Choose an entry to see its diff."));
  view = { list, older, empty, said: el("p.said", { role: "status" }), split: split(el("div.list", {}, list, empty, older), pane), process: current() };
  fill(main, el("div.toolbar", {}, form("New checkpoint", "name", "Set", (name) => act("checkpoint", { name }, "Checkpoint")),
    form("Blame of a file", "path in the workspace", "Show", showBlame), view.said), view.split.frame);
  await load();
}

let timer = 0;
on("journal", ({ process }) => {
  if (!view?.list.isConnected || process !== current()) return;
  clearTimeout(timer);
  timer = setTimeout(() => load().catch(() => {}), 200);
});
