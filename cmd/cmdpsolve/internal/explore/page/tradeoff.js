// The trade-off curve between two returns, with the plan as a point that can be moved.
import { latest, short, el, byId, axis, color } from "./ask.js";
import { questionOf } from "./limits.js";

export class Tradeoff {
  constructor(page, apply) {
    Object.assign(this, { page, apply, ask: latest("front"), key: "", points: [], plot: null });
    this.handle = el("button", { type: "button", class: "handle", role: "slider", "aria-label": "Limit on the return across", hidden: true });
    this.handle.addEventListener("pointerdown", (e) => { this.handle.setPointerCapture(e.pointerId); this.moving = true; });
    this.handle.addEventListener("pointermove", (e) => { if (this.moving) this.drag(e.clientX); });
    for (const name of ["pointerup", "pointercancel"]) this.handle.addEventListener(name, () => { this.moving = false; });
    this.handle.addEventListener("keydown", (e) => this.keys(e));
    this.stage = el("div");
    byId("curve").append(this.stage, this.handle);
    const names = page.about.returns.map((r) => r.name);
    const { goal, limits } = page.state;
    this.up = names.includes(goal.return) ? goal.return : names[0];
    this.across = limits.map((l) => l.return).find((n) => n !== this.up && names.includes(n)) ?? names.find((n) => n !== this.up);
    for (const id of ["across", "up"]) {
      byId(id).addEventListener("change", (e) => {
        const other = id === "up" ? "across" : "up";
        if (this[other] === e.target.value) this[other] = this[id];
        this[id] = e.target.value;
        this.refresh();
      });
    }
    new ResizeObserver(() => this.redraw()).observe(byId("curve"));
  }

  // sign is 1 for a return that is to be large, as the goal or a limit has it.
  sign(name) {
    const { goal, limits } = this.page.state;
    if (goal.return === name) return goal.kind === "maximize" ? 1 : -1;
    const limit = limits.find((l) => l.on && l.return === name) ?? limits.find((l) => l.return === name);
    return limit?.kind === "at_least" ? 1 : -1;
  }

  stop() { this.ask.stop(); }

  async refresh() {
    const names = this.page.about.returns.map((r) => r.name);
    for (const id of ["across", "up"]) byId(id).replaceChildren(...names.map((n) => el("option", { value: n, selected: n === this[id] }, n)));
    const question = questionOf(this.page);
    question.limits = question.limits.filter((l) => l.return !== this.across && l.return !== this.up);
    Object.assign(question, { goal: null, keep: [], id: this.page.about.tails.length ? this.page.now?.id : 0, over: [this.across, this.up], signs: [this.sign(this.across), this.sign(this.up)] });
    const key = JSON.stringify(question);
    if (key === this.key) { this.redraw(); return; }
    this.key = key;
    this.points = [];
    this.redraw();
    byId("curve-note").textContent = "The curve is being computed.";
    try {
      const found = [];
      const answer = await this.ask(question, (p) => { found.push(p); if (this.key === key) { this.points = ordered(found); this.redraw(); } });
      if (this.key !== key) return;
      if (!answer) { this.key = ""; return; }
      this.points = ordered(answer.points);
      byId("curve-note").textContent = answer.points.length === 0
        ? "No policy keeps the other limits, or no curve was found." : "What policies reach if " + this.across + " is limited, the other limits as they are. " + (answer.error === null ? "Totals are rounded: how far other policies reach is not known." : "No policy lies beyond the curve by more than " + short(answer.error, 2) + ", which is certified.") + " Drag the point, or move it with the arrow keys.";
      this.redraw();
    } catch (err) {
      this.key = "";
      byId("curve-note").textContent = err.message;
    }
  }

  // redraw draws the curve anew.
  redraw() {
    const root = byId("curve"), { now, kept } = this.page;
    if (!now || root.clientWidth < 50) return;
    const all = [...this.points, this.at(now), this.at(kept)].filter(Boolean);
    if (all.length === 0) return;
    const span = (i) => {
      const v = all.map((p) => p[i]), low = Math.min(...v), high = Math.max(...v), room = 0.06 * (high - low || Math.abs(high) || 1);
      return [low - room, high + room];
    };
    this.plot?.destroy();
    this.plot = new uPlot({
      width: root.clientWidth, height: Math.max(240, Math.min(340, root.clientWidth * 0.62)), cursor: { show: false }, legend: { show: false },
      scales: { x: { time: false, range: span(0) }, y: { range: span(1) } }, axes: [axis(this.across), axis(this.up, 64)],
      series: [{}, { stroke: color("now"), width: 2, points: { show: this.points.length < 30, size: 5, fill: color("now") } }],
      hooks: { draw: [(u) => { this.marks(u); this.place(u); }] },
    }, [this.points.map((p) => p[0]), this.points.map((p) => p[1])], this.stage);
  }

  // follow moves point and limit to the plan, over the curve as it is.
  follow() {
    const here = this.at(this.page.now), { x, y } = this.plot?.scales ?? {};
    if (!here || !x || here[0] < x.min || here[0] > x.max || here[1] < y.min || here[1] > y.max) this.redraw();
    else this.plot.redraw(false, false);
  }

  // at returns where a plan is, null for none.
  at(plan) {
    const r = plan?.report.returns, x = r?.[this.across], y = r?.[this.up];
    return Number.isFinite(x) && Number.isFinite(y) ? [x, y] : null;
  }

  // marks draws the limit across and the kept plan.
  marks(u) {
    const { kept, state } = this.page, there = this.at(kept), limit = state.limits.find((l) => l.on && l.return === this.across);
    const c = u.ctx;
    c.save();
    if (limit && limit.value >= u.scales.x.min && limit.value <= u.scales.x.max) {
      const x = u.valToPos(limit.value, "x", true);
      c.strokeStyle = color("limit");
      c.setLineDash([6, 4]);
      c.lineWidth = 2;
      c.beginPath();
      c.moveTo(x, u.bbox.top);
      c.lineTo(x, u.bbox.top + u.bbox.height);
      c.stroke();
    }
    if (there) {
      const x = u.valToPos(there[0], "x", true), y = u.valToPos(there[1], "y", true), r = 8 * devicePixelRatio;
      c.setLineDash([]);
      c.fillStyle = color("kept");
      c.beginPath();
      c.moveTo(x, y - r);
      c.lineTo(x + r, y);
      c.lineTo(x, y + r);
      c.lineTo(x - r, y);
      c.fill();
    }
    c.restore();
  }

  // place puts the point where the plan is.
  place(u) {
    const here = this.at(this.page.now);
    this.handle.hidden = !here;
    if (!here) return;
    const infeasible = this.page.now.report.status === "infeasible";
    const over = u.over.getBoundingClientRect(), root = byId("curve").getBoundingClientRect();
    this.handle.style.left = over.left - root.left + u.valToPos(here[0], "x") + "px";
    this.handle.style.top = over.top - root.top + u.valToPos(here[1], "y") + "px";
    this.handle.classList.toggle("off", infeasible);
    this.handle.setAttribute("aria-valuenow", here[0]);
    this.handle.setAttribute("aria-valuetext", `${this.across} ${short(here[0])}, ${this.up} ${short(here[1])}`);
    this.handle.title = (infeasible ? "nearest returns: " : "") + this.handle.getAttribute("aria-valuetext");
  }

  drag(clientX) {
    const box = this.plot.over.getBoundingClientRect();
    this.move(this.plot.posToVal(clientX - box.left, "x"));
  }

  keys(e) {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[e.key];
    if (!way) return;
    e.preventDefault();
    const { min, max } = this.plot.scales.x, limit = this.limit();
    this.move((limit?.value ?? this.page.now.report.returns[this.across]) + way * (max - min) / 100);
  }

  limit() {
    const kind = this.sign(this.across) > 0 ? "at_least" : "at_most";
    return this.page.state.limits.find((l) => l.on && l.return === this.across && l.kind === kind);
  }

  // move limits the return across.
  move(x) {
    const { min, max } = this.plot.scales.x;
    this.apply({ kind: this.sign(this.across) > 0 ? "at_least" : "at_most", return: this.across, value: Number(Math.min(max, Math.max(min, x)).toPrecision(4)) });
  }
}

// ordered sorts points by what is across.
function ordered(points) {
  return [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}
