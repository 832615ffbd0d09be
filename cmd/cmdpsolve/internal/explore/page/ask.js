// Questions to the server, and how numbers are written.

// ask sends a question and resolves to the answer. Each line of progress goes to onProgress.
export async function ask(name, question, { signal, onProgress } = {}) {
  let response;
  try {
    response = await fetch("ask/" + name, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question), signal,
    });
  } catch (err) {
    if (signal?.aborted) throw err;
    byId("stopped").hidden = false;
    throw new Error("the server has stopped");
  }
  if (!response.ok) throw new Error((await response.text()).trim() || response.statusText);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    rest += value ?? "";
    const lines = rest.split("\n");
    rest = lines.pop();
    for (const text of lines) {
      const line = JSON.parse(text);
      if ("error" in line) throw new Error(line.error);
      if ("progress" in line) onProgress?.(line.progress);
      else return line.answer;
    }
    if (done) {
      byId("stopped").hidden = false;
      throw new Error("the server has stopped");
    }
  }
}

// latest returns a function that asks a question and cancels the one that it asked before. Its
// stop cancels without asking anew; what was cancelled resolves to null.
export function latest(name) {
  let under = null;
  const asks = async (question, onProgress) => {
    under?.abort();
    const mine = under = new AbortController();
    try {
      return await ask(name, question, { signal: mine.signal, onProgress });
    } catch (err) {
      if (mine.signal.aborted) return null;
      throw err;
    } finally {
      if (under === mine) under = null;
    }
  };
  asks.stop = () => under?.abort();
  return asks;
}

// short writes a number with at most six digits.
export function short(x, digits = 6) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e6 || size < 1e-4 ? x.toExponential(Math.max(0, digits - 3)).replace(/\.?0+e/, "e").replace("e+", "e") : String(Number(x.toPrecision(digits)));
  return text.replace("-", "−");
}

// el makes an element. Attributes that are functions are listeners.
export function el(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") e.addEventListener(key, value);
    else if (value === true) e.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) e.setAttribute(key, value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

export const byId = (id) => document.getElementById(id);

// color returns a colour of the theme.
export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

// axis is an axis of a chart. Numbers have as many digits as tell them apart. Upright ones are at least so wide.
export function axis(label, wide) {
  const values = (_, splits) => {
    const most = Math.max(...splits.map(Math.abs)), step = Math.abs(splits[1] - splits[0]);
    return splits.map((x) => short(x, Math.min(15, Math.max(3, Math.ceil(Math.log10(most / step)) + 2) || 3)));
  };
  const size = wide && { size: (_, texts) => Math.max(wide, 20 + 7 * Math.max(0, ...(texts ?? []).map((t) => t.length))) };
  return { label, values, ...size, labelSize: 22, labelFont: "13px system-ui", font: "12px system-ui", stroke: color("ink"), grid: { stroke: color("line"), width: 1 }, ticks: { stroke: color("line") } };
}
