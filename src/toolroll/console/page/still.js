// What acts takes input only when it, and what it would act on, has been where and as it is for a while.

import { announce } from "./dom.js";

const SETTLE_MS = 400;
const ACTS = "button.danger, button.primary, button.act, .buttons button";
const drawn = new Map(); // element -> what it looks like, and the timer until which that is too new
let early = null; // what was pressed too early: its click does not count either

/** What a person sees before pressing: the place and the words, of a question with what it asks. */
function look(element) {
  const { x, y, width, height } = element.getBoundingClientRect();
  return [x, y, width, height].map(Math.round).join() + element.textContent + (element.closest("[data-shown]")?.dataset.shown ?? "");
}

function check(element) {
  const shown = look(element);
  const known = drawn.get(element);
  if (known?.shown === shown) return;
  clearTimeout(known?.timer);
  element.setAttribute("aria-disabled", "true");
  drawn.set(element, { shown, timer: setTimeout(() => {
    if (look(element) !== shown) return check(element);
    drawn.get(element).timer = 0;
    return element.removeAttribute("aria-disabled");
  }, SETTLE_MS) });
}

function checkAll() {
  for (const element of drawn.keys()) {
    if (element.isConnected) continue;
    clearTimeout(drawn.get(element).timer);
    drawn.delete(element);
  }
  for (const element of document.querySelectorAll(ACTS)) check(element);
}

function guard(event) {
  const element = event.target.closest?.(ACTS);
  if (!element) return;
  check(element);
  const refused = Boolean(drawn.get(element).timer) || (event.detail > 0 && early === element);
  if (event.type === "pointerdown") early = refused ? element : null;
  if (!refused) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (event.type === "click") announce("Not taken: what it acts on had just moved or changed. Look, and press again.");
}

/** Watch the page. A change is seen before the next input is; what moves without one is seen when it is pressed. */
export function keepStill() {
  new MutationObserver((changes) => {
    if (changes.some((one) => one.attributeName !== "aria-disabled")) checkAll();
  }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  for (const name of ["scroll", "resize", "load"]) addEventListener(name, checkAll, true);
  for (const name of ["pointerdown", "click"]) addEventListener(name, guard, true);
}
