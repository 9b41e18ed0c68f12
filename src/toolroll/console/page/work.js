// Views "Forks" and "Jobs": what runs beside the workspace.

import { button, confirm, duration, el, field, files, fill, moment, plural, section, split } from "./dom.js";
import { act, ask, label, listed, on, repository, request } from "./net.js";

const POLL_MS = 500;
const SHADES = { passed: "success", running: "running" };
const KEYS = [["Enter", "enter"], ["Tab", "tab"], ["Esc", "esc"], ["↑", "up"], ["↓", "down"], ["Ctrl-C", "ctrl-c"], ["Ctrl-D", "ctrl-d"]];
const COLOURS = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007]*(?:\u0007|\u001b\\)/g; // terminal sequences

function makeFork(process, fork) {
  const { check } = fork;
  const said = check && (check.status === 0 ? "passed" : typeof check.status === "number" ? `failed (${check.status})` : check.status);
  return el("article.fork", { "aria-label": `Fork ${fork.name} of ${repository(process)}` },
    el("h2", {}, `Fork ${fork.name} `, check ? el(`span.badge.${SHADES[said] ?? "error"}`, {}, `check ${said}`) : el("span.badge", {}, "no check")),
    el("p.facts", {}, [label(process), fork.kind, moment(fork.opened), `${plural(fork.changed, "file")} changed`].filter(Boolean).join("  ·  ")),
    check ? section("Check", el("p", {}, el("code", {}, check.command)), el("pre.text", { tabindex: "0", role: "group", "aria-label": "Output of the check" }, check.output || "(no output)")) : null,
    fork.error ? el("p.note", {}, fork.error) : section("Changes", files(fork.files ?? []), fork.more ? el("p.note", {}, "More files changed than are listed.") : null));
}

export async function showForks(main) {
  const answers = await ask("forks");
  const forks = answers.flatMap((one) => (one.forks ?? []).map((fork) => makeFork(one.process, fork)));
  const failed = answers.map((one) => one.failed).filter(Boolean).map((why) => el("p.note", {}, why));
  if (!forks.length) return fill(main, failed, el("p.empty", {}, "There are no forks. A model opens one with the fork tool, you with “toolroll fork”."));
  return fill(main, el("div.toolbar", {}, el("p.total", {}, plural(forks.length, "fork")), button("Refresh", () => showForks(main))), failed,
    el("div.fork-grid", {}, forks));
}

let view = null;

async function loadJobs(those = listed()) {
  const mine = view;
  for (const answer of await ask("jobs", {}, those)) mine.answers.set(answer.process.id, answer);
  if (mine === view) drawJobs();
}

function drawJobs() {
  const answers = listed().map((one) => view.answers.get(one.id)).filter(Boolean);
  const rows = answers.flatMap(({ process, jobs = [] }) => jobs.map((job) => {
    const key = `${process.id}/${job.id}`;
    const row = button("", () => showJob(process, job), { class: "entry", "data-id": key, "aria-current": key === view.id ? "true" : null });
    row.append(el(`span.badge.${job.status === "running" ? "running" : "ended"}`, {}, String(job.status)), el("span.tool", {}, `Job ${job.id}`),
      el("span.summary", {}, answers.length > 1 ? `${repository(process)}  ` : "", job.command), el("span.number", {}, duration(job.seconds)));
    return el("li", {}, row);
  }));
  const had = view.list.contains(document.activeElement) ? document.activeElement.dataset.id : null;
  fill(view.list, answers.filter((one) => one.failed).map((one) => el("li.note", {}, one.failed)), rows);
  if (had) [...view.list.querySelectorAll("button")].find((one) => one.dataset.id === had)?.focus();
  view.empty.hidden = rows.length > 0;
}

/** Follow the output of a job until it ends or another one is chosen. */
async function follow(process, job, output) {
  let after = null; // the end of what there is
  while (output.isConnected) {
    const part = await request("job_output", { id: job.id, after }, process.id);
    const atEnd = output.scrollTop + output.clientHeight >= output.scrollHeight - 20;
    const text = part.text.replace(COLOURS, "");
    if (job.terminal) fill(output, text);
    else if (text) output.append(el("span", {}, part.skipped ? `[${part.skipped} bytes left out]\n` : "", text));
    if (atEnd) output.scrollTop = output.scrollHeight;
    after = part.next;
    if (part.ended) return fill(view.note, "The job has ended.");
    await new Promise((resume) => { setTimeout(resume, POLL_MS); });
  }
  return null;
}

async function send(process, job, text, keys) {
  try {
    await act(process, "job_keys", { id: job.id, digest: job.digest, text, keys });
    fill(view.note, "Sent.");
  } catch (error) {
    fill(view.note, `Not sent: ${error.message}`);
  }
}

async function stop(process, job) {
  if (!await confirm({ title: `Stop job ${job.id} of ${label(process)}?`, body: el("pre.text", {}, job.command), action: "Stop", danger: true })) return;
  await act(process, "job_stop", { id: job.id, digest: job.digest }).then(() => fill(view.note, "Stopped."), (error) => fill(view.note, `Not stopped: ${error.message}`));
}

function showJob(process, job) {
  view.id = `${process.id}/${job.id}`;
  view.note = el("p.said", { role: "status" });
  const output = el("pre.text.output", { tabindex: "0", role: "group", "aria-label": `Output of job ${job.id}` });
  const input = el("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  const runs = job.status === "running";
  view.split.show(el("h2", {}, `Job ${job.id}`), el("p.facts", {}, label(process)), el("pre.text", {}, job.command), output,
    runs ? el("form.inline", { onsubmit: (event) => {
      event.preventDefault();
      if (job.terminal) send(process, job, input.value, ["enter"]);
      else send(process, job, `${input.value}\n`, []);
      input.value = "";
    } }, field("Type a line", input), el("button.act", { type: "submit" }, "Send")) : null,
    runs && job.terminal ? el("div.buttons", { role: "group", "aria-label": "Keys" }, KEYS.map(([label, key]) => button(label, () => send(process, job, "", [key])))) : null,
    runs ? el("div.buttons", {}, button("Stop…", () => stop(process, job), { class: "danger" })) : null, view.note);
  follow(process, job, output).catch((error) => fill(view.note, error.message));
}

export async function showJobs(main) {
  const list = el("ul.entries", { "aria-label": "Jobs" });
  const empty = el("p.empty", { hidden: true }, "No jobs. A command that runs longer than its time limit becomes one.");
  const pane = el("section.pane", { "aria-label": "Chosen job" }, el("p.empty", {}, "Choose a job to see its output."));
  view = { list, empty, answers: new Map(), id: null, note: el("p"), split: split(el("div.list", {}, list, empty), pane) };
  fill(main, view.split.frame);
  await loadJobs();
}

on("jobs", ({ process }) => {
  if (view?.list.isConnected) loadJobs(listed().filter((one) => one.id === process));
});
on("processes", () => {
  if (view?.list.isConnected) loadJobs(listed().filter((one) => !view.answers.has(one.id))).then(drawJobs);
});
