// Elements, dates and diffs. Data reaches the page only as text nodes.

// Control, invisible and direction characters, which could hide or reorder what a user approves.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb]|(?<!\p{Extended_Pictographic})\ufe0f|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

export function visible(text) {
  return String(text ?? "").replace(/\r\n/g, "\n").replace(HIDDEN, (one) => {
    return `<U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

/** An element: `el("p.note", { title: "x", onclick }, "text", child)`. Strings become text nodes. */
export function el(name, properties = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (typeof value === "boolean") made.toggleAttribute(key, value);
    else if (value !== null && value !== undefined) made.setAttribute(key, visible(value));
  }
  append(made, children);
  return made;
}

function append(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child instanceof Node) parent.append(child);
    else if (child !== null && child !== undefined && child !== "") parent.append(visible(child));
  }
}

export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

export const button = (label, onclick, more = {}) => el("button", { type: "button", onclick, ...more }, label);

let serial = 0;

/** A control with its label. */
export function field(label, control) {
  control.id ||= `field-${++serial}`;
  return el("div.field", {}, el("label", { for: control.id }, label), control);
}

export const section = (title, ...children) => el("section", {}, el("h3", {}, title), ...children);
export const panel = (title, ...children) => el("section.panel", {}, el("h2", {}, title), ...children);

const TIME = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DATE_TIME = new Intl.DateTimeFormat([], { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
const NUMBER = new Intl.NumberFormat("en");
export const clock = (seconds) => (seconds ? TIME.format(seconds * 1000) : "");
export const moment = (time) => (typeof time === "string" ? time : time ? DATE_TIME.format(time * 1000) : "");
export const count = (number) => NUMBER.format(number ?? 0);
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

const KINDS = { "+": "added", "-": "removed", "@": "place" };

/** A unified diff, with one element for each run of lines of a kind. */
export function diff(text) {
  const made = el("pre.diff");
  let kind = null;
  let run = [];
  const flush = () => {
    if (run.length) made.append(el(kind ? `span.${kind}` : "span", {}, `${run.join("\n")}\n`));
    run = [];
  };
  for (const line of visible(text).replace(/\n$/, "").split("\n")) {
    const next = /^(\+\+\+|---) /.test(line) ? "file" : KINDS[line[0]];
    if (next !== kind) flush();
    kind = next;
    run.push(line);
  }
  flush();
  return made;
}

/** Files with their diffs; each can be folded. */
export function files(list, open = true) {
  if (!list.length) return el("p.note", {}, "No file changes.");
  return el("div.files", {}, list.map((file) => {
    const body = file.binary ? el("p.note", {}, "Binary file.") : file.diff ? diff(file.diff) : el("p.note", {}, "No text changes.");
    return el("details", { open }, el("summary", {}, el("code", {}, file.path), file.kind ? ` ${file.kind}` : ""), body);
  }));
}

const LARGE = 100_000;

/** A long text, of which the first part is laid out at once and the rest when asked for. */
export function longText(text, name) {
  const block = el("pre.text", { tabindex: "0", role: "group", "aria-label": name }, text.slice(0, LARGE));
  if (text.length <= LARGE) return block;
  const rest = button(`Show all ${count(text.length)} characters`, () => {
    fill(block, text);
    rest.remove();
  });
  return el("div", {}, block, rest);
}

/** Ask for confirmation in a modal dialog; resolves to true when confirmed. */
export function confirm({ title, body, action, danger = false }) {
  return new Promise((resolve) => {
    const id = `dialog-${++serial}`;
    const dialog = el("dialog", { "aria-labelledby": id, onclose: () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    } },
    el("h2", { id }, title),
    el("div.dialog-body", { tabindex: "0", role: "group", "aria-label": "Details" }, body),
    el("footer", {}, button("Cancel", () => dialog.close("no")),
      action ? button(action, () => dialog.close("yes"), { class: danger ? "danger" : "primary" }) : null));
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A list beside the details of what is chosen in it; on a narrow screen one of them is shown. */
export function split(list, pane) {
  const frame = el("div.split", {}, list, pane);
  let from = null;
  const show = (...children) => {
    if (!frame.classList.contains("open")) from = document.activeElement;
    fill(pane, button("Back to the list", () => {
      frame.classList.remove("open");
      from?.focus();
    }, { class: "back" }), ...children);
    frame.classList.add("open");
    pane.scrollTop = 0;
  };
  return { frame, show };
}

export function announce(text) {
  fill(document.getElementById("announce"), text);
}

/** Wait until the browser has drawn and handled input. */
export const pause = () => new Promise((resume) => { setTimeout(resume); });
