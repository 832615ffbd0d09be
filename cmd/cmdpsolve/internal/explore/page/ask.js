// Questions to the server, and how numbers are written.

// ask sends a question and resolves to the answer. Each line of progress goes to onProgress.
export async function ask(name, question, { signal, onProgress } = {}) {
  const response = await fetch("ask/" + name, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question), signal,
  });
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
    if (done) throw new Error("the server has stopped; start cmdpsolve explore again");
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
