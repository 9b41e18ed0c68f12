// View "Live": the calls of all processes as they happen.

import { button, clock, count, duration, el, field, fill, longText, moment, pause, plural, section, split, visible } from "./dom.js";
import { on, processes, request, selected } from "./net.js";
import { VirtualList } from "./virtual_list.js";

const KEPT = 10_000;
const PAGE = 250;
const SLICE = 400; // calls matched before the page may draw
const PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$/; // whatever a process sends, nothing else is drawn
const STATUS = { running: "runs", success: "ok", partial: "partly", error: "error", raised: "defect" };

const calls = []; // oldest first
const known = new Map();
let shown = calls; // what passes the filter, oldest first
const filter = { text: "", status: "", who: "" };
let found = new Set(); // keys that the processes found in whole texts
let list = null;
let parts = null;

const keyOf = (process, seq) => `${process}/${seq}`;
const who = (call) => [call.client, call.session].filter(Boolean).join(" · ");

/** The arguments in one line, for the list. */
function summary(call) {
  const values = Object.entries(call.arguments ?? {});
  const text = values.map(([name, value], index) => {
    const written = typeof value === "string" ? value : JSON.stringify(value);
    return index === 0 ? written : `${name}=${written}`;
  }).join("  ");
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

function matches(call) {
  if (selected() && call.process !== selected()) return false;
  if (filter.status && call.status !== filter.status) return false;
  if (filter.who && who(call) !== filter.who) return false;
  if (!filter.text) return true;
  if (found.has(call.key)) return true;
  call.words ??= `${call.tool} ${summary(call)} ${who(call)}`.toLowerCase();
  return call.words.includes(filter.text) || (call.text ?? "").toLowerCase().includes(filter.text);
}

const filtering = () => filter.text || filter.status || filter.who || selected();

let turn = 0;

/** Match all calls again, in slices. */
async function refilter() {
  const mine = ++turn;
  if (!filtering()) shown = calls;
  else {
    const passed = [];
    const all = calls.slice();
    for (let index = 0; index < all.length; index += 1) {
      if (index % SLICE === SLICE - 1) await pause();
      if (mine !== turn) return;
      if (matches(all[index])) passed.push(all[index]);
    }
    shown = passed;
    for (const call of calls.slice(calls.lastIndexOf(all.at(-1)) + 1)) if (matches(call)) shown.push(call);
  }
  draw();
}

function renew(call, data) {
  Object.assign(call, data);
  if (filter.status) refilterSoon();
  list?.refresh();
  if (call === list?.chosen) showCall(call);
}

function add(process, data) {
  const key = keyOf(process, data.seq);
  const old = known.get(key);
  if (old) return renew(old, data);
  const call = { ...data, process, key };
  known.set(key, call);
  calls.push(call);
  noteWho(call);
  if (shown !== calls && matches(call)) shown.push(call);
  if (calls.length > KEPT + 500) {
    for (const gone of calls.splice(0, calls.length - KEPT)) known.delete(gone.key);
    if (shown !== calls) refilterSoon();
  }
  return draw(shown.at(-1) === call ? 1 : 0);
}

let soon = 0;
function refilterSoon() {
  soon ||= setTimeout(() => {
    soon = 0;
    refilter();
  }, 400);
}

let drawn = false;
function draw(added = 0) {
  if (!list) return;
  list.refresh(added);
  if (drawn) return;
  drawn = true;
  setTimeout(() => {
    drawn = false;
    const text = shown === calls ? plural(calls.length, "call") : `${count(shown.length)} of ${plural(calls.length, "call")}`;
    fill(parts.total, text);
    parts.empty.hidden = shown.length > 0;
    fill(parts.empty, calls.length ? "No call matches the filter." : "No calls yet. They appear here as they happen.");
  }, 100);
}

/** Load older calls of a process page by page, newest first. */
async function loadHistory(process) {
  let before = null;
  for (let more = true, loaded = 0; more && loaded < KEPT;) {
    const page = await request("calls", { before, limit: PAGE, text: null }, process);
    for (const one of page.calls.reverse()) {
      const old = known.get(keyOf(process, one.seq));
      if (old) {
        if (old.status === "running") renew(old, one); // else what came as an event is newer
        continue;
      }
      const call = { ...one, process, key: keyOf(process, one.seq) };
      known.set(call.key, call);
      noteWho(call);
      calls.push(call);
    }
    calls.sort((a, b) => a.started - b.started);
    loaded += page.calls.length;
    before = page.calls[0]?.seq ?? null;
    more = page.more && before !== null;
    if (shown !== calls) refilterSoon();
    draw();
    await pause();
  }
}

const people = new Set();
function noteWho(call) {
  const name = who(call);
  if (!name || people.has(name)) return;
  people.add(name);
  parts?.who.append(el("option", { value: name }, name));
}

/** Ask the processes too: they search whole results, of which this page has the beginning. */
async function searchProcesses(text) {
  found = new Set();
  await Promise.all([...processes.keys()].map(async (process) => {
    const answer = await request("calls", { before: null, limit: 500, text }, process).catch(() => ({ calls: [] }));
    for (const one of answer.calls) found.add(keyOf(process, one.seq));
  }));
  if (filter.text === text.toLowerCase()) refilter();
}

function drawRow(row, index) {
  const call = shown[shown.length - 1 - index];
  const stamp = `${call.key} ${call.status} ${call.seconds}`;
  if (row.stamp === stamp) return;
  row.stamp = stamp;
  row.className = `row ${call.status}`;
  if (!row.cells) {
    row.cells = ["status", "time", "tool", "summary", "number", "number", "who"].map((name) => el(`span.${name}`));
    row.append(...row.cells);
  }
  const texts = [STATUS[call.status] ?? call.status, clock(call.started), call.tool, summary(call),
    call.status === "running" ? "…" : duration(call.seconds), call.tokens ? `${count(call.tokens)} tok` : "", who(call)];
  texts.forEach((text, index) => { row.cells[index].textContent = visible(text); });
}

/** Arguments, each under its name; text keeps its lines. */
export function showArguments(values) {
  const rows = Object.entries(values ?? {}).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    return [el("dt", {}, name), el("dd", {}, el("pre", {}, text))];
  });
  return rows.length ? el("dl.arguments", {}, rows) : el("p.note", {}, "No arguments.");
}

async function showCall(call) {
  list.chosen = call;
  const result = section("Result as the model saw it", call.status === "running" ? el("p.note", {}, "The call runs.") : longText(call.text || "(empty)", "Result"));
  const given = section("Arguments", showArguments(call.arguments));
  const facts = [call.code, moment(call.started), duration(call.seconds), call.tokens ? `${count(call.tokens)} tokens` : "", who(call),
    processes.get(call.process)?.workspace];
  parts.split.show(el("h2", {}, call.tool, " ", el(`span.badge.${call.status}`, {}, STATUS[call.status] ?? call.status)),
    el("p.facts", {}, facts.filter(Boolean).join("  ·  ")), given, result);
  if (!call.cut && !call.images) return;
  try {
    const whole = await request("call_text", { seq: call.seq }, call.process);
    if (list.chosen !== call) return;
    fill(result, el("h3", {}, "Result as the model saw it"), call.images ? el("p.note", {}, `${plural(call.images, "image")} in the result.`) : null,
      (whole.pictures ?? []).filter((src) => PICTURE.test(src)).map((src, index) => el("img.picture", { src, alt: `Image ${index + 1} of the result` })), longText(whole.text || "(no text)", "Result"));
    fill(given, el("h3", {}, "Arguments"), showArguments(whole.arguments));
  } catch (error) {
    result.append(el("p.note", {}, `The whole text is not available: ${error.message}`));
  }
}

function makeFilters() {
  let timer;
  const search = el("input", { type: "search", id: "search", placeholder: "tool, argument, result", oninput: () => {
    filter.text = search.value.trim().toLowerCase();
    found = new Set();
    refilter();
    clearTimeout(timer);
    if (filter.text) timer = setTimeout(() => searchProcesses(search.value.trim()), 250);
  } });
  const choice = (name, first) => el("select", { onchange: (event) => {
    filter[name] = event.target.value;
    refilter();
  } }, el("option", { value: "" }, first));
  const status = choice("status", "Any status");
  for (const [value, name] of Object.entries(STATUS)) status.append(el("option", { value }, name));
  parts.who = choice("who", "Any client or session");
  for (const name of people) parts.who.append(el("option", { value: name }, name));
  return el("form.filters", { role: "search", onsubmit: (event) => event.preventDefault() },
    field("Search", search), field("Status", status), field("Client · session", parts.who), parts.total,
    button("Newest", () => { list.frame.scrollTop = 0; }));
}

export function showLive(main) {
  if (!list) {
    parts = { total: el("p.total"), empty: el("p.empty") };
    list = new VirtualList("Calls", { count: () => shown.length, draw: drawRow,
      key: (index) => shown[shown.length - 1 - index]?.key,
      pick: (index) => showCall(shown[shown.length - 1 - index]) });
    const pane = el("section.pane", { "aria-label": "Chosen call" }, el("p.empty", {}, "Choose a call to see its arguments and result."));
    parts.split = split(el("div.list", {}, list.frame, parts.empty), pane);
    parts.filters = makeFilters();
  }
  fill(main, parts.filters, parts.split.frame);
  draw();
}

on("call", ({ process, data }) => add(process, data));
on("chosen", refilter);
let loaded = new Set();
const forget = () => { loaded = new Set(); };
on("state", ({ state }) => { if (state === "gone") forget(); });
on("lost", forget);
on("processes", () => {
  for (const id of processes.keys()) {
    if (loaded.has(id)) continue;
    loaded.add(id);
    loadHistory(id).catch(() => loaded.delete(id));
  }
});
