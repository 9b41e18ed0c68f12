// A list of any length of which only the rows on screen exist.

import { el } from "./dom.js";

const OVERSCAN = 4;
const REFRESH_MS = 80; // data is drawn at most this often; scrolling at every frame
let rowSerial = 0;

/** Options of `count()` items; `draw(row, index)` fills a row, `pick(index)` is called when one is chosen. */
export class VirtualList {
  constructor(name, { count, draw, key, pick }) {
    Object.assign(this, { count, draw, key, pick });
    this.rows = new Map();
    this.spare = [];
    this.active = null; // key of the chosen item
    this.total = 0;
    this.queued = false;
    this.inner = el("div.rows", { role: "listbox", "aria-label": name, tabindex: "0", onkeydown: (event) => this.press(event) });
    this.frame = el("div.scroller", { onscroll: () => this.update() }, this.inner);
    this.inner.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (row) this.choose(row.index);
    });
    new ResizeObserver(() => this.measure()).observe(this.frame);
  }

  measure() {
    const before = this.height;
    this.height = parseFloat(getComputedStyle(this.frame).getPropertyValue("--row")) || 28;
    this.tall = this.frame.clientHeight;
    if (before !== this.height) [this.total, this.rows] = [-1, this.clear()];
    this.update();
  }

  clear() {
    for (const row of this.rows.values()) row.remove();
    return new Map();
  }

  /** Draw at the next frame. */
  update() {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      if (this.height) this.render();
    });
  }

  /** Draw soon: the data changed. `added` rows came above; what the user looks at stays where it is. */
  refresh(added = 0) {
    this.added = (this.added ?? 0) + added;
    this.timer ||= setTimeout(() => {
      this.timer = 0;
      this.update();
    }, REFRESH_MS);
  }

  render() {
    const total = this.count();
    const { frame, height } = this;
    if (total !== this.total) {
      this.total = total;
      this.inner.style.height = `${total * height}px`;
    }
    let top = frame.scrollTop;
    if (this.added && top > height / 2) {
      top += this.added * height;
      frame.scrollTop = top;
    }
    this.added = 0;
    const first = Math.max(0, Math.floor(top / height) - OVERSCAN);
    const last = Math.min(total, Math.ceil((top + this.tall) / height) + OVERSCAN);
    const wanted = new Map();
    for (let index = first; index < last; index += 1) wanted.set(this.key(index), index);
    for (const [key, row] of this.rows) {
      if (wanted.has(key)) continue;
      this.rows.delete(key);
      this.spare.push(row);
    }
    for (const [key, index] of wanted) this.place(key, index);
    for (const row of this.spare.splice(0)) row.remove();
  }

  place(key, index) {
    let row = this.rows.get(key);
    if (!row) {
      row = this.spare.pop() ?? el("div.row", { role: "option", id: `row-${++rowSerial}`, "aria-selected": "false" });
      this.rows.set(key, row);
      if (!row.isConnected) this.inner.append(row);
    }
    if (row.index !== index) {
      row.index = index;
      row.style.transform = `translateY(${index * this.height}px)`;
    }
    this.mark(row, key === this.active);
    this.draw(row, index);
  }

  mark(row, chosen) {
    if (row.chosen !== chosen) {
      row.chosen = chosen;
      row.setAttribute("aria-selected", chosen);
    }
    if (!chosen) return;
    this.inner.setAttribute("aria-activedescendant", row.id);
    row.setAttribute("aria-posinset", row.index + 1);
    row.setAttribute("aria-setsize", this.total);
  }

  position() {
    for (let index = 0; index < this.count(); index += 1) if (this.key(index) === this.active) return index;
    return -1;
  }

  choose(index) {
    if (index < 0 || index >= this.count()) return;
    this.active = this.key(index);
    const top = index * this.height;
    if (top < this.frame.scrollTop) this.frame.scrollTop = top;
    if (top + this.height > this.frame.scrollTop + this.tall) this.frame.scrollTop = top + this.height - this.tall;
    this.update();
    this.pick(index);
  }

  press(event) {
    const page = Math.max(1, Math.floor(this.tall / this.height) - 1);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page };
    const last = this.count() - 1;
    let next = null;
    if (event.key in steps) next = Math.max(0, Math.min(last, this.position() + steps[event.key]));
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = last;
    if (next === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.choose(next);
  }
}
