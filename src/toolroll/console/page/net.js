// The console's HTTP: token, requests, and the stream of events with reconnection.

import { pause } from "./dom.js";

const KEY = "toolroll-token";
const SLICE_MS = 8; // how long lines are parsed before the page may draw
const SILENCE_MS = 40_000; // the server sends a beat every 15 s
const RETRY_MS = [300, 600, 1000, 2000, 4000];

/** Events: "processes", "state" (connected, gone, denied), "lost", and what processes send: "call", "approvals", "journal", "jobs". */
export const bus = new EventTarget();
export const processes = new Map();
let following = null; // ends the stream of events
let chosen = "";
let state = "connecting";


export const on = (name, handle) => bus.addEventListener(name, (event) => handle(event.detail));
const emit = (name, detail) => bus.dispatchEvent(new CustomEvent(name, { detail }));

export const selected = () => (processes.has(chosen) ? chosen : "");

/** The processes that a view shows, the newest first: the chosen one, or all. */
export const listed = () => (selected() ? [processes.get(chosen)] : [...processes.values()].sort((a, b) => b.started - a.started));

/** Of these, the newest of each workspace: for what the processes of a workspace share. */
export const workspaces = () => [...new Map(listed().reverse().map((one) => [one.workspace, one])).values()].reverse();

export const repository = (process) => String(process.workspace).split("/").filter(Boolean).at(-1) ?? process.workspace;
export const label = (process) => `${repository(process)} · ${process.client || process.kind} · ${process.pid}`;

export function choose(id) {
  chosen = id;
  emit("chosen", id);
}

export function takeToken(link) {
  const found = /(?:#token=|^)([\w.~+/=-]{8,})$/.exec(link.trim());
  if (found) sessionStorage.setItem(KEY, decodeURIComponent(found[1]));
  return Boolean(found);
}

const token = () => sessionStorage.getItem(KEY) ?? "";

function setState(next, why = "") {
  if (next === state && next !== "denied") return;
  state = next;
  emit("state", { state, why });
}

async function open(path, options = {}) {
  const headers = { Authorization: `Bearer ${token()}`, ...options.headers };
  const response = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit" }).catch(() => {
    following?.abort();
    throw new Error("The console does not answer.");
  });
  if (response.status === 401) {
    setState("denied");
    throw new Error("The token of this page is not valid.");
  }
  return response;
}

/** Ask the listed processes, or `those`; each answer has its `process`, and `failed` with the reason where there is none. */
export const ask = (method, params = {}, those = listed()) => Promise.all(those.map((process) => request(method, params, process.id).then(
  (answer) => ({ ...answer, process }), (error) => ({ process, failed: `${label(process)}: ${error.message}` }))));

/** Change something in a process as it was when the person saw it; another one refuses it. */
export const act = (process, method, params) => request(method, { ...params, process: { id: process.id, started: process.started } }, process.id);

/** Send a request to a process; throws with the sentence that the server gave. */
export async function request(method, params, to) {
  const response = await open("/api/request", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ to, method, params }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text.slice(0, 500) || `The console answered with status ${response.status}.`);
  const answer = JSON.parse(text);
  if (answer.error) throw new Error(answer.error);
  return answer.result;
}

function setProcesses(list) {
  processes.clear();
  for (const one of list) processes.set(one.id, one);
  emit("processes", list);
}

/** The page fell behind and events were dropped: load everything again. */
function resync() {
  emit("lost");
  emit("processes", [...processes.values()]);
}

function handle(line) {
  if (!line.trim()) return;
  const { event, process, data } = JSON.parse(line);
  if (event === "processes") setProcesses(data.processes ?? data);
  else if (event === "resync") resync();
  else if (event !== "beat") emit(event, { process, data });
}

/** Read a stream of JSON lines; between slices of work the page can draw. */
async function readLines(response, alive) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let parts = [];
  let began = performance.now();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    alive();
    const pieces = value.split("\n");
    parts.push(pieces[0]);
    for (const piece of pieces.slice(1)) {
      handle(parts.join(""));
      parts = [piece];
      if (performance.now() - began > SLICE_MS) {
        await pause();
        began = performance.now();
      }
    }
  }
}

async function follow() {
  const controller = new AbortController();
  following = controller;
  let timer;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => controller.abort(), SILENCE_MS);
  };
  alive();
  try {
    const response = await open("/api/events", { signal: controller.signal });
    if (!response.ok) throw new Error((await response.text()).slice(0, 500));
    const list = await (await open("/api/processes")).json();
    setProcesses(list.processes);
    setState("connected");
    emit("connected");
    await readLines(response, alive);
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
}

let wake = () => {};

/** Connect again at once, for example with another token. */
export function reconnect() {
  state = "connecting";
  wake();
}

/** Follow the events for ever; after a loss try again, after a refusal wait for another token. */
export async function connect() {
  for (let tries = 0; ; tries += 1) {
    try {
      if (!token()) setState("denied");
      else await follow();
    } catch (error) {
      if (state !== "denied") setState("gone", error.message);
    }
    if (state === "connected") {
      tries = 0;
      setState("gone", "The connection ended.");
    }
    await new Promise((resume) => {
      wake = resume;
      if (state !== "denied") setTimeout(resume, RETRY_MS[Math.min(tries, RETRY_MS.length - 1)]);
    });
  }
}
