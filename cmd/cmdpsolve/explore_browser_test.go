package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cmdpsolve/benchmarks/harness"
	"cmdpsolve/cmd/cmdpsolve/internal/explore"
	"cmdpsolve/cmd/cmdpsolve/internal/report"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// state is the address part of a state of the page.
func state(t *testing.T, goal goalQuestion, limits ...map[string]any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"goal": goal, "inflate": 0, "limits": limits})
	if err != nil {
		t.Fatal(err)
	}
	return "#" + url.PathEscape(string(text))
}

func limitOf(name, kind string, value float64) map[string]any {
	return map[string]any{"return": name, "kind": kind, "value": value, "on": true}
}

const slider = `[data-limit="at_most hole"] input[type=range]`

func TestExploreInBrowser(t *testing.T) {
	t.Parallel()
	chrome := startBrowser(t)
	for name, try := range map[string]func(*testing.T,
		context.Context){"feasible": tryFeasible, "early": tryEarly, "infeasible": tryInfeasible,
		"cancelled": tryCancelled, "memory": tryMemory, "given": tryGiven, "stopped": tryStopped, "marks": tryMarks,
		"fleet": tryFleet, "width": tryWidth, "shown": tryShown, "links": tryLinks} {
		t.Run(name, func(t *testing.T) { try(t, chrome) })
	}
}

// tryFeasible moves what can be moved and looks at what is shown.
func tryFeasible(t *testing.T, chrome context.Context) {
	at := serve(t, "frozenlake8")
	b := open(t, chrome, at)
	if got := b.number(shownObjective); got != 0.904389 {
		t.Errorf("objective %v: want that of plan, 0.904389", got)
	}

	b.run(chromedp.Focus(slider), chromedp.KeyEvent(kb.ArrowRight))
	b.wait(shownObjective + " > 0.905")
	if hash := b.text("#wanted"); !strings.Contains(hash, "hole ≤ 0.0") {
		t.Errorf("wanted %q", hash)
	}

	// Pictures: the map has many colours, the curve and the histogram are not blank.
	b.wait(`document.querySelectorAll(".chart canvas").length === 2 && document.querySelector("#maps canvas")`)
	for _, canvas := range []string{"#maps canvas", "#curve canvas", "#histogram canvas"} {
		b.wait(fmt.Sprintf(`(() => { const c = document.querySelector(%q), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Set();
			for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i+1] << 8 | d[i+2]); return seen.size > 15; })()`, canvas))
	}

	// The point of the curve is dragged to the right: more risk, a better goal.
	b.wait(`document.querySelector("#curve-note").innerText.includes("certified") && !document.querySelector(".handle").hidden`)
	b.drawn() // until then the handle moves with the curve
	before := b.number(shownObjective)
	var box struct{ X, Y float64 }
	b.run(chromedp.ScrollIntoView(".handle"),
		chromedp.Evaluate(`(() => { const r = document.querySelector(".handle").getBoundingClientRect(); return {x: r.x + r.width/2, y: r.y + r.height/2}; })()`, &box))
	b.run(chromedp.MouseEvent(input.MousePressed, box.X, box.Y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.MouseMoved, box.X+20, box.Y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.MouseMoved, box.X+40, box.Y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.MouseReleased, box.X+40, box.Y, chromedp.ButtonLeft))
	b.wait(fmt.Sprintf("%s > %v + 0.001", shownObjective, before))

	b.wait(`[...document.querySelectorAll("#numbers tbody tr")].find((r) => r.innerText.startsWith("hole")).lastChild.innerText === document.querySelector('[data-limit="at_most hole"] input[type=number]').value`)

	// A reload keeps the state, a second tab has one of its own.
	b.drawn()
	after := b.number(shownObjective)
	b.wait(`decodeURIComponent(location.hash).includes('"value":' + document.querySelector('[data-limit="at_most hole"] input[type=number]').value)`)
	b.run(chromedp.Reload())
	b.wait(fmt.Sprintf("document.body.dataset.plan > 0 && %s === %v", shownObjective, after))
	other := open(t, chrome, at)
	if got := other.number(shownObjective); got != 0.904389 {
		t.Errorf("second tab: objective %v", got)
	}

	// Two plans side by side.
	other.drawn()
	other.run(chromedp.Click("#keep"), chromedp.Focus(slider), chromedp.KeyEvent(kb.ArrowRight))
	other.wait(`document.querySelectorAll("#numbers thead th").length === 4 && document.querySelectorAll("#maps canvas").length === 2 && ` + shownObjective + " > 0.905")

	// The table is searched, the files are shown.
	other.run(chromedp.Click(`[data-view="table"]`), chromedp.SendKeys("#search", "r3c"))
	other.wait(`[...document.querySelectorAll("#table tbody tr")].length === 8`)
	other.run(chromedp.Click(`[data-save="command"]`))
	other.wait(`/^cmdpsolve plan frozenlake8 --at-most hole=0\.0\d+ --policy policy.csv$/.test(document.querySelector("#save-text").innerText)`)
	other.run(chromedp.Click("#close"))

	for _, page := range []*tab{b, other} {
		if s := page.complaints(); s != "" {
			t.Errorf("the browser complains: %s", s)
		}
	}
}

// tryEarly: of a plan that takes long first numbers are shown, near those that stand in the end.
func tryEarly(t *testing.T, chrome context.Context) {
	b := open(t, chrome, serve(t, "garnet:S=1000,A=5,H=30,d=3,b=10"))
	b.drawn()
	b.run(chromedp.Evaluate(`window.seen = [];
		new MutationObserver(() => { if (document.body.hasAttribute("data-refining")) window.seen.push(Number(document.querySelector("#numbers tr.main td").innerText.replace("−", "-"))); })
			.observe(document.body, { attributeFilter: ["data-refining"] });`, nil),
		chromedp.Focus(".limit input[type=range]"), chromedp.KeyEvent(kb.ArrowRight))
	b.wait(`window.seen.length > 0 && document.body.dataset.plan > 1 && !document.body.hasAttribute("data-refining")`)
	last := b.number(shownObjective)
	if first := b.number("window.seen[0]"); math.Abs(first-last) > 0.01*math.Abs(last) {
		t.Errorf("first %v, in the end %v", first, last)
	}
	if s := b.complaints(); s != "" {
		t.Errorf("the browser complains: %s", s)
	}
}

// tryInfeasible: the page says which limits are in conflict, and its advice helps. Of the last one it is not told how
// far it would have to give.
func tryInfeasible(t *testing.T, chrome context.Context) {
	at := serveAnswers(t, "frozenlake8", func(answers map[string]explore.Answer) {
		plan := answers["plan"]
		answers["plan"] = func(ctx context.Context, question []byte, progress func(any)) (any, error) {
			answer, err := plan(ctx, question, progress)
			if a, is := answer.(*planAnswer); is && len(a.Conflict) > 0 {
				last := &a.Conflict[len(a.Conflict)-1]
				last.Unknown, last.Needed, last.Give = true, report.NaN, report.NaN
			}
			return answer, err
		}
	})
	b := open(t, chrome, at+state(t, goalQuestion{"maximize", "goal"}, limitOf("hole", "at_most", 0.002),
		limitOf("goal", "at_least", 0.9)))
	if got := b.text("#verdict"); got != "infeasible" {
		t.Fatalf("verdict %q", got)
	}
	if got := b.text("#why"); !strings.Contains(got,
		"No policy keeps both hole ≤ 0.002 and goal ≥ 0.9; each of them alone can be kept.") {
		t.Errorf("why: %s", got)
	}
	if got := b.text("#why li:last-child"); got != "goal ≥ 0.9: how far it alone would have to give is not known." {
		t.Errorf("of the last limit: %s", got)
	}
	b.run(chromedp.Click("#why li:first-child button"))
	b.wait(`document.querySelector("#verdict").innerText === "optimal"`)
	if got := b.number(shownObjective); got < 0.9 || got > 0.9001 {
		t.Errorf("objective %v: want just what was asked for", got)
	}
	// Limits that contradict each other in themselves.
	b.run(chromedp.Navigate("about:blank"),
		chromedp.Navigate(at+state(t, goalQuestion{"maximize", "goal"}, limitOf("goal", "at_least", 0.6),
			limitOf("goal", "at_most", 0.4))))
	b.wait(`document.querySelector("#why").innerText.includes("No policy keeps both goal ≥ 0.6 and goal ≤ 0.4")`)

	// Dark, and on a telephone: nothing sticks out.
	b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
		Value: "dark"}}), chromedp.EmulateViewport(375, 800), chromedp.Navigate("about:blank"), chromedp.Navigate(at))
	b.wait(`document.body.dataset.plan > 0 && document.documentElement.scrollWidth <= 375`)
	if dark := b.number(`Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0])`); dark > 60 {
		t.Errorf("the page is light in the dark: %v", dark)
	}
	if s := b.complaints(); s != "" {
		t.Errorf("the browser complains: %s", s)
	}
}

// tryCancelled: a plan that takes long shows its progress and can be cancelled, and one that is out of date
// gives way to the next. Until one has been cancelled plans take for ever: their solvers are held once they
// have shown progress.
func tryCancelled(t *testing.T, chrome context.Context) {
	ctx, cancel := chromedp.NewContext(chrome)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	b := &tab{TB: t, ctx: ctx}
	var cancelled atomic.Bool
	b.run(chromedp.Navigate(serveAnswers(t, "garnet:S=500,A=5,H=200,b=10,d=4", func(answers map[string]explore.Answer) {
		plan := answers["plan"]
		answers["plan"] = func(ctx context.Context, question []byte, progress func(any)) (any, error) {
			return plan(ctx, question, func(step any) {
				progress(step)
				if _, counts := step.(planStep); counts && !cancelled.Load() {
					<-ctx.Done()
				}
			})
		}
	})))
	b.wait(`!document.querySelector("#busy").hidden && document.querySelector("#step").innerText.includes("value iterations")`)
	// The text that grows stands behind the button, so that the button stays where it is.
	b.run(chromedp.Click("#cancel"))
	b.wait(`document.querySelector("#busy").hidden && document.querySelector("#verdict").innerText === "cancelled"`)
	cancelled.Store(true)
	// Limits far away make it a matter of a moment; what was asked before is given up.
	b.run(chromedp.Evaluate(`(() => { for (const f of document.querySelectorAll(".limit input[type=checkbox]")) f.click(); })()`, nil))
	b.wait(`document.querySelector("#verdict").innerText === "optimal" && !document.querySelector("#wanted").innerText.includes("≤")`)
}

// tryMemory: states with coordinates and different memories share a cell of the map.
func tryMemory(t *testing.T, chrome context.Context) {
	b := open(t, chrome, serve(t, "../../docs/examples/corridor.yaml"))
	b.wait(`document.querySelector("#maps canvas")`)
	b.wait(`window.said = (() => { // the map may be drawn anew at any time
		const canvas = document.querySelector("#maps canvas");
		for (let i = 0; i < 2; i++) canvas.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
		return document.querySelector("#maps .cell").innerText;
	})()`)
	var says string
	b.run(chromedp.Evaluate("window.said", &says))
	// The policy begins in the hall, goes left, and comes through again unless it fails to.
	if !strings.HasPrefix(says, "start · hall (key_first ") || !strings.Contains(says, ", …: 2") ||
		!strings.Contains(says, "left 4") || !strings.Contains(says, "right 5") {
		t.Errorf("the cell of the hall says %q", says)
	}
	if s := b.complaints(); s != "" {
		t.Errorf("the browser complains: %s", s)
	}
}

// tryGiven moves a constant of the file and a limit of every episode, of which other models are made, and types
// a probability that is none.
func tryGiven(t *testing.T, chrome context.Context) {
	const file = "../../docs/examples/delivery.yaml"
	url, stop := serveCommand(t, file)
	defer stop()
	b := open(t, chrome, url)
	b.drawn()
	if got := b.number(shownObjective); got != planned(t, file) {
		t.Errorf("objective %v: want %v", got, planned(t, file))
	}
	set := func(selector, value string) chromedp.Action {
		return chromedp.Evaluate(fmt.Sprintf(`(() => { const f = document.querySelector(%q); f.value = %q; f.dispatchEvent(new Event("change", {bubbles: true})); })()`, selector, value), nil)
	}
	shows := func(want float64) { b.wait(fmt.Sprintf("Math.abs(%s - %v) < 1e-9", shownObjective, want)) }
	// The constant is the limit on the crash, too, which goes along.
	b.run(set(`[data-given="risk"] input[type=number]`, "0.04"))
	shows(planned(t, file, "--set", "risk=0.04"))
	b.wait(`document.querySelector('[data-limit="at_most crash"] input[type=number]').value === "0.04"`)
	b.run(set(`[data-given="battery ≤"] input[type=number]`, "4"))
	four := filepath.Join(t.TempDir(), "four.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(four, []byte(strings.Replace(string(text), "at_most: charge,", "at_most: 4,", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	b.wait(`document.querySelector("#wanted").innerText.includes("battery ≤ 4 always")`)
	if want := planned(t, four, "--set", "risk=0.04"); math.IsNaN(want) {
		b.wait(`document.querySelector("#verdict").innerText === "infeasible"`)
	} else {
		shows(want)
	}
	// The address keeps both, and Reset takes them back.
	b.wait(`decodeURIComponent(location.hash).includes('"given":{"set":{"risk":0.04},"always":{"2":4},"width":{}}')`)
	b.run(chromedp.Reload())
	b.wait(`document.body.dataset.plan > 0 && document.querySelector("#wanted").innerText.includes("battery ≤ 4 always")`)
	b.drawn()
	b.run(chromedp.Click("#reset"))
	shows(planned(t, file))
	// A probability above 1 is refused, by the server where a constant makes it, else where it stands.
	b.run(set(`[data-given="wanted"] input[type=number]`, "1.5"))
	b.wait(`document.querySelector("#wanted").innerText.includes("delivered is a probability: want a limit from 0 to 1, not 1.5")`)
	b.run(chromedp.Click("#reset"))
	shows(planned(t, file))
	b.run(set(`[data-limit="at_most crash"] input[type=number]`, "1.5"))
	b.wait(`document.querySelector('[data-limit="at_most crash"] .wrong').innerText.includes("crash is a probability: want 0 to 1")`)
	shows(planned(t, file))
	// What a policy remembers is called by its name, and nothing is said of learning.
	b.wait(`document.querySelector("#table").innerText.includes("battery so far 2")`)
	if text := b.text("main"); strings.Contains(text, "For learn") {
		t.Errorf("the page speaks of learning: %s", text)
	}
	if s := b.complaints(); s != "" {
		t.Errorf("the browser complains: %s", s)
	}
}

// tryWidth moves the slider of how far probabilities may be off, of a file with intervals and of one without: the page
// shows what plan does, and says what returns can be. A width above 1 is refused.
func tryWidth(t *testing.T, chrome context.Context) {
	const slider, field = `[data-given="interval"] input[type=range]`, `[data-given="interval"] input[type=number]`
	for _, file := range []string{"../../docs/examples/parcel.yaml", "../../docs/examples/rover.yaml"} {
		url, stop := serveCommand(t, file)
		b := open(t, chrome, url)
		b.drawn()
		shows := func(want float64) { b.wait(fmt.Sprintf("Math.abs(%s - %v) < 1e-9", shownObjective, want)) }
		shows(planned(t, file))
		b.run(chromedp.Focus(slider), chromedp.KeyEvent(kb.ArrowRight))
		b.wait(fmt.Sprintf("document.querySelector(%q).value > 0", field))
		width := b.number(fmt.Sprintf("document.querySelector(%q).valueAsNumber", field))
		shows(planned(t, file, "--interval", strconv.FormatFloat(width, 'g', -1, 64)))
		b.wait(`document.querySelector("main").innerText.includes(" is between ")`)
		b.run(chromedp.Click(`[data-save="command"]`))
		b.wait(fmt.Sprintf(`document.querySelector("#save-text").innerText.includes("--interval %g")`, width))
		b.run(chromedp.Click("#close"), chromedp.Click("#reset"))
		shows(planned(t, file))
		b.run(chromedp.Evaluate(fmt.Sprintf(`(() => { const f = document.querySelector(%q); f.value = 2; f.dispatchEvent(new Event("change", {bubbles: true})); })()`, field), nil))
		b.wait(`document.querySelector("#wanted").innerText.includes("a width of 2: want 0 to 1")`)
		if s := b.complaints(); s != "" {
			t.Errorf("the browser complains: %s", s)
		}
		stop()
	}
}

// tryLinks: a page that is opened by a link has the goal, limits, values and target that the link has, and its address
// is that link.
func tryLinks(t *testing.T, chrome context.Context) {
	rng := rand.New(rand.NewPCG(92, 5))
	target := filepath.Join(t.TempDir(), "target.yaml")
	if err := os.WriteFile(target, []byte("format: cmdp/1\nhorizon: 2\nstates: 1\nstart: 0\nreturns: [gain, cost]\n"+
		"goal: {maximize: gain}\ntarget: {ball: {center: [0, 1], radius: 0.5}}\ntransitions:\n"+
		"  - {state: 0, action: 0, next: {0: 1}, returns: [0, 1]}\n"+
		"  - {state: 0, action: 1, next: {0: 1}, returns: [1, 0]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	grown := 0
	for _, file := range []string{target, "../../docs/examples/delivery.yaml", "../../docs/examples/parcel.yaml"} {
		at, stop := serveCommand(t, file)
		defer stop()
		about := pageOf(t, file).about
		for range 2 {
			limits, set, always, width := []any{}, map[string]any{}, map[string]any{}, map[string]any{}
			for _, r := range about.list("returns") {
				if rng.IntN(2) == 0 {
					of := map[string]any{"return": r.text("name"), "kind": []string{"at_least", "at_most"}[rng.IntN(2)],
						"value": (r.num("min") + r.num("max")) / 2, "on": rng.IntN(3) > 0}
					limits = append(limits, of)
				}
			}
			goal := map[string]any{"kind": []string{"maximize", "minimize"}[rng.IntN(2)],
				"return": about.list("returns")[rng.IntN(len(about.list("returns")))].text("name")}
			state := answer{"goal": goal, "inflate": 0.0, "limits": limits,
				"given": map[string]any{"set": set, "always": always, "width": width}}
			if about.is("target") {
				state["inflate"] = float64(1+rng.IntN(5)) / 8
				grown++
			}
			for _, l := range about.list("always") {
				always[fmt.Sprint(l.num("constraint"))] = l.num("value") + 1
				set["risk"] = 0.04
			}
			if about.is("intervals") && !about.is("target") {
				width["interval"] = 0.01
			}
			data, err := json.Marshal(state)
			if err != nil {
				t.Fatal(err)
			}
			b := open(t, chrome, at+"#"+url.PathEscape(string(data)))
			b.drawn()
			var now string
			b.run(chromedp.Evaluate("decodeURIComponent(location.hash.slice(1))", &now))
			if got := answerOf(t, now); fmt.Sprint(got) != fmt.Sprint(state) {
				t.Errorf("%s: opened by %v, the page has %v", file, state, got)
			}
			controls := map[string]float64{} // by what is controlled
			for name, x := range set {
				controls[`[data-given="`+name+`"]`] = x.(float64)
			}
			for _, l := range about.list("always") {
				controls[`[data-given="`+l.text("name")+`"]`] = l.num("value") + 1
			}
			if about.is("target") {
				controls[`[data-limit="target"]`] = state.num("inflate")
			}
			for at, want := range controls {
				if x := b.number(fmt.Sprintf("document.querySelector('%s input[type=number]').valueAsNumber", at)); x != want {
					t.Errorf("%s: opened by %v, %s is %v", file, state, at, x)
				}
			}
			wanted := b.text("#wanted")
			for _, l := range (answer{"": limits}).list("") {
				if strings.Contains(wanted, l.text("return")+" "+map[string]string{"at_most": "≤ ", "at_least": "≥ "}[l.
					text("kind")]) != l.is("on") {
					t.Errorf("%s: opened by %v, the page plans for %s", file, state, wanted)
				}
			}
			b.run(chromedp.Navigate("about:blank"))
		}
	}
	if grown == 0 {
		t.Error("no target is grown")
	}
}

// tryStopped: the page says that the server has stopped, before anything is asked.
func tryStopped(t *testing.T, chrome context.Context) {
	url, stop := serveCommand(t, "inventory")
	defer stop()
	b := open(t, chrome, url)
	b.drawn()
	b.wait(`document.querySelector("#stopped").hidden`)
	stop()
	b.wait(`!document.querySelector("#stopped").hidden && document.querySelector("#stopped").innerText.includes("has stopped")`)
}

// tryMarks: the map says where episodes start and end, and a page that is too low for its limits that there are more.
func tryMarks(t *testing.T, chrome context.Context) {
	b := open(t, chrome, serve(t, "frozenlake4"))
	b.drawn()
	b.wait(`document.querySelector("#policy-note").innerText.includes("Marks: S start, H hole, G goal.")`)
	b.run(chromedp.EmulateViewport(1400, 250))
	b.wait(`getComputedStyle(document.querySelector("#more")).display !== "none" && document.querySelector("#more").getBoundingClientRect().bottom <= innerHeight`)
	b.run(chromedp.Evaluate(`document.querySelector("#controls").scrollTo(0, 1e6)`, nil))
	b.wait(`getComputedStyle(document.querySelector("#more")).display === "none"`)
	b.run(chromedp.EmulateViewport(1400, 1500))
	b.wait(`getComputedStyle(document.querySelector("#more")).display === "none"`)
	if s := b.complaints(); s != "" {
		t.Errorf("the browser complains: %s", s)
	}
}

// pageShows reads what stands on the page.
const pageShows = `(() => { const all = (of, at) => [...of.querySelectorAll(at)], says = (at) => document.querySelector(at).innerText;
	return { numbers: Object.fromEntries(all(document, "#numbers tbody tr").map((r) => [r.children[0].innerText, r.children[1].innerText])),
		others: Object.fromEntries(all(document, "#numbers tbody tr").map((r) => [r.children[0].innerText, [...r.children].slice(2).map((c) => c.innerText)])),
		table: all(document, "#table tbody tr").map((r) => ({ cells: [...r.children].map((c) => c.innerText) })),
		limits: all(document, "#limits .limit[data-limit]").map((l) => ({ of: l.dataset.limit, facts: all(l, ".facts b").map((b) => b.innerText),
			value: l.querySelector("input[type=number]").value, low: l.querySelector("input[type=range]").min, high: l.querySelector("input[type=range]").max })),
		why: all(document, "#why li").map((l) => l.innerText), notes: says("#notes"), verdict: says("#verdict"), wanted: says("#wanted"),
		which: document.querySelector("#which").value, returns: says("#returns-note") }; })()`

var partBeyond = regexp.MustCompile(`(\S+) % of the episodes are (above|below) the limit, which is one on the mean\.`)

// onPage is a number as the page writes it.
func onPage(text string) float64 {
	x, err := strconv.ParseFloat(strings.ReplaceAll(text, "−", "-"), 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// tryShown: all that the page shows of drawn problems is made anew from what it was answered: numbers, slacks and
// prices, shares of episodes beyond limits, the table of the policy, notes, and a little more than what limits in
// conflict would have to be.
func tryShown(t *testing.T, chrome context.Context) {
	rng := rand.New(rand.NewPCG(83, 4))
	counts := make(map[string]int)
	few := func() bool {
		return counts["beyond"] < 4 || counts["given"] < 4 || counts["below"] < 1 || counts["equal"] < 1 || counts["raised"] < 1
	}
	for trial := 0; trial < 40 && few(); trial++ {
		var mu sync.Mutex
		answered := make(map[string]answer)
		p := drawProblem(rng, "horizon: 3")
		b := open(t, chrome, serveAnswers(t, p.write(t, 1), func(answers map[string]explore.Answer) {
			for name, asked := range maps.Clone(answers) {
				answers[name] = func(ctx context.Context, question []byte, progress func(any)) (any, error) {
					got, err := asked(ctx, question, progress)
					data, _ := json.Marshal(got)
					mu.Lock()
					defer mu.Unlock()
					answered[name] = answerOf(t, string(data))
					return got, err
				}
			}
		}))
		b.drawn()
		moved := 0.0
		look := func(kept answer) answer {
			var shows answer
			b.drawn()
			b.run(chromedp.Evaluate(pageShows, &shows))
			mu.Lock()
			defer mu.Unlock()
			checkPageShows(t, counts, shows, answered, kept, moved)
			return answered["plan"].obj("report")
		}
		kept := look(nil)
		if kept.text("status") == "optimal" {
			mu.Lock()
			moved = returned(answered)
			mu.Unlock()
			b.run(chromedp.Click("#keep"), chromedp.Evaluate(fmt.Sprintf(`(() => { const f = document.querySelector("#limits input[type=number]");
				f.value = %v; f.dispatchEvent(new Event("change", { bubbles: true })); })()`, moved), nil))
			b.wait(`document.body.dataset.plan > 1`)
			look(kept)
		}
		if s := b.complaints(); s != "" {
			t.Errorf("the browser complains: %s", s)
		}
		b.run(chromedp.Navigate("about:blank"))
	}
	if few() {
		t.Errorf("want more: %v", counts)
	}
}

// returned is a value for the first limit, which some of the episodes return where it is one of their returns.
func returned(answered map[string]answer) float64 {
	limit := answered["about"].list("limits")[0]
	for k, r := range answered["about"].list("returns") {
		if r.text("name") == limit.text("return") && answered["episodes"].has("returns") {
			values := answered["episodes"].list("returns")[k].numbers("values")
			slices.Sort(values)
			return values[len(values)/2]
		}
	}
	return limit.num("value") + 0.125
}

func checkPageShows(t *testing.T, counts map[string]int, shows answer, answered map[string]answer,
	kept answer, moved float64) {
	t.Helper()
	plan, about := answered["plan"], answered["about"]
	r := plan.obj("report")
	wants := map[string]float64{"objective": r.num("objective"), "certified bound": r.num("bound"),
		"violation": r.num("violation"), "randomised in": r.num("randomized")}
	if wants["violation"] <= r.num("tolerance") {
		wants["violation"] = 0
	}
	for _, name := range r.names("returns") {
		wants[name] = r.obj("returns").num(name)
	}
	same := func(text string, want float64, digits int) bool {
		return math.IsNaN(want) && math.IsNaN(onPage(text)) ||
			math.Abs(onPage(text)-want) <= 0.6*math.Pow(10, float64(1-digits))*math.Abs(want)+1e-12
	}
	for name, want := range wants {
		if text := shows.obj("numbers").text(name); !same(text, want, 6) {
			t.Errorf("%s is %q: want %v, of %v", name, text, want, shows)
		}
		others := answer{"": shows.obj("others")[name]}.texts("")
		was := firstNumber(kept.num(name), kept.obj("returns").num(name))
		if kept == nil || math.IsNaN(was) || math.IsNaN(want) {
			continue
		}
		counts["kept"]++
		if len(others) != 2 || !same(others[0], was, 6) || math.Abs(want-was) > 1e-7 && !same(others[1], want-was, 4) {
			t.Errorf("%s beside the plan that is kept: %v, want %v and %v", name, others, was, want-was)
		}
	}
	states := answered["policy"].list("states") // of the kept plan, if there is one, which is asked for last
	if rows := shows.list("table"); plan.num("id") > 0 && kept == nil && len(rows) != len(states) {
		t.Errorf("the table of the policy has %d rows: want %d", len(rows), len(states))
	}
	for _, row := range shows.list("table") {
		cells, does := row.texts("cells"), []string{}
		of := states[slices.IndexFunc(states, func(s answer) bool { return s.text("name") == cells[0] })]
		shares := of.numbers("shares")
		for i, name := range of.texts("names") {
			if shares[i] < 1-1e-9 {
				name += " " + digits(100*shares[i], 3) + " %"
			}
			does = append(does, name)
		}
		if kept == nil && !same(cells[1], of.num("visits"), 4) || cells[len(cells)-1] != strings.Join(does, ", ") {
			t.Errorf("the row %q of the policy: want %v", cells, of)
		}
	}
	if shows.text("verdict") != r.text("status") || !strings.HasPrefix(shows.text("wanted"), plan.text("wanted")+" · ") {
		t.Errorf("%q, %q: want %v", shows.text("verdict"), shows.text("wanted"), plan)
	}
	notes := strings.Join(plan.texts("notes"), " ")
	if r.text("status") == "infeasible" {
		notes = ""
	}
	if got := shows.text("notes"); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(notes), " ") {
		t.Errorf("notes %q: want %q", got, notes)
	}
	beyond := partBeyond.FindAllStringSubmatch(shows.text("returns"), -1)
	for i, l := range shows.list("limits") {
		given, slack, price := about.list("limits")[i], math.Inf(1), 0.0
		if kept != nil && i == 0 {
			given = answer{"kind": given["kind"], "return": given["return"], "value": moved}
		}
		for _, of := range r.list("constraints") { // of several the least slack counts, and a unit more of all
			if of.text("kind")+" "+of.text("return") == l.text("of") {
				slack, price = min(slack, of.num("slack")), price+of.num("price")
			}
		}
		value := given.num("value")
		if l.text("of") != given.text("kind")+" "+given.text("return") || onPage(l.text("value")) != value ||
			onPage(l.text("low")) > value || onPage(l.text("high")) < value {
			t.Errorf("the control %v: want %v", l, given)
		}
		facts := l.texts("facts")
		if !same(facts[0], slack, 4) && math.Abs(slack) > 1e-8 ||
			!same(facts[1], price, 4) && !(onPage(facts[1]) == 0 && price < 1e-5) {
			t.Errorf("%s: slack and price %v: want %v, %v", l.text("of"), facts, slack, price)
		}
		if given.text("return") != shows.text("which") || !answered["episodes"].has("returns") {
			continue
		}
		part, side := 0.0, "above"
		if given.text("kind") == "at_least" {
			side = "below"
			counts["below"]++
			counts["equal"] += indicator(kept != nil && i == 0)
		}
		for k, name := range about.list("returns") {
			if name.text("name") != shows.text("which") {
				continue
			}
			play := answered["episodes"].list("returns")[k]
			shares := play.numbers("shares")
			for j, x := range play.numbers("values") {
				if side == "above" && x > value+1e-9*math.Abs(value) || side == "below" && x < value-1e-9*math.Abs(value) {
					part += shares[j]
				}
			}
		}
		if len(beyond) == 0 || !same(beyond[0][1], 100*part, 3) || beyond[0][2] != side {
			t.Errorf("%s: %q: want %v %% %s %v", l.text("of"), shows.text("returns"), 100*part, side, value)
			continue
		}
		beyond = beyond[1:]
		counts["beyond"]++
	}
	for i, c := range plan.list("conflict") {
		said, needed := shows.texts("why")[i], c.num("needed")
		if !strings.HasPrefix(said, c.text("constraint")+" alone would have to give ") || math.IsNaN(needed) || needed == 0 {
			continue
		}
		words := strings.Fields(said)
		set := onPage(words[len(words)-1])
		counts["given"]++
		room := set - needed
		if c.text("kind") == "at_least" {
			room = -room
			counts["raised"]++
		}
		if !(room > 0 && room <= 2e-4*math.Abs(needed)) || !strings.Contains(said, "Set "+c.text("return")+" ") {
			t.Errorf("%q: want a little more than is needed of %v", said, c)
		}
	}
}

// BenchmarkExplore moves sliders in a browser, one after the other, and waits each time until the
// plan for the new limit is painted. It reports milliseconds, the time in the browser from the event of the
// slider to the frame after the first numbers, whose gap is a thousandth, and after the last, and the processor
// time that the server took. The first move comes when the page is drawn.
func BenchmarkExplore(b *testing.B) {
	chrome := startBrowser(b)
	for _, problem := range []string{"frozenlake8", "garnet:S=2000,A=5,H=5,d=4,b=10", "garnet:S=2000,A=5,H=20,d=4,b=10",
		"garnet:S=2000,A=5,H=50,d=3,b=10"} {
		b.Run(problem, func(b *testing.B) {
			page := open(b, chrome, serve(b, problem))
			page.wait("document.body.dataset.drawn > 0")
			times := make(map[string][]float64)
			for i := 0; b.Loop(); i++ {
				var ms map[string]float64
				before := harness.ProcessorTime()
				page.run(chromedp.Evaluate(fmt.Sprintf(`new Promise((done) => {
					const sliders = document.querySelectorAll(".limit input[type=range]"), slider = sliders[%d %% sliders.length], times = {};
					const seen = new MutationObserver(() => {
						const last = document.body.dataset.plan !== before;
						if (last) seen.disconnect();
						requestAnimationFrame(() => setTimeout(() => {
							const now = performance.now() - begin;
							times.first ??= now;
							if (last) { times.last = now; done(times); }
						}));
					});
					seen.observe(document.body, { attributeFilter: ["data-refining", "data-plan"] });
					const begin = performance.now(), before = document.body.dataset.plan;
					slider.value = Number(slider.min) + (Number(slider.max) - Number(slider.min)) * %v;
					slider.dispatchEvent(new Event("input", { bubbles: true }));
				})`, i, 0.3+0.4*float64(i*7%19)/19), &ms, func(p *cdpruntime.EvaluateParams) *cdpruntime.EvaluateParams {
					return p.WithAwaitPromise(true)
				}))
				ms["processor"] = 1000 * (harness.ProcessorTime() - before).Seconds()
				for which, x := range ms {
					times[which] = append(times[which], x)
				}
			}
			for which, x := range times {
				slices.Sort(x)
				b.ReportMetric(x[len(x)/2], which+"-ms-median")
				b.ReportMetric(x[len(x)*9/10], which+"-ms-90%")
				b.ReportMetric(x[len(x)-1], which+"-ms-worst")
			}
		})
	}
}
