// A map of the states: colour for visits, arrows for actions.
import { short, color } from "./ask.js";

const ways = {
  left: [-1, 0], right: [1, 0], up: [0, -1], down: [0, 1], west: [-1, 0], east: [1, 0], north: [0, -1], south: [0, 1],
  w: [-1, 0], e: [1, 0], n: [0, -1], s: [0, 1], l: [-1, 0], r: [1, 0], u: [0, -1], d: [0, 1],
  "←": [-1, 0], "→": [1, 0], "↑": [0, -1], "↓": [0, 1],
  ne: [0.7, -0.7], nw: [-0.7, -0.7], se: [0.7, 0.7], sw: [-0.7, 0.7], northeast: [0.7, -0.7], northwest: [-0.7, -0.7], southeast: [0.7, 0.7], southwest: [-0.7, 0.7],
  stay: [0, 0], wait: [0, 0], stop: [0, 0], noop: [0, 0], stick: [0, 0], stand: [0, 0], rest: [0, 0],
};

// drawMap draws an answer on a canvas. text shows the cell under the pointer.
export function drawMap(canvas, text, grid, answer) {
  const room = canvas.parentElement.clientWidth;
  const size = Math.max(4, Math.min(56, Math.floor(room / grid.columns)));
  const scale = devicePixelRatio || 1;
  const width = size * grid.columns, height = size * grid.rows;
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const c = canvas.getContext("2d");
  c.scale(scale, scale);
  c.fillStyle = color("paper");
  c.fillRect(0, 0, width, height);
  const at = cells(grid, answer.states);
  const most = Math.max(...[...at.values()].map((s) => s.visits), 1e-12);
  const low = color("heat0").split(" ").map(Number), high = color("heat1").split(" ").map(Number);
  for (const [cell, s] of at) {
    const row = Math.floor(cell / grid.columns), column = cell % grid.columns;
    const heat = Math.sqrt(s.visits / most);
    c.fillStyle = `rgb(${low.map((x, i) => Math.round(x + heat * (high[i] - x))).join(" ")})`;
    const gap = size > 10 ? 1 : 0;
    c.fillRect(column * size + gap / 2, row * size + gap / 2, size - gap, size - gap);
    if (size < 12) continue;
    c.save();
    c.globalAlpha = s.visits > 1e-9 * most ? 1 : 0.35;
    c.strokeStyle = c.fillStyle = heat > 0.5 ? color("on-heat") : color("off-heat");
    s.names.forEach((name, i) => act(c, name, s.shares[i], (column + 0.5) * size, (row + 0.5) * size, size));
    c.restore();
  }
  for (const [cell, names] of markedCells(grid)) {
    if (size < 12) break;
    const column = cell % grid.columns, row = Math.floor(cell / grid.columns), s = at.get(cell), empty = !s || s.visits === 0 || s.names.length === 0;
    const heat = s ? Math.sqrt(s.visits / most) : 0;
    c.strokeStyle = c.fillStyle = empty ? color("limit") : heat > 0.5 ? color("on-heat") : color("off-heat");
    c.lineWidth = 2;
    c.strokeRect(column * size + 2, row * size + 2, size - 4, size - 4);
    c.font = `600 ${Math.round(empty ? size * 0.45 : size * 0.26)}px system-ui`;
    c.textAlign = empty ? "center" : "left";
    c.textBaseline = empty ? "middle" : "top";
    c.fillText(names.map(mark).join(""), empty ? (column + 0.5) * size : column * size + 5, empty ? (row + 0.5) * size : row * size + 4, size - 8);
  }
  const say = (column, row) => {
    const s = at.get(row * grid.columns + column);
    const means = (grid.marks ?? []).filter((m) => m.row === row && m.column === column).map((m) => m.name).join(", ");
    text.textContent = (means ? means + (s ? " · " : "") : "") + (s ? `${s.name}: ${answer.unit === "not counted" ? "" : short(s.visits, 3) + " " + answer.unit + "; "}` + s.names.map((n, i) => `${n} ${short(100 * s.shares[i], 3)} %`).join(", ") : "");
  };
  canvas.addEventListener("pointermove", (e) => say(Math.floor(e.offsetX / size), Math.floor(e.offsetY / size)));
  canvas.addEventListener("pointerleave", () => { text.textContent = ""; });
  const cell = [0, 0];
  canvas.addEventListener("keydown", (e) => {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (!way) return;
    e.preventDefault();
    cell[0] = Math.min(grid.columns - 1, Math.max(0, cell[0] + way[0]));
    cell[1] = Math.min(grid.rows - 1, Math.max(0, cell[1] + way[1]));
    say(...cell);
  });
}

// mark is the letter for a meaning.
export const mark = (name) => name.charAt(0).toUpperCase();

// markedCells lists the meanings of each cell that has any.
function markedCells(grid) {
  const at = new Map();
  for (const m of grid.marks ?? []) {
    const cell = m.row * grid.columns + m.column;
    at.set(cell, [...(at.get(cell) ?? []), m.name]);
  }
  return at;
}

// cells returns what there is to show of each cell. Where states with different memories share one,
// their visits add up, and actions have their share of all visits.
function cells(grid, states) {
  const at = new Map();
  for (const s of states) {
    const row = grid.row[s.state], column = grid.column[s.state];
    if (row < 0) continue;
    const cell = row * grid.columns + column, old = at.get(cell);
    if (!old) { at.set(cell, s); continue; }
    const visits = old.visits + s.visits, share = new Map();
    for (const part of [old, s]) {
      const weight = visits > 0 ? part.visits / visits : part === old ? 1 : 0;
      part.names.forEach((name, i) => share.set(name, (share.get(name) ?? 0) + weight * part.shares[i]));
    }
    at.set(cell, { name: old.name.endsWith(", …") ? old.name : old.name + ", …", visits, names: [...share.keys()], shares: [...share.values()] });
  }
  return at;
}

// act draws an action in a cell, as large as its share: an arrow, a dot for staying, or its
// name.
function act(c, name, share, x, y, size) {
  if (share < 0.02) return;
  const way = ways[name.toLowerCase()];
  if (!way) {
    if (share < 0.5 || size < 24) return;
    c.font = `${Math.min(12, size / 4)}px system-ui`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillText(name.length > 7 ? name.slice(0, 6) + "…" : name, x, y, size - 4);
    return;
  }
  const [dx, dy] = way, reach = size * 0.38 * Math.sqrt(share), head = Math.max(2.5, size * 0.11 * Math.sqrt(share));
  if (dx === 0 && dy === 0) {
    c.beginPath();
    c.arc(x, y, size * 0.12 * Math.sqrt(share), 0, 2 * Math.PI);
    c.fill();
    return;
  }
  c.lineWidth = Math.max(1, size * 0.045);
  if (share > 0.98) { // the only one stands in the middle
    x -= dx * reach / 2;
    y -= dy * reach / 2;
  }
  c.beginPath();
  c.moveTo(x - (share > 0.98 ? dx * reach / 4 : 0), y - (share > 0.98 ? dy * reach / 4 : 0));
  c.lineTo(x + dx * (reach - head), y + dy * (reach - head));
  c.stroke();
  c.beginPath();
  c.moveTo(x + dx * reach, y + dy * reach);
  c.lineTo(x + dx * (reach - head) - dy * head, y + dy * (reach - head) + dx * head);
  c.lineTo(x + dx * (reach - head) + dy * head, y + dy * (reach - head) - dx * head);
  c.fill();
}
