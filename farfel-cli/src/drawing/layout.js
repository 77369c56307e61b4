// Placement of the boxes of one level, in columns from left to right. The method is that of layout.rs, which
// has the references; here each connected component has columns of its own, and components are placed side by
// side if there is room.

const GAP_LEAST = 34, GAP_MOST = 90, GAP_ACROSS = 14, BEND_GAP = 8, PART_GAP = 26, LOW = 75, SWEEPS = 12, MOST_BENDS = 4000;
// Breaking a long row of columns into bands: the minimum number of columns, the space between bands, the
// space per edge there, the maximum number of edges across a break, and the maximum height.
const LONG = 5, FOLD_GAP = 36, FOLD_STEP = 5, MOST_FOLDED = 5, FOLDED_HEIGHT = 900;

/// `sizes`: [width, height] of each box. `links`: [tail, head, width of the text on it] between different
/// boxes. Returns the upper left corners, the points of each link (level between the 2nd and 3rd, 4th and 5th
/// ...), and the total size.
function layoutLevel(sizes, links, wanted) {
  const places = new Array(sizes.length), paths = new Array(links.length);
  const parts = connected(sizes.length, links), blocks = [], single = [];
  for (const part of parts) {
    if (part.nodes.length === 1 && sizes[part.nodes[0]][1] < LOW) single.push(part.nodes[0]);
    else blocks.push(layered(part, sizes, links, wanted));
  }
  const room = Math.max(wanted, ...blocks.map((b) => b.width));
  let x = 0, y = 0, row = 0, width = 0;
  for (const block of blocks) {
    if (x > 0 && x + block.width > room) {
      x = 0; y += row + PART_GAP; row = 0;
    }
    const [left, top] = [x, y];
    block.nodes.forEach((n, i) => { places[n] = [block.places[i][0] + left, block.places[i][1] + top]; });
    block.links.forEach((l, i) => { paths[l] = block.paths[i].map(([u, v]) => [u + left, v + top]); });
    x += block.width + PART_GAP;
    row = Math.max(row, block.height);
    width = Math.max(width, x - PART_GAP);
  }
  let height = blocks.length ? y + row : 0;
  if (single.length) {
    const cell = Math.max(...single.map((n) => sizes[n][0])), tall = Math.max(...single.map((n) => sizes[n][1]));
    const most = Math.max(1, Math.floor((room + GAP_ACROSS) / (cell + GAP_ACROSS)));
    const columns = Math.min(most, single.length), rows = Math.ceil(single.length / columns);
    const top = blocks.length ? height + PART_GAP : 0;
    single.forEach((n, i) => {
      places[n] = [(i % columns) * (cell + GAP_ACROSS), top + Math.floor(i / columns) * (tall + GAP_ACROSS)];
    });
    width = Math.max(width, columns * (cell + GAP_ACROSS) - GAP_ACROSS);
    height = top + rows * (tall + GAP_ACROSS) - GAP_ACROSS;
  }
  return { places, paths, width, height };
}

/// Returns the connected components, in the order of their first boxes.
function connected(count, links) {
  const near = Array.from({ length: count }, () => []);
  links.forEach(([a, b], l) => { near[a].push([b, l]); near[b].push([a, l]); });
  const part = new Array(count).fill(-1), parts = [];
  for (let first = 0; first < count; first++) {
    if (part[first] >= 0) continue;
    const number = parts.length, nodes = [], open = [first];
    part[first] = number;
    while (open.length) {
      const n = open.pop();
      nodes.push(n);
      for (const [other] of near[n]) {
        if (part[other] < 0) { part[other] = number; open.push(other); }
      }
    }
    parts.push({ nodes: nodes.sort((a, b) => a - b), links: [] });
  }
  links.forEach(([a], l) => parts[part[a]].links.push(l));
  return parts;
}

/// Lays out one component. Places and paths are in the order of its nodes and links.
function layered(part, allSizes, allLinks, wanted) {
  const number = new Map(part.nodes.map((n, i) => [n, i]));
  const sizes = part.nodes.map((n) => allSizes[n]), count = sizes.length;
  const links = part.links.map((l) => allLinks[l].slice(0, 2).map((n) => number.get(n)));
  const turned = turnedLinks(count, links);
  const forward = links.map(([a, b], l) => (turned[l] ? [b, a] : [a, b]));
  const column = columnsOf(count, forward);
  const columns = Math.max(...column) + 1;
  const widths = new Array(columns).fill(0);
  column.forEach((c, n) => { widths[c] = Math.max(widths[c], sizes[n][0]); });
  const points = withBends(sizes, column, forward);
  // The more edges cross the space between two columns, the more space they need to be distinguishable.
  const crossing = new Array(columns).fill(0);
  points.before.forEach((near, p) => { crossing[points.column[p]] += near.length; });
  const written = new Array(columns).fill(0);
  part.links.forEach((l, i) => {
    const c = column[forward[i][0]] + 1;
    written[c] = Math.max(written[c], allLinks[l][2] + 16);
  });
  const left = [0];
  for (let c = 1; c < columns; c++) {
    left.push(left[c - 1] + widths[c - 1] + Math.max(written[c], Math.min(GAP_LEAST + 3 * crossing[c], GAP_MOST)));
  }
  const layers = Array.from({ length: columns }, () => []);
  points.column.forEach((c, p) => layers[c].push(p));
  const ordered = fewCrossings(layers, points);
  settle(ordered, points);
  const y = points.y.map(Math.round);
  const bands = inBands({ points, y, left, widths, crossing }, wanted);

  // An edge ends at its own height at a tall box, and in the middle of a low one.
  const port = (n, towards) => {
    const half = sizes[n][1] / 2, inset = Math.min(half, 18);
    return Math.min(Math.max(towards, y[n] - half + inset), y[n] + half - inset);
  };
  const paths = forward.map(([a, b], l) => {
    const chain = points.chains[l];
    const path = [[left[column[a]] + sizes[a][0], port(a, y[chain.length ? chain[0] : b]), column[a]]];
    for (const bend of chain) {
      const c = points.column[bend];
      path.push([left[c], y[bend], c], [left[c] + widths[c], y[bend], c]);
    }
    path.push([left[column[b]], port(b, y[chain.length ? chain[chain.length - 1] : a]), column[b]]);
    const folded = bands.path(path);
    return turned[l] ? folded.reverse() : folded;
  });
  return {
    nodes: part.nodes, links: part.links, paths,
    places: sizes.map((s, n) => bands.place(left[column[n]], Math.round(y[n] - s[1] / 2), column[n])),
    width: bands.width, height: bands.height,
  };
}

/// Breaks columns that are wider than the available room, such as those of a long chain, into bands below
/// each other, like lines of text: where few edges go from one to the next, and as long as the result is not
/// too high.
function inBands({ points, y, left, widths, crossing }, wanted) {
  const columns = left.length, right = (c) => left[c] + widths[c];
  const top = new Array(columns).fill(Infinity), bottom = new Array(columns).fill(-Infinity);
  points.column.forEach((c, p) => {
    top[c] = Math.min(top[c], y[p] - points.height[p] / 2);
    bottom[c] = Math.max(bottom[c], y[p] + points.height[p] / 2);
  });
  const extent = (first, end) => [Math.min(...top.slice(first, end)), Math.max(...bottom.slice(first, end))];
  let breaks = [0];
  for (let c = 1; c < columns && columns >= LONG; c++) {
    if (right(c) - left[breaks[breaks.length - 1]] > wanted && crossing[c] <= MOST_FOLDED) breaks.push(c);
  }
  const bandOf = new Array(columns).fill(0), place = [];
  const lay = () => {
    place.length = 0;
    let height = 0;
    breaks.forEach((first, band) => {
      const end = breaks[band + 1] ?? columns, [from, to] = extent(first, end);
      if (band > 0) height += FOLD_GAP + FOLD_STEP * crossing[first];
      place.push({ x: left[first], y: from - height, right: right(end - 1) - left[first], end: height + to - from });
      bandOf.fill(band, first, end);
      height += to - from;
    });
    return height;
  };
  let height = lay();
  if (height > FOLDED_HEIGHT) {
    breaks = [0];
    height = lay();
  }
  const move = (x, v, c) => [x - place[bandOf[c]].x, v - place[bandOf[c]].y];
  const used = breaks.map(() => 0);
  const width = Math.max(...place.map((band) => band.right));
  const path = (points) => points.flatMap(([x, v, c], i) => {
    const here = move(x, v, c), before = i > 0 ? bandOf[points[i - 1][2]] : bandOf[c];
    if (before === bandOf[c]) return [here];
    // Out on the right, back between the bands, and in on the left; edges side by side.
    const number = used[before]++, [, from] = move(...points[i - 1]);
    const out = place[before].right + 8 + 3 * number, into = -8 - Math.min(3 * number, 10);
    const between = place[before].end + FOLD_GAP / 2 + FOLD_STEP * number;
    return [[out, from], [out, between], [into, between], [into, here[1]], here];
  });
  return { width, height, place: move, path };
}

/// Returns, for each link, whether it closes a cycle in a depth-first search in the order of the nodes.
function turnedLinks(count, links) {
  const out = Array.from({ length: count }, () => []), needed = new Array(count).fill(false);
  links.forEach(([a, b], l) => { out[a].push(l); needed[b] = true; });
  const turned = new Array(links.length).fill(false);
  // 1: on the path, 2: done.
  const state = new Array(count).fill(0);
  const all = [...Array(count).keys()];
  for (const root of [...all.filter((n) => !needed[n]), ...all]) {
    if (state[root]) continue;
    state[root] = 1;
    const path = [[root, 0]];
    while (path.length) {
      const step = path[path.length - 1], l = out[step[0]][step[1]++];
      if (l === undefined) {
        state[step[0]] = 2;
        path.pop();
      } else {
        const to = links[l][1];
        if (state[to] === 1) turned[l] = true;
        else if (state[to] === 0) { state[to] = 1; path.push([to, 0]); }
      }
    }
  }
  return turned;
}

/// Returns the column of each node: after its last predecessor; a node without predecessors is just before
/// the first node that needs it.
function columnsOf(count, links) {
  const out = Array.from({ length: count }, () => []), missing = new Array(count).fill(0);
  for (const [a, b] of links) { out[a].push(b); missing[b]++; }
  const first = [...Array(count).keys()].filter((n) => missing[n] === 0);
  const column = new Array(count).fill(0), ready = [...first];
  while (ready.length) {
    const a = ready.pop();
    for (const b of out[a]) {
      column[b] = Math.max(column[b], column[a] + 1);
      if (--missing[b] === 0) ready.push(b);
    }
  }
  for (const a of first) {
    if (out[a].length) column[a] = Math.min(...out[a].map((b) => column[b])) - 1;
  }
  return column;
}

/// Nodes, followed by the bends of links over several columns.
function withBends(sizes, column, links) {
  const points = {
    nodes: sizes.length, column: [...column], height: sizes.map((s) => s[1]), y: sizes.map(() => 0),
    before: sizes.map(() => []), after: sizes.map(() => []), chains: [],
  };
  const bends = ([a, b]) => Math.max(0, column[b] - column[a] - 1);
  const straight = links.reduce((sum, l) => sum + bends(l), 0) > MOST_BENDS;
  for (const link of links) {
    const chain = [];
    let last = link[0];
    for (let i = 0; i < (straight ? 0 : bends(link)); i++) {
      const bend = points.column.length;
      points.column.push(column[link[0]] + 1 + i);
      points.height.push(0); points.y.push(0); points.before.push([last]); points.after.push([]);
      points.after[last].push(bend);
      chain.push(bend);
      last = bend;
    }
    points.after[last].push(link[1]);
    points.before[link[1]].push(last);
    points.chains.push(chain);
  }
  return points;
}

/// Sorts the layers: each point moves to the mean position of its neighbours, in sweeps back and forth; the
/// order with the fewest crossings is kept.
function fewCrossings(layers, points) {
  const place = new Array(points.column.length);
  const number = (layer) => layer.forEach((p, i) => { place[p] = i; });
  layers.forEach(number);
  let best = layers.map((l) => [...l]), fewest = crossings(layers, points, place);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    const forth = sweep % 2 === 0, near = forth ? points.before : points.after;
    for (let i = 0; i < layers.length; i++) {
      const c = forth ? i : layers.length - 1 - i;
      const mean = new Map(layers[c].map((p) => {
        const of = near[p];
        return [p, of.length ? of.reduce((sum, q) => sum + place[q], 0) / of.length : place[p]];
      }));
      layers[c].sort((a, b) => mean.get(a) - mean.get(b));
      number(layers[c]);
    }
    const now = crossings(layers, points, place);
    if (now < fewest) { fewest = now; best = layers.map((l) => [...l]); }
  }
  return best;
}

function crossings(layers, points, place) {
  let sum = 0;
  for (let c = 0; c + 1 < layers.length; c++) {
    // The number of heads at or before each place, as a binary indexed tree.
    const tree = new Array(layers[c + 1].length + 1).fill(0);
    let heads = 0;
    for (const tail of layers[c]) {
      const to = points.after[tail].filter((q) => points.column[q] === c + 1).map((q) => place[q]);
      for (const head of to) {
        let before = 0;
        for (let i = head + 1; i > 0; i &= i - 1) before += tree[i];
        sum += heads - before;
      }
      for (const head of to) {
        heads++;
        for (let i = head + 1; i < tree.length; i += i & -i) tree[i]++;
      }
    }
  }
  return sum;
}

/// Determines the heights of the points, in the order of the layers: as close to their neighbours as
/// possible.
function settle(layers, points) {
  for (const layer of layers) stack(layer, layer.map(() => 0), points);
  for (let sweep = 0; sweep < 8; sweep++) {
    const forth = sweep % 2 === 0, both = sweep >= 4;
    for (let i = 0; i < layers.length; i++) {
      const layer = layers[forth ? i : layers.length - 1 - i];
      const wanted = layer.map((p) => {
        const near = [...(both || forth ? points.before[p] : []), ...(both || !forth ? points.after[p] : [])];
        return near.length ? near.reduce((sum, q) => sum + points.y[q], 0) / near.length : points.y[p];
      });
      stack(layer, wanted, points);
    }
  }
}

/// Places the points of a layer as close to the wanted positions as their order and distances allow, by least
/// squares.
function stack(layer, wanted, points) {
  const offsets = [], blocks = [];
  let offset = 0;
  layer.forEach((p, i) => {
    if (i > 0) {
      const before = layer[i - 1], bends = p >= points.nodes && before >= points.nodes;
      offset += (points.height[before] + points.height[p]) / 2 + (bends ? BEND_GAP : GAP_ACROSS);
    }
    offsets.push(offset);
    let block = [wanted[i] - offset, 1];
    while (blocks.length) {
      const last = blocks[blocks.length - 1];
      if (last[0] / last[1] < block[0] / block[1]) break;
      block = [block[0] + last[0], block[1] + last[1]];
      blocks.pop();
    }
    blocks.push(block);
  });
  let at = 0;
  for (const [sum, count] of blocks) {
    for (let i = 0; i < count; i++, at++) points.y[layer[at]] = sum / count + offsets[at];
  }
}
