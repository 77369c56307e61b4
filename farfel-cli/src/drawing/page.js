const data = JSON.parse(document.getElementById("data").textContent);
const nodes = data.nodes, element = (id) => document.getElementById(id);
const pane = element("pane"), panel = element("panel");
const NS = pane.querySelector("svg").namespaceURI;

// The maximum number of boxes that are open at the start, and of nodes that are shown without groups.
const AT_FIRST = 40, WHOLE = 60;
// The maximum number of edges between groups that are drawn separately; more are drawn as one.
const FINE = 8;
// The maximum length of a label and of the lines below it, and the number of lines.
const MOST_LETTERS = 36, MOST_NOTES = 3, NOTE = 14;
const HEAD = 30, PADDING = 14, MARGIN = 24;

const words = data.plan
  ? { one: "step", many: "steps", uses: "Needs", users: "Needed by", using: "what it needs", used: "what needs it" }
  : { one: "subprogram", many: "subprograms", uses: "Calls", users: "Called by", using: "what it calls", used: "what calls it" };
const figure = (n) => n.toLocaleString("en");
const count = (n) => figure(n) + " " + (n === 1 ? words.one : words.many);

// For each node: the nodes that it uses, those that use it, its derivatives, and the nodes of which it is a
// derivative.
const lists = () => nodes.map(() => []);
const uses = lists(), users = lists(), derivatives = lists(), heads = lists();
// The directions in which edges are drawn, from left to right: calls towards callees, data towards readers.
const edges = [];
for (const [from, to] of data.edges) {
  uses[from].push(to);
  users[to].push(from);
  edges.push({ tail: data.plan ? to : from, head: data.plan ? from : to, derivative: false });
}
for (const [from, to] of data.derivatives) {
  heads[from].push(to);
  derivatives[to].push(from);
  edges.push({ tail: from, head: to, derivative: true });
}

const state = { root: null, boxOf: new Map(), selected: -1, only: null, scale: 1, opened: new Map() };

// --- Groups

/// Returns the boxes of a view: all nodes, or those of a set. A group with a single remaining member is
/// replaced by that member.
function view(shown) {
  const boxOf = new Map();
  let id = 0;
  const box = (fields) => ({ id: id++, node: -1, members: [], links: new Map(), open: false, ...fields });
  const leaf = (n) => {
    const made = box({ node: n, label: nodes[n].label, count: 1, key: "" });
    boxOf.set(n, made);
    return made;
  };
  const build = (entries, path) => entries.flatMap((entry) => {
    if (typeof entry === "number") return shown && !shown.has(entry) ? [] : [leaf(entry)];
    const key = path + "\n" + entry.label;
    const members = build(entry.members, key);
    if (members.length < 2) return members;
    const total = members.reduce((sum, m) => sum + m.count, 0);
    return [box({ key, label: entry.label, kind: entry.kind, members, count: total, open: state.opened.get(key) === true })];
  });
  const flat = shown && shown.size <= WHOLE;
  const members = flat ? [...shown].sort((a, b) => a - b).map(leaf) : build(data.members, "");
  const root = box({ key: "", label: "", members, open: true });
  root.count = boxOf.size;
  const nest = (parent, depth) => parent.members.forEach((m) => {
    m.parent = parent;
    m.depth = depth;
    nest(m, depth + 1);
  });
  nest(root, 1);
  root.depth = 0;
  for (const edge of edges) join(boxOf.get(edge.tail), boxOf.get(edge.head), edge);
  state.root = root;
  state.boxOf = boxOf;
}

/// Records an edge if the boxes around its ends are neighbours.
function join(a, b, edge) {
  if (!a || !b) return;
  if (a === b) { a.loop = true; return; }
  [a, b] = neighbours(a, b);
  const forth = a.id < b.id, key = forth ? a.id + " " + b.id : b.id + " " + a.id;
  const links = a.parent.links;
  if (!links.has(key)) links.set(key, { low: forth ? a : b, high: forth ? b : a, forth: [], back: [] });
  links.get(key)[forth ? "forth" : "back"].push(edge);
}

/// Returns the boxes around two boxes that are members of the same group, or these themselves.
function neighbours(a, b) {
  while (a.depth > b.depth) a = a.parent;
  while (b.depth > a.depth) b = b.parent;
  while (a.parent !== b.parent) { a = a.parent; b = b.parent; }
  return [a, b];
}

/// Returns the box that represents a node: its own, or the outermost closed group around it.
function standsFor(node) {
  let found = state.boxOf.get(node);
  for (let box = found; box; box = box.parent) if (!box.open && box.members.length) found = box;
  return found;
}

/// Opens level after level, as long as everything fits.
function openAtFirst() {
  let shown = [...state.root.members];
  for (;;) {
    const next = shown.flatMap((b) => (b.members.length ? b.members : [b]));
    if (next.length === shown.length || next.length > AT_FIRST) return;
    shown.filter((b) => b.members.length).forEach((b) => setOpen(b, true));
    shown = next;
  }
}

function setOpen(box, open) {
  box.open = open;
  state.opened.set(box.key, open);
}

// --- Sizes and places

const ruler = document.createElement("canvas").getContext("2d");
const MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const widths = new Map();
function widthOf(text, font) {
  const key = font + text;
  if (!widths.has(key)) {
    ruler.font = font + " " + MONO;
    widths.set(key, ruler.measureText(text).width);
  }
  return widths.get(key);
}

function cut(text) {
  const letters = [...text];
  return letters.length <= MOST_LETTERS ? text : letters.slice(0, MOST_LETTERS - 1).join("") + "…";
}

/// Returns the lines below the label.
function below(box) {
  if (box.members.length) return [count(box.count)];
  return (nodes[box.node].notes ?? []).slice(0, MOST_NOTES).map(cut);
}

function measure(box, room) {
  if (box.open) {
    box.members.forEach((m) => measure(m, 640));
    const links = [...box.links.values()];
    for (const link of links) {
      const turned = link.back.length > link.forth.length;
      [link.tail, link.head] = turned ? [link.high, link.low] : [link.low, link.high];
      [link.along, link.against] = turned ? [link.back, link.forth] : [link.forth, link.back];
    }
    const place = new Map(box.members.map((m, i) => [m, i]));
    const inner = layoutLevel(box.members.map((m) => m.size), links.map((l) => [place.get(l.tail), place.get(l.head), figureWidth(figures(l))]), room);
    const head = box === state.root ? 0 : widthOf(cut(box.label), "600 13px") + widthOf(count(box.count), "11px") + 56;
    box.inner = inner;
    box.drawn = links;
    box.size = [Math.max(inner.width + 2 * PADDING, head), inner.height + HEAD + PADDING];
    return;
  }
  const group = box.members.length > 0, notes = below(box);
  const label = widthOf(cut(box.label), group ? "600 13px" : "13px") + (group ? 16 : 0);
  const widest = Math.max(label, ...notes.map((note) => widthOf(note, "11px")));
  box.size = [Math.ceil(widest + 20), 28 + NOTE * notes.length];
}

/// Returns the number of edges in each direction, if a group is at one end.
function figures({ tail, head, along, against }) {
  if (along.length + against.length < 2 || !(tail.members.length || head.members.length)) return "";
  return [along, against].filter((edges) => edges.length).map((edges) => figure(edges.length)).join(" ⇄ ");
}

const figureWidth = (text) => (text ? text.length * 6 + 4 : 0);

function put(box, x, y) {
  box.x = x;
  box.y = y;
  if (!box.open) return;
  const [left, top] = box === state.root ? [x, y] : [x + PADDING, y + HEAD];
  box.members.forEach((m, i) => put(m, left + box.inner.places[i][0], top + box.inner.places[i][1]));
  box.drawn.forEach((link, i) => { link.path = box.inner.paths[i].map(([u, v]) => [u + left, v + top]); });
}

// --- Drawing

function svg(name, attributes, ...children) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function html(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/// Returns a curve that is level at every point.
function curve(path) {
  return path.map(([x, y], i) => {
    if (i === 0) return `M${x} ${y}`;
    const [u, v] = path[i - 1];
    if (v === y) return `L${x} ${y}`;
    const middle = (u + x) / 2;
    return `C${middle} ${v} ${middle} ${y} ${x} ${y}`;
  }).join("");
}

/// Returns the path from one box to another between the groups around them.
function way(link, tail, head) {
  const path = [...link.path];
  const rightwards = path[0][0] > link.tail.x + link.tail.size[0] / 2;
  const side = (box, right) => [right ? box.x + box.size[0] : box.x, box.y + box.size[1] / 2];
  if (tail !== link.tail) path.unshift(side(tail, rightwards));
  if (head !== link.head) path.push(side(head, !rightwards));
  return path;
}

/// Returns the pairs of boxes that the edges of a link connect, with their numbers in both directions.
function pairs(link) {
  const found = new Map();
  const add = (a, b, edge, against) => {
    const key = a.id + " " + b.id;
    if (!found.has(key)) found.set(key, { tail: a, head: b, along: [], against: [] });
    found.get(key)[against ? "against" : "along"].push(edge);
  };
  for (const e of link.along) add(standsFor(e.tail), standsFor(e.head), e, false);
  for (const e of link.against) add(standsFor(e.head), standsFor(e.tail), e, true);
  return [...found.values()];
}

function drawEdges(out, labels) {
  const each = (box) => {
    if (!box.open) return;
    for (const link of box.drawn) {
      const fine = link.tail.open || link.head.open ? pairs(link) : [];
      if (fine.length && fine.length <= FINE) fine.forEach((p) => drawEdge(out, labels, p, way(link, p.tail, p.head), " fine"));
      else drawEdge(out, labels, link, link.path);
    }
    box.members.forEach(each);
  };
  each(state.root);
  for (const box of state.boxOf.values()) {
    if (box.loop && standsFor(box.node) === box) out.append(loop(box));
  }
}

function drawEdge(out, labels, { tail, head, along, against }, path, fine = "") {
  const all = along.length + against.length;
  const derivative = [...along, ...against].every((e) => e.derivative);
  const marker = derivative ? "url(#arrow-derivative)" : "url(#arrow)";
  const drawn = svg("path", {
    class: "edge" + (derivative ? " differentiates" : "") + fine, d: curve(path),
    style: all > 1 && !fine ? `stroke-width:${Math.min(1.2 + Math.log2(all) / 4, 4).toFixed(1)}` : undefined,
    "marker-end": along.length ? marker : undefined, "marker-start": against.length ? marker : undefined,
  });
  const arrow = against.length ? (along.length ? " ⇄ " : " ← ") : " → ";
  const text = figures({ tail, head, along, against });
  drawn.append(svg("title", {}, tail.label + arrow + head.label + (text && ": " + text)));
  out.append(drawn);
  if (text) labels.push([text, path]);
}

/// Draws the numbers on edges where they hide no box and no other number.
function writeFigures(out, labels) {
  const taken = [];
  const each = (box) => {
    if (box.open) box.members.forEach(each);
    else taken.push([box.x + box.size[0] / 2, box.y + box.size[1] / 2, ...box.size]);
  };
  each(state.root);
  const hidden = ([x, y, w, h]) => taken.filter(([u, v, t, s]) => Math.abs(x - u) < (w + t) / 2 && Math.abs(y - v) < (h + s) / 2).length;
  for (const [text, path] of labels) {
    const rooms = spots(path).map(([x, y]) => [x, y, figureWidth(text), 11]);
    const best = rooms.reduce((a, b) => (hidden(b) < hidden(a) ? b : a));
    // Two numbers at the same place are unreadable; the tooltip of the edge has them, too.
    if (hidden(best)) continue;
    taken.push(best);
    out.append(svg("text", { class: "figure", x: best[0], y: best[1] + 3.5 }, text));
  }
}

/// Returns points on a path for a number, the best first.
function spots(path) {
  const found = [];
  for (const t of [0.5, 0.35, 0.65, 0.2, 0.8]) {
    for (let i = 1; i < path.length; i += 2) {
      const [[x, y], [u, v]] = [path[i - 1], path[i]], s = 1 - t;
      const start = s * s * (s + 3 * t), middle = 3 * s * t;
      found.push([s * s * s * x + middle * (x + u) / 2 + t * t * t * u, start * y + (1 - start) * v]);
    }
  }
  for (let i = 2; i < path.length; i += 2) found.push([(path[i - 1][0] + path[i][0]) / 2, (path[i - 1][1] + path[i][1]) / 2]);
  return found;
}

/// Returns a loop from a box to itself: out on the right, over it, and in on the left.
function loop({ x, y, size: [w, h] }) {
  const right = x + w, middle = y + h / 2, over = y - 8;
  const d = `M${right} ${middle}C${right + 16} ${middle} ${right + 16} ${over} ${right - 4} ${over}` +
    `L${x + 4} ${over}C${x - 16} ${over} ${x - 16} ${middle} ${x} ${middle}`;
  return svg("path", { class: "edge", d, "marker-end": "url(#arrow)" });
}

/// Draws the edges of the selected node, above all others.
function drawMarks(out) {
  const seen = new Set();
  const one = (edge, mark) => {
    const tail = standsFor(edge.tail), head = standsFor(edge.head);
    if (!tail || !head || tail === head || seen.has(tail.id + " " + head.id)) return;
    seen.add(tail.id + " " + head.id);
    const [a, b] = neighbours(tail, head);
    const link = a.parent.drawn.find((l) => (l.tail === a && l.head === b) || (l.tail === b && l.head === a));
    const path = link.tail === a ? way(link, tail, head) : way(link, head, tail).reverse();
    out.append(svg("path", { class: "edge " + mark + (edge.derivative ? " dashed" : ""), d: curve(path), "marker-end": `url(#arrow-${mark})` }));
  };
  for (const edge of edges) {
    const before = edge.head === state.selected, after = edge.tail === state.selected;
    if (before !== after) one(edge, before ? "before" : "after");
  }
}

/// Returns the relation of each box to the selected node.
function marks() {
  const found = new Map();
  if (state.selected < 0) return found;
  const mark = (node, side) => {
    const box = standsFor(node);
    if (box) found.set(box, found.has(box) && found.get(box) !== side ? "before after" : side);
  };
  for (const edge of edges) {
    if (edge.head === state.selected) mark(edge.tail, "before");
    if (edge.tail === state.selected) mark(edge.head, "after");
  }
  const own = standsFor(state.selected);
  if (own) found.set(own, "now");
  return found;
}

function kindOf(box) {
  return box.members.length ? "group" : data.kinds[nodes[box.node].kind][0];
}

function drawBox(out, box, marked) {
  const [w, h] = box.size, { x, y } = box, group = box.members.length > 0;
  const mark = marked.get(box), dim = marked.size > 0 && !mark && !box.open ? " dim" : "";
  const made = svg("g", {
    class: `box ${kindOf(box)}${box.open ? " open" : ""}${dim} ${mark ?? ""}`.trim(), role: "button", tabindex: 0,
    "data-box": box.id, "aria-label": spoken(box),
    "aria-expanded": group ? String(box.open) : undefined,
    "aria-pressed": group ? undefined : String(box.node === state.selected),
  });
  made.append(svg("title", {}, told(box)));
  if (box.open) {
    made.append(svg("rect", { class: "bar", x, y, width: w, height: HEAD - 6, rx: 6 }));
  } else {
    if (group) made.append(svg("rect", { class: "face under", x: x + 4, y: y + 4, width: w, height: h, rx: 5 }));
    const round = kindOf(box) === "derivative" || kindOf(box) === "request" ? 12 : 4;
    made.append(svg("rect", { class: "face", x, y, width: w, height: h, rx: round }));
  }
  const indent = group ? 26 : 10;
  if (group) made.append(svg("path", { class: "fold", d: box.open ? `M${x + 9} ${y + 9}h9l-4.5 6z` : `M${x + 10} ${y + 9}v9l6 -4.5z` }));
  made.append(svg("text", { x: x + indent, y: y + (box.open ? 16.5 : 18) }, cut(box.label)));
  below(box).forEach((note, i) => {
    const [left, line] = box.open ? [indent + widthOf(cut(box.label), "600 13px") + 10, 16.5] : [10, 33 + NOTE * i];
    made.append(svg("text", { class: "note", x: x + left, y: y + line }, note));
  });
  out.append(made);
}

function spoken(box) {
  if (box.members.length) return `${box.label}, ${count(box.count)}`;
  return `${box.label}, ${data.kinds[nodes[box.node].kind][1]}`;
}

function told(box) {
  if (box.members.length) return `${box.label}: ${count(box.count)}`;
  return [box.label, ...(nodes[box.node].notes ?? []), placeOf(nodes[box.node])].filter(Boolean).join("\n");
}

function placeOf(node) {
  return node.file === undefined ? "" : data.files[node.file][0] + ":" + node.line;
}

function arrows() {
  const kinds = ["", "-derivative", "-before", "-after"];
  return svg("defs", {}, ...kinds.map((kind) => svg("marker", {
    id: "arrow" + kind, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8,
    markerUnits: "userSpaceOnUse", orient: "auto-start-reverse",
  }, svg("path", { class: "tip" + kind, d: "M0 0.5L8 4L0 7.5Z" }))));
}

function draw() {
  const focused = document.activeElement?.dataset?.box;
  const { root } = state;
  measure(root, Math.max(420, pane.clientWidth / state.scale - 2 * MARGIN));
  put(root, MARGIN, MARGIN);
  const layers = ["backs", "edges", "marks", "boxes", "figures"].map((name) => svg("g", { class: name }));
  const [backs, lines, strong, boxes, figures] = layers;
  const labels = [];
  drawEdges(lines, labels);
  writeFigures(figures, labels);
  if (state.selected >= 0) drawMarks(strong);
  const marked = marks();
  const each = (box) => {
    if (box !== root) {
      if (box.open) backs.append(svg("rect", { class: "back", x: box.x, y: box.y, width: box.size[0], height: box.size[1], rx: 6 }));
      drawBox(boxes, box, marked);
    }
    if (box.open) box.members.forEach(each);
  };
  each(root);
  const width = root.inner.width + 2 * MARGIN, height = root.inner.height + 2 * MARGIN;
  const drawn = svg("svg", {
    viewBox: `0 0 ${width} ${height}`, class: state.selected >= 0 ? "chosen" : "", role: "group", "aria-label": "Graph",
  }, arrows(), ...layers);
  pane.replaceChildren(drawn);
  scaled();
  if (focused !== undefined) pane.querySelector(`[data-box="${focused}"]`)?.focus({ preventScroll: true });
}

function scaled() {
  const drawn = pane.querySelector("svg"), { width, height } = drawn.viewBox.baseVal;
  drawn.setAttribute("width", width * state.scale);
  drawn.setAttribute("height", height * state.scale);
}

/// Returns a scale at which everything is visible, or as much as is readable.
function fit(least, most) {
  const { inner } = state.root;
  const across = pane.clientWidth / (inner.width + 2 * MARGIN), down = pane.clientHeight / (inner.height + 2 * MARGIN);
  state.scale = Math.max(least, Math.min(most, across, Math.max(down, least)));
  scaled();
}

function zoom(factor) {
  const old = state.scale;
  state.scale = Math.min(3, Math.max(0.1, old * factor));
  const [x, y] = [pane.scrollLeft + pane.clientWidth / 2, pane.scrollTop + pane.clientHeight / 2];
  scaled();
  const by = state.scale / old;
  pane.scrollTo(x * by - pane.clientWidth / 2, y * by - pane.clientHeight / 2);
}

// --- What people do

const drawnBox = (box) => pane.querySelector(`[data-box="${box.id}"]`);

/// Redraws, keeping a box where it was on the screen.
function drawAround(box) {
  const before = drawnBox(box)?.getBoundingClientRect();
  draw();
  const after = drawnBox(box)?.getBoundingClientRect();
  if (before && after) pane.scrollBy(after.left - before.left, after.top - before.top);
}

function find(id, box = state.root) {
  if (box.id === id) return box;
  for (const member of box.members) {
    const found = find(id, member);
    if (found) return found;
  }
  return undefined;
}

function toggle(box) {
  setOpen(box, !box.open);
  drawAround(box);
}

/// Selects a node, opens the groups around it, and shows its properties.
function select(node, { scroll = true, remember = true } = {}) {
  if (node >= 0 && !state.boxOf.has(node)) only(null);
  state.selected = node;
  if (node >= 0) for (let box = state.boxOf.get(node).parent; box; box = box.parent) if (!box.open) setOpen(box, true);
  const own = state.boxOf.get(node);
  if (scroll || !own) draw(); else drawAround(own);
  if (scroll && own) show(own);
  details();
  if (remember) name(node);
}

/// Puts a node into the URL, so that it can be linked to and the browser can go back to it.
function name(node) {
  const address = node >= 0 ? "#" + encodeURIComponent(nodes[node].label) : location.pathname + location.search;
  try { history.pushState(null, "", address); } catch { /* Pages inside of others may have no address of their own. */ }
}

function show(box) {
  const at = drawnBox(box).getBoundingClientRect(), of = pane.getBoundingClientRect();
  pane.scrollBy(at.left - of.left - (of.width - at.width) / 2, at.top - of.top - (of.height - at.height) / 2);
}

/// Returns the nodes that can be reached from a node in this many steps, including itself.
function reached(node, next, steps) {
  const found = new Set([node]);
  let open = [node];
  for (let step = 0; step < steps && open.length; step++) {
    open = open.flatMap((n) => next(n)).filter((n) => !found.has(n) && found.add(n));
  }
  return found;
}

function only(wanted) {
  state.only = wanted;
  let shown = null;
  if (wanted) {
    const { node, direction, steps } = wanted;
    shown = new Set([node]);
    const add = (next) => reached(node, next, steps).forEach((n) => shown.add(n));
    if (direction !== "users") add((n) => [...uses[n], ...heads[n]]);
    if (direction !== "uses") add((n) => [...users[n], ...derivatives[n]]);
  }
  view(shown);
  element("only").hidden = !wanted;
  if (wanted) {
    const what = { uses: words.using, users: words.used, both: `${words.used} and ${words.using}` }[wanted.direction];
    const within = wanted.steps === Infinity ? "" : wanted.steps === 1 ? " directly" : ` within ${wanted.steps} steps`;
    element("only").firstElementChild.textContent =
      `Only ${nodes[wanted.node].label} with ${what}${within}: ${figure(shown.size)} of ${count(nodes.length)}`;
  }
}

// --- The panel

function details() {
  panel.replaceChildren(...(state.selected < 0 ? overview() : about(state.selected)));
  panel.scrollTop = 0;
}

function overview() {
  const used = new Set(nodes.map((n) => n.kind));
  const keys = data.kinds.filter((_, i) => used.has(i)).map(([name, text]) => key(text, svg("g", { class: "box " + name }, svg("rect", { class: "face", x: 1, y: 2, width: 26, height: 12, rx: 3 }))));
  if (data.members.some((m) => typeof m !== "number")) {
    keys.push(key("group, opens", svg("g", { class: "box group" }, svg("rect", { class: "face under", x: 4, y: 5, width: 24, height: 10, rx: 3 }), svg("rect", { class: "face", x: 1, y: 2, width: 24, height: 10, rx: 3 }))));
  }
  const line = (name) => svg("path", { class: "edge " + name, d: "M1 8H27" });
  keys.push(key(data.plan ? "is read by" : "calls", line("")));
  if (data.derivatives.length) keys.push(key("is the derivative of", line("differentiates")));
  const sentence = `${count(nodes.length)}${data.files.length ? `, ${figure(data.files.length)} ${data.files.length === 1 ? "file" : "files"}` : ""}.`;
  return [
    html("h2", {}, "Overview"),
    html("p", {}, sentence),
    html("p", { class: "dim" }, "Click a box to see its connections; click a group to open or close it. A number on a line counts the connections that it represents."),
    html("ul", { class: "keys" }, ...keys),
    html("p", { class: "dim" }, "Written by farfel " + panel.dataset.version + "."),
  ];
}

function key(text, sign) {
  return html("li", {}, svg("svg", { width: 30, height: 16, "aria-hidden": "true" }, sign), text);
}

function about(n) {
  const node = nodes[n];
  const close = html("button", { type: "button", class: "close", "aria-label": "Close" }, "×");
  close.addEventListener("click", () => select(-1));
  const parts = [close, html("h2", {}, node.label), html("p", { class: "dim" }, data.kinds[node.kind][1])];
  const place = placeOf(node);
  if (place) {
    const address = data.files[node.file][1];
    parts.push(html("p", { class: "place" }, address === null ? place : html("a", { href: `${address}#L${node.line}` }, place)));
  }
  if (node.notes) parts.push(html("ul", { class: "notes" }, ...node.notes.map((note) => html("li", {}, note))));
  parts.push(focus(n));
  parts.push(list(words.users, users[n], data.plan ? "after" : "before"));
  parts.push(list(words.uses, uses[n], data.plan ? "before" : "after"));
  if (derivatives[n].length) parts.push(list("Derivatives", derivatives[n], "before"));
  if (heads[n].length) parts.push(list("Derivative of", heads[n], "after"));
  return parts;
}

function focus(n) {
  const option = (value, text) => html("option", { value }, text);
  const direction = html("select", { "aria-label": "Direction" }, option("both", `${words.used} and ${words.using}`), option("users", words.used), option("uses", words.using));
  const steps = html("select", { "aria-label": "How far" }, option("1", "1 step"), option("2", "2 steps"), option("all", "all the way"));
  const button = html("button", { type: "button", class: "go" }, "Focus");
  if (state.only) {
    direction.value = state.only.direction;
    steps.value = state.only.steps === Infinity ? "all" : String(state.only.steps);
  }
  button.addEventListener("click", () => {
    only({ node: n, direction: direction.value, steps: steps.value === "all" ? Infinity : Number(steps.value) });
    select(n, { remember: false });
    fit(0.8, 1);
    show(state.boxOf.get(n));
  });
  return html("div", { class: "focus" }, html("span", {}, "Show only this and"), direction, steps, button);
}

const FIRST = 40;
function list(title, found, mark) {
  const section = html("section", {}, html("h3", { class: found.length ? mark : "none" }, `${title} `, html("span", {}, figure(found.length))));
  if (!found.length) return section;
  const sorted = [...found].sort((a, b) => (nodes[a].label < nodes[b].label ? -1 : 1));
  const item = (n) => {
    const button = html("button", { type: "button", "data-node": n }, nodes[n].label);
    button.addEventListener("click", () => select(n));
    return html("li", {}, button);
  };
  const items = html("ul", { class: "links" }, ...sorted.slice(0, FIRST).map(item));
  section.append(items);
  if (sorted.length > FIRST) {
    const more = html("button", { type: "button", class: "more" }, `${figure(sorted.length - FIRST)} more`);
    more.addEventListener("click", () => { items.append(...sorted.slice(FIRST).map(item)); more.remove(); });
    section.append(more);
  }
  return section;
}

// --- Search

const search = element("search"), found = element("found");
const MOST_FOUND = 12;
let active = -1;

function matches(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const rank = (label) => (label === wanted ? 0 : label.startsWith(wanted) ? 1 : label.includes(wanted) ? 2 : 3);
  const ranked = nodes.map((node, n) => [rank(node.label.toLowerCase()), n]).filter(([r]) => r < 3);
  return ranked.sort((a, b) => a[0] - b[0] || nodes[a[1]].label.length - nodes[b[1]].label.length || a[1] - b[1]).map(([, n]) => n);
}

function offer() {
  const all = matches(search.value), shown = all.slice(0, MOST_FOUND);
  active = shown.length ? 0 : -1;
  found.replaceChildren(...shown.map((n, i) => html("li", { role: "option", id: "found-" + i, "data-node": n }, html("b", {}, nodes[n].label), html("span", {}, placeOf(nodes[n])))));
  if (search.value.trim() && all.length !== shown.length) found.append(html("li", { class: "dim" }, `${figure(all.length - shown.length)} more`));
  if (search.value.trim() && !all.length) found.append(html("li", { class: "dim" }, "No match"));
  const open = found.childElementCount > 0;
  found.hidden = !open;
  search.setAttribute("aria-expanded", String(open));
  point();
}

function point() {
  [...found.children].forEach((li, i) => li.setAttribute("aria-selected", String(i === active)));
  if (active >= 0) search.setAttribute("aria-activedescendant", "found-" + active); else search.removeAttribute("aria-activedescendant");
}

function go(li) {
  found.hidden = true;
  search.setAttribute("aria-expanded", "false");
  select(Number(li.dataset.node));
}

search.addEventListener("input", offer);
search.addEventListener("focus", () => { if (search.value) offer(); });
search.addEventListener("blur", () => { found.hidden = true; search.setAttribute("aria-expanded", "false"); });
search.addEventListener("keydown", (e) => {
  const options = found.querySelectorAll("[data-node]").length;
  if (e.key === "ArrowDown" || e.key === "ArrowUp") {
    e.preventDefault();
    if (options) active = (active + (e.key === "ArrowDown" ? 1 : options - 1)) % options;
    point();
  } else if (e.key === "Enter" && active >= 0) {
    go(found.children[active]);
  } else if (e.key === "Escape") {
    found.hidden = true;
    e.stopPropagation();
  }
});
// Before the search box loses the focus, and the list disappears with it.
found.addEventListener("pointerdown", (e) => {
  const li = e.target.closest("[data-node]");
  e.preventDefault();
  if (li) go(li);
});

// --- Events

function act(target) {
  const box = find(Number(target.dataset.box));
  if (box.members.length) toggle(box);
  else select(box.node, { scroll: false });
}

let dragged = false;
pane.addEventListener("click", (e) => {
  const target = e.target.closest("[data-box]");
  if (dragged) return;
  if (target) act(target);
  else if (state.selected >= 0) select(-1, { scroll: false });
});
pane.addEventListener("keydown", (e) => {
  const target = e.target.closest("[data-box]");
  if (!target || (e.key !== "Enter" && e.key !== " ")) return;
  e.preventDefault();
  act(target);
});
pane.addEventListener("pointerdown", (e) => {
  dragged = false;
  if (e.pointerType !== "mouse" || e.button !== 0) return;
  const [x, y, left, top] = [e.clientX, e.clientY, pane.scrollLeft, pane.scrollTop];
  const move = (m) => {
    if (Math.hypot(m.clientX - x, m.clientY - y) > 4) dragged = true;
    if (dragged) pane.scrollTo(left + x - m.clientX, top + y - m.clientY);
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", () => removeEventListener("pointermove", move), { once: true });
});
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape" && state.selected >= 0) select(-1, { scroll: false });
  if (e.key === "/" && !e.target.matches("input, select")) { e.preventDefault(); search.focus(); }
});
element("close").addEventListener("click", () => {
  state.opened.clear();
  only(state.only);
  draw();
  fit(0.8, 1);
  pane.scrollTo(0, 0);
});
element("smaller").addEventListener("click", () => zoom(0.8));
element("larger").addEventListener("click", () => zoom(1.25));
element("fit").addEventListener("click", () => fit(0.1, 1));
element("all").addEventListener("click", () => { only(null); select(state.selected, { remember: false }); });
addEventListener("popstate", () => select(named(), { remember: false }));

/// Returns the index of the node that the URL names, or -1.
function named() {
  let wanted = "";
  try { wanted = decodeURIComponent(location.hash.slice(1)); } catch { /* Not an address of this page. */ }
  return nodes.findIndex((node) => node.label === wanted && wanted !== "");
}

only(null);
openAtFirst();
element("close").hidden = !state.root.members.some((b) => b.members.length);
draw();
fit(0.8, 1);
const first = named();
if (first >= 0) select(first, { remember: false }); else details();
