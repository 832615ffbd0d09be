// The page: what is asked of the plan, when it is asked, and what is shown of the answer.
import { ask, short, el, byId } from "./ask.js";
import { Limits, newState, readHash, writeHash, questionOf } from "./limits.js";
import { showPlan } from "./plan.js";
import { Tradeoff } from "./tradeoff.js";
import { Returns } from "./returns.js";
import { Policy } from "./policy.js";
import { Fleet } from "./fleet.js";
import { saving } from "./save.js";

const about = await ask("about", {});
const page = { about, state: readHash(about) ?? newState(about), now: null, kept: null };
document.title = about.title + " · cmdpsolve explore";
byId("title").textContent = about.title;
byId("size").textContent = about.size;
byId("others").textContent = about.others.length ? "Limits on single episodes stay as the problem has them: " + about.others.join(", ") + "." : "";
byId("tradeoff").hidden = about.game || about.returns.length < 2;
byId("returns").hidden = about.game;

// The theme is that of the system until it is chosen.
const dark = matchMedia("(prefers-color-scheme: dark)");
function theme(name) {
  document.documentElement.dataset.theme = name;
  for (const part of parts) part.redraw();
}
const parts = [];
dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
byId("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
document.documentElement.dataset.theme = dark.matches ? "dark" : "light";

const limits = new Limits(page, changed, regiven);
const tradeoff = about.game || about.returns.length < 2 ? null : new Tradeoff(page, (limit) => { limits.set(limit); changed(); });
const returns = about.game ? null : new Returns(page);
const policy = new Policy(page);
const fleet = about.fleet ? new Fleet(page) : null;
parts.push(...[fleet, tradeoff, returns, policy].filter(Boolean));
saving(page);

// One plan is under way at a time. What is asked meanwhile waits for it for a moment, so that
// something is seen while a slider moves; then the plan is out of date and is cancelled.
const patience = 150; // milliseconds
let under = null, waiting = false, begun = 0;

// Pictures are asked for when the numbers stand for a moment, so that they do not delay the next plan.
const pause = 50; // milliseconds
let later = 0;

// The address is written when the limits rest: browsers allow it a few times a second.
const rest = 200; // milliseconds
let noting = 0;

function changed() {
  clearTimeout(noting);
  noting = setTimeout(() => writeHash(page), rest);
  limits.refresh();
  clearTimeout(later);
  for (const part of parts) part.stop();
  if (!under) { plan(); return; }
  waiting = true;
  setTimeout(() => { if (waiting && performance.now() - begun >= patience) under?.abort(); }, Math.max(0, patience - (performance.now() - begun)));
}

// regiven asks for the problem with other values, of which another model is made. Limits that stood where the problem has them go
// along with it.
let asked = 0;
async function regiven() {
  const mine = ++asked;
  try {
    const next = await ask("about", { given: page.state.given });
    if (mine !== asked) return;
    for (const l of page.state.limits) {
      const was = page.about.limits.find((x) => x.kind === l.kind && x.return === l.return);
      const is = next.limits.find((x) => x.kind === l.kind && x.return === l.return);
      if (was && is && was.value === l.value) l.value = is.value;
    }
    // What the controls start from is the problem as it was called for.
    page.about = { ...next, always: about.always, constants: about.constants };
    byId("size").textContent = next.size;
    limits.build();
    changed();
  } catch (err) {
    if (mine !== asked) return;
    fail(err);
    limits.build();
  }
}

async function plan() {
  const mine = under = new AbortController();
  waiting = false;
  begun = performance.now();
  const question = questionOf(page);
  const busy = setTimeout(() => { byId("busy").hidden = false; byId("step").textContent = "planning"; }, 200);
  try {
    const answer = await ask("plan", question, { signal: mine.signal, onProgress: (p) => {
      if (p.early) {
        if (!mine.signal.aborted) show({ ...p.early, early: true }, question);
        if (waiting) mine.abort(); // these numbers were seen, and are out of date
        return;
      }
      clearTimeout(busy); // "planning" says less
      byId("busy").hidden = false;
      const objective = p.objective === null ? "looking for a policy that keeps the limits" : "objective " + short(p.objective, 4) + (p.bound === null ? "" : ", bound " + short(p.bound, 4));
      byId("step").textContent = p.iterations + " value iterations, " + objective;
    } });
    show(answer, question);
  } catch (err) {
    if (!mine.signal.aborted) fail(err);
    else if (!waiting) { verdict("cancelled", "bad"); }
  } finally {
    clearTimeout(busy);
    byId("busy").hidden = true;
    under = null;
    if (waiting) plan();
  }
}

function verdict(text, kind) {
  const pill = byId("verdict");
  pill.textContent = text;
  pill.className = "pill " + kind;
}

function fail(err) {
  verdict("error", "bad");
  byId("wanted").textContent = err.message;
}

function show(answer, question) {
  page.now = { ...answer, question };
  const report = answer.report;
  const name = report.verdict ?? report.status;
  verdict(name, ["optimal", "approachable", "minimax"].includes(name) ? "good" : "bad");
  byId("wanted").textContent = answer.wanted + " · " + short(1000 * answer.seconds, 3) + " ms";
  showNumbers();
  byId("keep").disabled = Boolean(answer.early);
  clearTimeout(later);
  document.body.toggleAttribute("data-refining", Boolean(answer.early)); // for tests
  if (answer.early) return;
  document.body.dataset.plan = String(Number(document.body.dataset.plan ?? 0) + 1);
  later = setTimeout(showPictures, pause);
}

function showNumbers() {
  showPlan(page, (limit) => { limits.set(limit); changed(); });
  limits.refresh();
  tradeoff?.follow();
}

async function showPictures() {
  const plan = document.body.dataset.plan;
  await Promise.all(parts.map((part) => part.refresh()));
  document.body.dataset.drawn = plan; // for tests
}

function refresh() {
  showNumbers();
  showPictures();
}

byId("cancel").addEventListener("click", () => { waiting = false; under?.abort(); });
byId("keep").addEventListener("click", () => { page.kept = page.now; byId("drop").hidden = false; refresh(); });
byId("drop").addEventListener("click", () => { page.kept = null; byId("drop").hidden = true; refresh(); });
byId("reset").addEventListener("click", () => { page.state = newState(about); page.about = about; byId("size").textContent = about.size; limits.build(); changed(); });

// A server that has stopped is noticed without a question, too.
const look = 3000; // milliseconds
setInterval(async () => {
  if (document.hidden) return;
  try {
    await fetch("page.css", { method: "HEAD" });
  } catch {
    byId("stopped").hidden = false;
  }
}, look);
addEventListener("hashchange", () => {
  const state = readHash(about);
  if (state) { page.state = state; limits.build(); regiven(); }
});

limits.build();
if (Object.values(page.state.given).some((of) => Object.keys(of).length > 0)) regiven();
else plan();
