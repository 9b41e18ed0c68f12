// Views "Session" (todos, notes, memory, library), "Usage" and "Doctor".

import { button, count, duration, el, field, fill, moment, panel } from "./dom.js";
import { ask, label, repository, workspaces } from "./net.js";

const MARKS = { completed: "done", in_progress: "now", pending: "open", cancelled: "dropped" };

/** What was made of each answer, with a heading where there are several, and why there is none. */
const ofEach = (answers, make) => answers.flatMap((one) => [answers.length > 1 ? el("h3", {}, label(one.process)) : null, one.failed ? el("p.note", {}, one.failed) : make(one)]);

function makeTodo(todo) {
  return el(`li.${todo.status === "completed" ? "done" : "open"}`, {}, el("span.badge", {}, MARKS[todo.status] ?? todo.status), " ", todo.text);
}

function makeNote(note) {
  const tags = Array.isArray(note.tags) ? note.tags.join(", ") : note.tags;
  return el("li", {}, el("p", {}, note.text), el("p.facts", {}, [note.id, tags, moment(note.time)].filter(Boolean).join("  ·  ")));
}

/** A section with a search field; `find` returns what to show for a query. */
function searchable(title, label, find) {
  const out = el("div.found", { "aria-live": "polite" });
  const input = el("input", { type: "search" });
  const run = () => find(input.value.trim()).then((nodes) => fill(out, nodes));
  run();
  return panel(title, el("form.inline", { role: "search", "aria-label": title, onsubmit: (event) => {
    event.preventDefault();
    run();
  } }, field(label, input), el("button", { type: "submit" }, "Search")), out);
}

async function findNotes(method, query) {
  return ofEach(await ask(method, { query }, method === "memory" ? workspaces() : undefined), ({ notes }) => notes.length ? el("ul.notes", {}, notes.map(makeNote)) : el("p.note", {}, query ? "Nothing matches." : "None yet."));
}

async function findPassages(query) {
  return ofEach(await ask("library", { query }, workspaces()), ({ passages, stats }) => {
    const items = passages.map((one) => el("li", {}, el("p.facts", {}, one.source, one.score ? `  ·  ${Number(one.score).toFixed(2)}` : ""), el("pre.text", {}, one.text)));
    return [el("p.note", {}, stats || "The library is empty."), items.length ? el("ul.notes", {}, items) : query ? el("p.note", {}, "Nothing matches.") : null];
  });
}

export async function showSession(main) {
  const todos = el("div");
  fill(main, el("div.columns", {}, panel("Todos", todos), searchable("Notes of the session", "Search notes", (query) => findNotes("notes", query)),
    searchable("Memory", "Search memory", (query) => findNotes("memory", query)), searchable("Library", "Search the library", findPassages)));
  fill(todos, ofEach(await ask("todos"), (one) => (one.todos.length ? el("ul.todos", {}, one.todos.map(makeTodo)) : el("p.note", {}, "No todos."))));
}

const SVG = "http://www.w3.org/2000/svg";
function shape(name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

/** Bars of one figure by tool, largest first. */
function chart(tools, figure, write, title) {
  const rows = tools.filter((one) => one[figure] > 0).sort((a, b) => b[figure] - a[figure]).slice(0, 20);
  const most = Math.max(...rows.map((one) => one[figure]), 1e-9);
  const svg = shape("svg", { viewBox: `0 0 640 ${rows.length * 26 + 4}`, role: "img", "aria-label": `${title}: ${rows.map((one) => `${one.tool} ${write(one[figure])}`).join(", ")}`, class: "chart" });
  rows.forEach((one, index) => {
    const y = index * 26 + 4;
    const width = Math.max(2, (one[figure] / most) * 400);
    svg.append(shape("text", { x: 132, y: y + 14, "text-anchor": "end" }, one.tool), shape("rect", { x: 140, y, width, height: 20, rx: 3, class: figure }),
      shape("text", { x: 148 + width, y: y + 14 }, write(one[figure])));
  });
  return panel(title, rows.length ? svg : el("p.note", {}, "No calls yet."));
}

const table = (caption, heads, rows) => el("div.wide", { tabindex: "0", role: "group", "aria-label": caption }, el("table", {}, el("caption", {}, caption),
  el("thead", {}, el("tr", {}, heads.map((one) => el("th", { scope: "col" }, one)))), el("tbody", {}, rows)));

export async function showUsage(main) {
  const answers = await ask("usage");
  const failed = answers.map((one) => one.failed).filter(Boolean).map((why) => el("p.note", {}, why));
  const byTool = new Map();
  for (const one of answers.flatMap(({ tools = [] }) => tools)) {
    const sum = byTool.get(one.tool) ?? { tool: one.tool, calls: 0, errors: 0, seconds: 0, tokens: 0 };
    for (const figure of ["calls", "errors", "seconds", "tokens"]) sum[figure] += one[figure] ?? 0;
    byTool.set(one.tool, sum);
  }
  const tools = [...byTool.values()];
  const sum = (figure) => tools.reduce((all, one) => all + (one[figure] ?? 0), 0);
  const rows = tools.slice().sort((a, b) => b.calls - a.calls).map((one) => el("tr", {}, el("th", { scope: "row" }, one.tool),
    [count(one.calls), count(one.errors), duration(one.seconds), count(one.tokens)].map((value) => el("td.number", {}, value))));
  fill(main, el("div.toolbar", {}, el("p.total", {}, `${count(sum("calls"))} calls  ·  ${count(sum("errors"))} errors  ·  ${duration(sum("seconds"))}  ·  ${count(sum("tokens"))} tokens`),
    button("Refresh", () => showUsage(main))), failed,
  el("div.columns", {}, chart(tools, "tokens", count, "Tokens by tool"), chart(tools, "seconds", duration, "Time by tool")),
  table("All tools", ["Tool", "Calls", "Errors", "Time", "Tokens"], rows));
}

const GOOD = new Set(["ok", "good", "yes", "on"]);
const BAD = new Set(["bad", "error", "missing", "no", "fail", "failed"]);
const shade = (state) => (GOOD.has(state) ? "success" : BAD.has(state) ? "error" : "partial");

export async function showDoctor(main) {
  const config = el("div", {}, el("p.note", {}, "Loading…"));
  const health = el("div", {}, el("p.note", {}, "Checking this machine…"));
  fill(main, el("div.columns", {}, panel("Doctor", health), panel("Configuration in effect", config)));
  ask("config").then((answers) => fill(config, ofEach(answers, (one) => el("pre.text", { tabindex: "0", role: "group", "aria-label": `Configuration of ${label(one.process)}` }, one.text))));
  fill(health, ofEach(await ask("doctor", {}, workspaces()), ({ process, rows }) => table(`What toolroll found for ${repository(process)}`, ["Part", "State", "Found"],
    rows.map((one) => el("tr", {}, el("th", { scope: "row" }, one.name),
      el("td", {}, el(`span.badge.${shade(String(one.state).toLowerCase())}`, {}, one.state)), el("td", {}, one.text))))));
}
