// Drive pages of one Chromium by JSON lines on standard input.
// {"page": name, "do": "new", "options": {...}} opens a page in a context of its own, {"beside": name} in the context of another.
// {"page": name, "find": [[method, ...arguments], ...], "do": method, "arguments": [...]} calls a method of a locator or of the page.

import { createRequire } from "node:module";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.argv[2]}/`);
const { chromium } = require("playwright-core");
const { default: binary } = await import(pathToFileURL(require.resolve("@sparticuz/chromium")));
const TIMEOUT_MS = 8000;
const UNSAFE = new Set(["--disable-web-security", "--allow-running-insecure-content", "--single-process"]);

const browser = await chromium.launch({ args: binary.args.filter((one) => !UNSAFE.has(one)), executablePath: await binary.executablePath(), headless: true });
const pages = new Map();

async function open({ page: name, beside, options }) {
  const context = beside ? pages.get(beside).context() : await browser.newContext(options);
  context.setDefaultTimeout(TIMEOUT_MS);
  const page = await context.newPage();
  page.errors = [];
  page.on("pageerror", (error) => page.errors.push(error.stack ?? String(error)));
  page.on("console", (message) => { if (/Content Security Policy/.test(message.text())) page.errors.push(message.text()); });
  pages.set(name, page);
}

/** Processor time of the longest tasks of pages, in ms; time on a busy machine's clock would say nothing. */
function longest(events) {
  const main = new Set(events.filter((one) => one.name === "thread_name" && one.args.name === "CrRendererMain").map((one) => `${one.pid}/${one.tid}`));
  const tasks = events.filter((one) => one.name.endsWith("RunTask") && main.has(`${one.pid}/${one.tid}`));
  return tasks.map((one) => (one.tdur ?? one.dur) / 1000).sort((a, b) => b - a).slice(0, 5);
}

/** What the page's script holds after a collection, in MB. */
async function heap(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  return (await session.send("Runtime.getHeapUsage")).usedSize / 1e6;
}

/** Wait for an expression; the page's policy forbids the evaluation that waitForFunction does. */
async function until(page, expression) {
  for (const end = Date.now() + TIMEOUT_MS; Date.now() < end; await page.waitForTimeout(30)) if (await page.evaluate(expression)) return;
  throw new Error(`It did not become true: ${expression}`);
}

async function act(step) {
  const page = pages.get(step.page);
  if (step.do === "new") return open(step);
  if (step.do === "errors") return page.errors;
  if (step.do === "offline") return page.context().setOffline(step.arguments[0]);
  if (step.do === "until") return until(page, step.arguments[0]);
  if (step.do === "axe") {
    // The page's own policy forbids scripts of others: axe comes through the debugger.
    await page.evaluate(require("node:fs").readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    return violations.map((one) => `${one.id}: ${one.nodes.map((node) => `${node.target} ${node.failureSummary}`).join(" | ")}`);
  }
  if (step.do === "trace") return browser.startTracing(page, { categories: ["toplevel", "__metadata"] });
  if (step.do === "longest") return longest(JSON.parse(await browser.stopTracing()).traceEvents);
  if (step.do === "heap") return heap(page);
  let target = page;
  for (const [method, ...given] of step.find ?? []) {
    // A pattern comes as {"pattern": "..."}.
    for (const one of given) if (one?.name?.pattern) one.name = new RegExp(one.name.pattern);
    target = target[method](...given);
  }
  const [object, method] = step.do.includes(".") ? [target[step.do.split(".")[0]], step.do.split(".")[1]] : [target, step.do];
  const result = await object[method](...(step.arguments ?? []));
  if (step.do === "close") await page.context().close().catch(() => {});
  return result === target || typeof result === "object" && result?.constructor?.name === "Response" ? null : result;
}

console.log(JSON.stringify({ ready: browser.version() }));
for await (const line of readline.createInterface({ input: process.stdin })) {
  const step = JSON.parse(line);
  const answer = await act(step).then((result) => ({ result: Buffer.isBuffer(result) ? null : result }), (error) => ({ error: error.message }));
  console.log(JSON.stringify(answer));
}
await browser.close();
