// The plan in numbers, beside the one that is kept, and why there is none.
import { short, el, byId } from "./ask.js";

// showPlan shows the last plan. apply sets a limit.
export function showPlan(page, apply) {
  const { now, kept, about } = page;
  const rows = [];
  const value = (plan, read) => (plan ? read(plan.report) ?? null : undefined);
  const add = (name, read, kind) => rows.push([name, value(now, read), value(kept, read), kind]);
  if (about.game && now.report.verdict !== "minimax") {
    add("gap at least", (r) => r.gap_lower, "main");
    add("gap at most", (r) => r.gap_upper, "main");
  } else {
    add("objective", (r) => r.objective, "main");
    add("certified bound", (r) => r.bound);
    add("certified gap", (r) => (r.objective === null || r.bound === null ? null : Math.abs(r.objective - r.bound)), "small");
  }
  for (const { name } of about.returns) add(name, (r) => r.returns?.[name]);
  add("violation", (r) => (r.violation === undefined || r.violation === null ? null : r.violation > (r.tolerance ?? 0) ? r.violation : 0));
  if (now.report.randomized !== undefined) add("randomised in", (r) => r.randomized);
  const digits = now.early ? 4 : 6;
  const cell = (x, kind) => el("td", {}, x === undefined ? "" : kind === "small" && x !== null && x < 1e-9 ? "≤ 1e-9" : short(x, digits));
  const swatch = (name) => { const s = el("span", { class: "swatch" }); s.style.background = "var(--" + name + ")"; return s; };
  const head = el("tr", {}, el("th", { scope: "col" }, ""), el("th", { scope: "col" }, swatch("now"), "now"));
  if (kept) head.append(el("th", { scope: "col" }, swatch("kept"), "kept"), el("th", { scope: "col" }, "difference"));
  byId("numbers").replaceChildren(el("thead", {}, head), el("tbody", {}, ...rows.filter((r) => r[1] !== null || r[2]).map(([name, x, y, kind]) => {
    const row = el("tr", { class: kind === "main" ? "main" : null }, el("th", { scope: "row" }, name), cell(x, kind));
    if (kept) row.append(cell(y, kind), el("td", {}, Number.isFinite(x) && Number.isFinite(y) && kind !== "small" ? short(difference(x, y), 4) : ""));
    return row;
  })));
  const why = byId("why");
  const infeasible = now.report.status === "infeasible";
  why.hidden = !infeasible;
  byId("notes").textContent = infeasible ? "" : now.notes.join(" ");
  if (infeasible) why.replaceChildren(...now.notes.map((n) => el("p", {}, n)), relaxations(now.conflict ?? [], apply));
}

// difference is 0 for what is rounding beside the numbers.
function difference(x, y) {
  return Math.abs(x - y) <= 1e-9 * Math.max(Math.abs(x), Math.abs(y)) ? 0 : x - y;
}

// relaxations lists how far each limit in conflict alone would have to give.
function relaxations(conflict, apply) {
  if (conflict.length === 0) return el("span");
  return el("ul", {}, ...conflict.map((c) => {
    if (c.probability !== undefined) return el("li", {}, c.constraint + " can be kept with probability " + short(c.probability, 4) + ".");
    if (c.unknown) return el("li", {}, c.constraint + ": how far it alone would have to give is not known.");
    if (c.give === null) return el("li", {}, c.constraint + ": no value of it alone is enough.");
    // A little more than needed, so that rounding does not spoil it.
    const up = c.kind === "at_least" ? -1 : 1;
    const value = c.needed === null ? outward(c.give, 1) : outward(c.needed, up);
    const text = c.needed === null ? "the target grown by " + short(value) : c.constraint.split(/ [≤≥] /)[0] + " " + (c.constraint.includes(" ≥ ") ? "≥" : "≤") + " " + short(value);
    const known = c.kind === "at_least" || c.kind === "at_most" || c.needed === null;
    return el("li", {}, c.constraint + " alone would have to give " + short(c.give, 4) + ". ",
      known ? el("button", { type: "button", click: () => apply({ kind: c.needed === null ? "target" : c.kind, return: c.return, value }) }, "Set " + text) : text + " is enough.");
  }));
}

// outward rounds to five digits in a direction.
function outward(x, sign) {
  if (x === 0) return sign * 1e-9;
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(x))) - 4);
  const n = sign > 0 ? Math.ceil(x / unit + 1e-6) : Math.floor(x / unit - 1e-6);
  return Number((n * unit).toPrecision(8));
}

