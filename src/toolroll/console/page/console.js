// The frame of the page: views, process chooser, connection, theme and keys.

import { showApprovals, waiting } from "./approvals.js";
import { announce, button, confirm, el, field, fill } from "./dom.js";
import { showLive } from "./live.js";
import { bus, choose, connect, label, listed, on, processes, reconnect, selected, takeToken } from "./net.js";
import { showDoctor, showSession, showUsage } from "./session.js";
import { keepStill } from "./still.js";
import { showTimeline } from "./timeline.js";
import { showForks, showJobs } from "./work.js";

const VIEWS = [
  ["live", "Live", showLive], ["approvals", "Approvals", showApprovals], ["timeline", "Time line", showTimeline], ["forks", "Forks", showForks],
  ["jobs", "Jobs", showJobs], ["session", "Session", showSession], ["usage", "Usage", showUsage], ["doctor", "Doctor", showDoctor],
];
const BY_EVENTS = new Set(["live", "approvals"]); // they draw what comes
const FOLLOWING = new Set(["timeline", "jobs", ...BY_EVENTS]); // they draw processes that come and go
const THEMES = ["auto", "light", "dark"];

const main = document.getElementById("main");
const banner = document.getElementById("banner");
const chooser = document.getElementById("process");
let denied = false;

function makeNav() {
  document.querySelector("nav").append(...VIEWS.map(([id, title]) => {
    const link = el("a", { href: `./#${id}` }, title);
    if (id === "approvals") link.append(el("span", { id: "waiting", class: "count" }, waiting() || ""));
    return link;
  }));
}

const viewName = () => (VIEWS.some(([id]) => id === location.hash.slice(1)) ? location.hash.slice(1) : "live");

async function show() {
  if (denied) return;
  const name = viewName();
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${name}`) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView?.({ block: "nearest", inline: "nearest" });
    } else link.removeAttribute("aria-current");
  }
  const [, title, draw] = VIEWS.find(([id]) => id === name);
  main.className = name;
  main.setAttribute("aria-label", title);
  if (!BY_EVENTS.has(name) && !processes.size) return fill(main, nothingRuns());
  // A view that is still loading when the user leaves it draws into what is no longer shown.
  const view = el("div.view", {}, BY_EVENTS.has(name) ? null : el("p.note", {}, "Loading…"));
  fill(main, view);
  try {
    await draw(view);
  } catch (error) {
    fill(view, el("p.empty", {}, error.message, " ", button("Try again", show)));
  }
}

const nothingRuns = () => el("p.empty", {}, "No toolroll process is running. Start one, for example with “toolroll mcp”, and it appears here.");

function showProcesses() {
  const before = selected();
  const options = [...processes.values()].sort((a, b) => b.started - a.started).map((one) => el("option", { value: one.id }, label(one)));
  fill(chooser, el("option", { value: "" }, processes.size > 1 ? `All (${processes.size})` : "All"), options);
  chooser.value = before;
}

let last = "";
function onProcesses() {
  showProcesses();
  const now = listed().map((one) => one.id).join();
  const typed = [...main.querySelectorAll("input")].some((one) => one.value); // it stays
  if (now !== last && (FOLLOWING.has(viewName()) ? !BY_EVENTS.has(viewName()) && (!now || !last) : !typed)) show();
  last = now;
  fill(document.getElementById("state"), processes.size ? "Connected" : "Connected, nothing runs");
}

function onState({ state, why }) {
  document.documentElement.dataset.state = state;
  denied = state === "denied";
  const words = { connected: "Connected", gone: "Not connected", denied: "No access", connecting: "Connecting" };
  fill(document.getElementById("state"), words[state]);
  if (state === "gone") {
    fill(banner, el("p", {}, "The console does not answer. The page tries again by itself. If it has ended, run “toolroll console” and open its new link."), button("Try now", reconnect));
  } else fill(banner);
  if (denied) showDenied(why);
}

function showDenied() {
  const input = el("input", { type: "password", autocomplete: "off", required: true });
  main.className = "denied";
  main.setAttribute("aria-label", "Access");
  fill(main, el("form.card", { onsubmit: (event) => {
    event.preventDefault();
    if (takeToken(input.value)) reconnect();
    else announce("That is not a link or token of the console.");
  } }, el("h2", {}, "This link is not valid"),
  el("p", {}, "Each start of the console has a token of its own. Run this in a terminal and open the link that it shows:"),
  el("pre.text", {}, "toolroll console"), field("Or paste the link or its token", input), el("button.primary", { type: "submit" }, "Open")));
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  localStorage.setItem("toolroll-theme", name);
  fill(document.getElementById("theme"), `Theme: ${name}`);
}

function help() {
  const rows = [["1 – 8", "go to a view"], ["/", "search calls"], ["↑ ↓ Page Home End", "move in the list of calls"], ["Tab, Enter", "reach and press everything"],
    ["Esc", "close a dialog"], ["?", "this help"]];
  const off = el("input", { type: "checkbox" });
  off.checked = localStorage.getItem("toolroll-keys") === "off";
  off.addEventListener("change", () => localStorage.setItem("toolroll-keys", off.checked ? "off" : "on"));
  confirm({ title: "Keys", action: "", body: [el("dl.keys", {}, rows.map(([key, does]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)])),
    el("label", {}, off, " Turn the single keys off")] });
}

function onKey(event) {
  const typing = event.target.closest("input, textarea, select, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem("toolroll-keys") === "off") return;
  const view = VIEWS[Number(event.key) - 1];
  if (view) location.hash = view[0];
  else if (event.key === "?") help();
  else if (event.key === "/") {
    const focus = () => document.getElementById("search")?.focus();
    if (viewName() === "live") focus(); // at once: what is typed next belongs there
    else {
      addEventListener("hashchange", focus, { once: true });
      location.hash = "live";
    }
  } else return;
  event.preventDefault();
}

/** Keep the token of the link for this tab and take it out of the address. */
function readLink() {
  if (!location.hash.startsWith("#token=")) return;
  takeToken(location.hash);
  history.replaceState(null, "", `${location.pathname}#live`);
}

readLink();
keepStill();
makeNav();
setTheme(localStorage.getItem("toolroll-theme") ?? "auto");
document.getElementById("theme").addEventListener("click", () => setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % 3]));
document.getElementById("help").addEventListener("click", help);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
chooser.addEventListener("change", () => {
  choose(chooser.value);
  if (!BY_EVENTS.has(viewName())) show();
});
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) {
    readLink();
    reconnect();
  }
  show();
});
addEventListener("keydown", onKey);
on("processes", onProcesses);
on("state", onState);
bus.addEventListener("connected", show);
show();
connect();
