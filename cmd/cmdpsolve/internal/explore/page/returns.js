// The distribution of the returns of an episode: computed where they can be counted, else of episodes played.
import { latest, short, el, byId, axis, color } from "./ask.js";

const count = 2000, bins = 40;

export class Returns {
  constructor(page) {
    Object.assign(this, { page, ask: latest("episodes"), askKept: latest("episodes"), plays: new Map(), plot: null });
    this.which = page.state.limits.map((l) => l.return).find((n) => page.about.returns.some((r) => r.name === n)) ?? page.about.returns[0].name;
    byId("which").replaceChildren(...page.about.returns.map(({ name }) => el("option", { value: name, selected: name === this.which }, name)));
    byId("which").addEventListener("change", (e) => { this.which = e.target.value; this.redraw(); });
    if (page.about.average) byId("h-returns").textContent = "Means of 1000 steps";
    new ResizeObserver(() => this.redraw()).observe(byId("histogram"));
  }

  stop() { this.ask.stop(); this.askKept.stop(); }

  async refresh() {
    const { now, kept } = this.page;
    this.redraw();
    const seen = [now?.id, kept?.id];
    for (const id of this.plays.keys()) if (!seen.includes(id)) this.plays.delete(id);
    if (!now.id) { byId("returns-note").textContent = ""; return; }
    try {
      if (!this.plays.has(now.id)) {
        const answer = await this.ask({ id: now.id, given: now.question.given, seed: 1, count });
        if (!answer) return;
        this.plays.set(now.id, answer);
      }
      if (kept?.id && !this.plays.has(kept.id)) {
        const answer = await this.askKept({ id: kept.id, given: kept.question.given, seed: 1, count });
        if (answer) this.plays.set(kept.id, answer);
      }
      this.redraw();
    } catch (err) {
      byId("returns-note").textContent = err.message;
    }
  }

  redraw() {
    const root = byId("histogram"), { now, kept, state, about } = this.page;
    const i = about.returns.findIndex((r) => r.name === this.which);
    const play = this.plays.get(now?.id), other = this.plays.get(kept?.id);
    if (!play || root.clientWidth < 50) return;
    const mine = play.returns[i], theirs = other?.returns[i];
    const h = histogram([mine, ...(theirs ? [theirs] : [])]);
    const bars = uPlot.paths.bars({ size: [0.9, 60] });
    const series = (name) => ({ stroke: color(name), fill: color(name) + "88", width: 1, paths: bars, points: { show: false } });
    this.plot?.destroy();
    this.plot = new uPlot({
      width: root.clientWidth, height: Math.max(240, Math.min(340, root.clientWidth * 0.62)), cursor: { show: false }, legend: { show: false },
      scales: { x: { time: false, range: () => h.range }, y: { range: (u, low, high) => [0, Math.max(1e-9, high) * 1.08] } },
      axes: [axis(this.which), axis("share of episodes", 60)],
      series: [{}, series("now"), ...(theirs ? [series("kept")] : [])],
      hooks: { draw: [(u) => {
        for (const l of state.limits.filter((l) => l.on && l.return === this.which)) line(u, l.value, color("limit"), [6, 4]);
        line(u, mine.mean, color("now"), []);
        if (other) line(u, theirs.mean, color("kept"), []);
      }] },
    }, [h.at, ...h.shares], root);
    const beyond = state.limits.filter((l) => l.on && l.return === this.which).map((l) => {
      const past = (x) => (l.kind === "at_most" ? x > l.value + 1e-9 * Math.abs(l.value) : x < l.value - 1e-9 * Math.abs(l.value));
      const part = mine.values.reduce((sum, x, j) => sum + (past(x) ? mine.shares[j] : 0), 0);
      return `${short(100 * part, 3)} % of the episodes are ${l.kind === "at_most" ? "above" : "below"} the limit, which is one on the mean.`;
    });
    const how = mine.exact ? `Computed exactly: mean ${short(mine.mean, 4)}. ` : `${play.played} episodes were played: mean ${short(mine.mean, 4)} ± ${short(mine.half, 2)} (95 %). `;
    byId("returns-note").textContent = how + beyond.join(" ");
  }
}

function line(u, x, stroke, dash) {
  if (!(x >= u.scales.x.min && x <= u.scales.x.max)) return;
  const c = u.ctx, at = u.valToPos(x, "x", true);
  c.save();
  c.strokeStyle = stroke;
  c.lineWidth = 2 * devicePixelRatio;
  c.setLineDash(dash.map((d) => d * devicePixelRatio));
  c.beginPath();
  c.moveTo(at, u.bbox.top);
  c.lineTo(at, u.bbox.top + u.bbox.height);
  c.stroke();
  c.restore();
}

// histogram adds up the shares of values: each by itself if there are few, else in bins.
function histogram(lists) {
  const all = lists.flatMap((list) => list.values), distinct = [...new Set(all.map((x) => Number(x.toPrecision(9))))].sort((a, b) => a - b);
  let low = Infinity, high = -Infinity;
  for (const x of all) { low = Math.min(low, x); high = Math.max(high, x); }
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  let at, place;
  if (distinct.length <= bins) {
    at = distinct;
    const index = new Map(distinct.map((x, i) => [x, i]));
    place = (x) => index.get(Number(x.toPrecision(9)));
  } else {
    const width = (high - low) / bins;
    at = Array.from({ length: bins }, (_, i) => low + (i + 0.5) * width);
    place = (x) => Math.min(bins - 1, Math.floor((x - low) / width));
  }
  const shares = lists.map((list) => {
    const n = new Array(at.length).fill(0);
    list.values.forEach((x, j) => { n[place(x)] += list.shares[j]; });
    return n;
  });
  return { at, shares, range: [low - room, high + room] };
}
