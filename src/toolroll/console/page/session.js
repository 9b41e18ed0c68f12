// Views "Session" (todos, notes, memory, library), "Usage" and "Doctor".

import { button, count, duration, el, field, fill, moment, panel } from "./dom.js";
import { request } from "./net.js";

const MARKS = { completed: "done", in_progress: "now", pending: "open", cancelled: "dropped" };

const failed = (error) => el("p.note", {}, error.message);

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
  const run = () => find(input.value.trim()).then((nodes) => fill(out, nodes), (error) => fill(out, failed(error)));
  run();
  return panel(title, el("form.inline", { role: "search", "aria-label": title, onsubmit: (event) => {
    event.preventDefault();
    run();
  } }, field(label, input), el("button", { type: "submit" }, "Search")), out);
}

async function findNotes(method, query) {
  const { notes } = await request(method, { query });
  return notes.length ? el("ul.notes", {}, notes.map(makeNote)) : el("p.note", {}, query ? "Nothing matches." : "None yet.");
}

async function findPassages(query) {
  const { passages, stats } = await request("library", { query });
  const items = passages.map((one) => el("li", {}, el("p.facts", {}, one.source, one.score ? `  ·  ${Number(one.score).toFixed(2)}` : ""), el("pre.text", {}, one.text)));
  return [el("p.note", {}, stats || "The library is empty."), items.length ? el("ul.notes", {}, items) : query ? el("p.note", {}, "Nothing matches.") : null];
}

export async function showSession(main) {
  const todos = el("div");
  fill(main, el("div.columns", {}, panel("Todos", todos), searchable("Notes of the session", "Search notes", (query) => findNotes("notes", query)),
    searchable("Memory", "Search memory", (query) => findNotes("memory", query)), searchable("Library", "Search the library", findPassages)));
  const answer = await request("todos");
  fill(todos, answer.todos.length ? el("ul.todos", {}, answer.todos.map(makeTodo)) : el("p.note", {}, "No todos."));
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
  const { tools } = await request("usage");
  const sum = (figure) => tools.reduce((all, one) => all + (one[figure] ?? 0), 0);
  const rows = tools.slice().sort((a, b) => b.calls - a.calls).map((one) => el("tr", {}, el("th", { scope: "row" }, one.tool),
    [count(one.calls), count(one.errors), duration(one.seconds), count(one.tokens)].map((value) => el("td.number", {}, value))));
  fill(main, el("div.toolbar", {}, el("p.total", {}, `${count(sum("calls"))} calls  ·  ${count(sum("errors"))} errors  ·  ${duration(sum("seconds"))}  ·  ${count(sum("tokens"))} tokens`),
    button("Refresh", () => showUsage(main))),
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
  const [doctor, settings] = await Promise.allSettled([request("doctor"), request("config")]);
  if (settings.status === "rejected") fill(config, failed(settings.reason));
  else fill(config, el("pre.text", { tabindex: "0", role: "group", "aria-label": "Configuration" }, settings.value.text));
  if (doctor.status === "rejected") return fill(health, failed(doctor.reason));
  return fill(health, table("What toolroll found", ["Part", "State", "Found"], doctor.value.rows.map((one) => el("tr", {}, el("th", { scope: "row" }, one.name),
    el("td", {}, el(`span.badge.${shade(String(one.state).toLowerCase())}`, {}, one.state)), el("td", {}, one.text)))));
}
