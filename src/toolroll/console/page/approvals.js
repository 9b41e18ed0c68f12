// View "Approvals": what waits for an answer. A card can be approved only after it was on screen to its end.

import { announce, button, clock, confirm, diff, el, field, fill, plural, section } from "./dom.js";
import { showArguments } from "./live.js";
import { act, on, processes, request, selected } from "./net.js";

const SETTLE_MS = 400; // between the end of a question coming on screen and the first answer that counts
const CHOICES = [["once", "Approve once", "primary"], ["session", "For this session", ""], ["always", "Always", ""]];
const DONE = { once: "Applied: approved once.", session: "Applied: approved for this session.", always: "Applied: approved always.",
  no: "Applied: refused.", edited: "Applied: the edited call runs in its place, if the rules let it." };

const cards = new Map(); // process/id -> Card
let board = null;

export const waiting = () => [...cards.values()].filter((card) => card.open).length;

/** One question. It stays in its place after the answer, so that no button moves under the pointer. */
class Card {
  constructor(process, item) {
    this.process = process;
    this.about = processes.get(process) ?? { id: process };
    this.open = true;
    this.element = el("article.approval");
    this.set(item);
  }

  set(item) {
    this.item = item;
    this.seen = false;
    this.sending = false;
    this.note = el("p.outcome", { role: "status" });
    this.buttons = CHOICES.filter(([name]) => name === "once" || item.lasting).map(([name, label, kind]) => {
      return button(label, () => this.answer(name), { class: kind, disabled: true });
    });
    if (item.editable) this.buttons.push(button("Edit…", () => this.edit(), { disabled: true }));
    this.refuse = button("Refuse…", () => this.askReason(), { class: "danger" });
    this.end = el("p.end", {}, "End of the question");
    this.hint = el("p.hint", {}, "Scroll to the end to answer.");
    this.left = el("span.left");
    this.reason = el("div.reason");
    const id = `approval-${this.process}-${item.id}`.replace(/[^\w-]/g, "_");
    const { about } = this;
    this.element.setAttribute("aria-labelledby", id);
    this.element.dataset.shown = item.digest;
    fill(this.element,
      el("header", {}, el("h2", { id }, item.title || item.tool), el("p.facts", {},
        [item.tool, about.client, about.workspace, item.asked ? `asked ${clock(item.asked)}` : ""].filter(Boolean).join("  ·  "), this.left)),
      el("div.question", { tabindex: "0", role: "group", "aria-label": `What ${item.tool} would do` }, this.body(), this.end),
      el("footer", {}, this.hint, el("div.buttons", {}, this.buttons, this.refuse), this.reason, this.note));
    this.watch();
  }

  body() {
    const { text, diff: changes, runs, parts, effects, held, scope, lasting } = this.item;
    const lines = (title, values) => (values?.length ? section(title, el("ul", {}, values.map((one) => el("li", {}, el("code", {}, one))))) : null);
    return [
      text ? el("pre.text", {}, text) : null,
      changes ? section("Changes", diff(changes)) : null,
      lines("Runs", runs),
      parts?.length ? section("Parts of the command", el("dl.parts", {}, parts.map((one) => [el("dt", {}, el("code", {}, one.text)), el("dd", {}, one.why)]))) : null,
      lines("Effects", effects),
      held ? section("Effects seen in a trial run, held back", /^[-+@]/m.test(held) ? diff(held) : el("pre.text", {}, held)) : null,
      lasting && scope && !text?.includes(scope) ? section("An approval for the session or always covers", el("p", {}, el("code", {}, scope))) : null,
      text ? null : section("Arguments", showArguments(this.item.arguments)),
    ];
  }

  /** Enable the buttons when the end of the question has been on screen. */
  watch() {
    this.observer?.disconnect();
    this.observer = new IntersectionObserver((entries) => {
      if (!entries.some((one) => one.isIntersecting)) return;
      this.observer.disconnect();
      const { digest } = this.item;
      setTimeout(() => {
        if (!this.open || this.item.digest !== digest) return;
        this.seen = true;
        this.enable(true);
      }, SETTLE_MS);
    }, { threshold: 1 });
    this.observer.observe(this.end);
  }

  enable(yes) {
    for (const one of this.buttons) one.disabled = !(yes && this.seen);
    this.refuse.disabled = !yes;
    this.hint.style.visibility = this.seen ? "hidden" : ""; // it keeps its place
  }

  async answer(choice, { reason = "", values = null } = {}) {
    if (!this.open || this.sending || (choice !== "no" && !this.seen)) return;
    this.sending = true;
    this.enable(false);
    fill(this.note, "Sending…");
    try {
      const { id, digest } = this.item;
      const { state, why } = await act(this.about, "answer", { id, digest, answer: choice, reason, arguments: values });
      this.settle(state, why, values ? "edited" : choice);
    } catch (error) {
      this.sending = false;
      this.enable(true);
      fill(this.note, `Not applied: ${error.message}`);
    }
  }

  settle(state, why, choice) {
    const said = why ? ` ${why}` : "";
    this.sending = false;
    if (state === "applied") return this.close("applied", DONE[choice] + said);
    if (state === "changed") {
      fill(this.note, `Not applied: the question has changed. Read it again.${said}`);
      this.enable(true);
      return reload(this.process);
    }
    if (state === "refused") {
      fill(this.note, `Not applied: refused by the policy.${said}`);
      return this.enable(true);
    }
    return this.close("elsewhere", state === "late" ? `Too late.${said}` : `Not applied: answered elsewhere.${said}`);
  }

  close(kind, text) {
    this.open = false;
    this.element.style.minHeight = `${this.element.getBoundingClientRect().height}px`; // what is below stays where it is
    this.observer?.disconnect();
    this.element.classList.add("done", kind);
    this.element.querySelector(".buttons").remove();
    this.left.remove();
    fill(this.reason);
    fill(this.note, text);
    tell();
  }

  /** The process no longer waits for an answer, and this page did not give one. */
  vanish() {
    if (!this.open || this.sending) return;
    const over = this.item.ends && Date.now() / 1000 >= this.item.ends - 0.5;
    this.close("elsewhere", over ? "The time to answer ended." : "Answered elsewhere, or settled by another answer.");
  }

  tick(now) {
    if (!this.open || !this.item.ends) return;
    fill(this.left, `  ·  ${Math.max(0, Math.round(this.item.ends - now))} s left`);
  }

  askReason() {
    const reason = el("input", { type: "text", maxlength: "2000", placeholder: "The model reads this" });
    fill(this.reason, el("form", { onsubmit: (event) => {
      event.preventDefault();
      this.answer("no", { reason: reason.value.trim() });
    } }, field("Reason (optional)", reason), el("button.danger", { type: "submit" }, "Refuse"),
    button("Cancel", () => {
      fill(this.reason);
      this.refuse.focus();
    })));
    reason.focus();
  }

  /** Edit the arguments: text as it is, other values as JSON. */
  async edit() {
    const values = this.item.arguments ?? {};
    const inputs = Object.entries(values).map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      const input = el("textarea", { rows: Math.min(12, text.split("\n").length + 1), spellcheck: "false" });
      input.value = text;
      return [name, value, input];
    });
    const body = inputs.map(([name, , input]) => field(name, input));
    body.push(el("p.note", {}, "The edited call is judged again from the start. What the rules deny stays denied."));
    const yes = await confirm({ title: `Edit ${this.item.tool}`, body, action: "Approve the edited call once" });
    if (!yes) return;
    try {
      const edited = Object.fromEntries(inputs.map(([name, value, input]) => [name, typeof value === "string" ? input.value : JSON.parse(input.value)]));
      await this.answer("once", { values: edited });
    } catch (error) {
      fill(this.note, `Not sent: a value is not valid JSON (${error.message}).`);
    }
  }
}

function update(process, items) {
  const ids = new Set(items.map((one) => `${process}/${one.id}`));
  for (const [key, card] of cards) if (card.process === process && !ids.has(key)) card.vanish();
  for (const item of items) {
    const key = `${process}/${item.id}`;
    const card = cards.get(key);
    if (!card) cards.set(key, new Card(process, item));
    else if (card.open && card.item.digest !== item.digest) card.set(item);
  }
  tell(items);
  arrange();
}

let told = 0;
function tell() {
  const now = waiting();
  if (now > told) announce(`${plural(now, "approval")} waiting: ${[...cards.values()].filter((card) => card.open).map((card) => card.item.tool).join(", ")}`);
  told = now;
  document.title = now ? `(${now}) toolroll console` : "toolroll console";
  const badge = document.getElementById("waiting");
  if (badge) fill(badge, now || "");
}

function arrange() {
  if (!board?.isConnected) return;
  const shown = [...cards.values()].filter((card) => !selected() || card.process === selected()); // as they came
  for (const [index, card] of shown.entries()) {
    if (board.children[index] !== card.element) board.insertBefore(card.element, board.children[index] ?? null);
  }
  while (board.children.length > shown.length) board.lastChild.remove();
  board.nextSibling.hidden = shown.length > 0;
}

async function reload(process) {
  const answer = await request("approvals", {}, process).catch(() => null);
  if (answer) update(process, answer.waiting);
}

export function showApprovals(main) {
  for (const [key, card] of cards) if (!card.open) cards.delete(key); // answered before this visit
  board ??= el("div.board");
  const clear = button("Clear answered", () => {
    for (const [key, card] of cards) if (!card.open) cards.delete(key);
    arrange();
  });
  fill(main, el("div.toolbar", {}, el("p.note", {}, "The first answer counts, here, in the client or with “toolroll approve”."), clear),
    board, el("p.empty", {}, "Nothing waits for an approval."));
  arrange();
}

setInterval(() => {
  const now = Date.now() / 1000;
  for (const card of cards.values()) card.tick(now);
}, 1000);

on("approvals", ({ process, data }) => update(process, data.waiting));
on("processes", () => {
  for (const card of cards.values()) if (!processes.has(card.process)) card.vanish();
  for (const id of processes.keys()) reload(id);
});
on("chosen", arrange);
