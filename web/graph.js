// graph.js: draws the graph: layers, or scopes of layers, in rows below their inputs. Colour shows time.
import {digits, escape, scaleOf} from './format.js';

const BOX = {
  width: 172,
  height: 40,
  gapX: 18,
  gapY: 30,
  lane: 14
};
const MOST_OPEN = 48;  // limit on the boxes of the first picture

// ---- scopes --------------------------------------------------------------------------------------------------------

export const scopeOf = (name) => name.split(/[/.]/).filter(Boolean);

// The tree of names. A node is a layer (`layer` is its index), or a scope with `inside`.
export function treeOf(layers) {
  const root = {path: '', inside: [], layers: [], depth: 0};
  const scopes = new Map([['', root]]);
  layers.forEach((layer, index) => {
    const parts = scopeOf(layer.name);
    let scope = root;
    root.layers.push(index);
    for (const part of parts.slice(0, -1)) {
      const path = scope.path ? `${scope.path}.${part}` : part;
      if (!scopes.has(path)) {
        const inner = {path, inside: [], layers: [], depth: scope.depth + 1, parent: scope};
        scopes.set(path, inner);
        scope.inside.push(inner);
      }
      scope = scopes.get(path);
      scope.layers.push(index);
    }
    scope.inside.push({layer: index, parent: scope, depth: scope.depth + 1, layers: [index]});
  });
  // Removes scopes that contain a single scope or layer.
  const flatten = (scope) => {
    for (const inner of scope.inside)
      if (inner.inside) flatten(inner);
    scope.inside = scope.inside.map(
      (inner) => (inner.inside && inner.inside.length === 1 ? Object.assign(inner.inside[0], {parent: scope}) : inner));
  };
  flatten(root);
  return root;
}

// Opens scopes level by level while there are few boxes.
export function openScopes(root) {
  const open = new Set([root]);
  let boxes = root.inside.length;
  for (;;) {
    const closed = [...open].flatMap((s) => s.inside.filter((n) => n.inside && !open.has(n)));
    const more = closed.reduce((sum, s) => sum + s.inside.length - 1, 0);
    if (!closed.length || boxes + more > MOST_OPEN) return open;
    closed.forEach((s) => open.add(s));
    boxes += more;
  }
}

function visible(scope, open, out = []) {
  for (const node of scope.inside) {
    if (node.inside && open.has(node))
      visible(node, open, out);
    else
      out.push(node);
  }
  return out;
}

// Label of a scope: the last part of its name, with the part before if it is a number.
function nameOf(path) {
  const parts = scopeOf(path);
  return /^\d+$/.test(parts[parts.length - 1]) ? parts.slice(-2).join('.') : parts[parts.length - 1];
}

// ---- layout --------------------------------------------------------------------------------------------------------

// nodes in topological order; edges [[from, to]]. Returns rows, coordinates and paths.
function layout(nodes, edges) {
  const row = new Array(nodes.length).fill(0);
  const forward = edges.filter(([a, b]) => a < b).sort((a, b) => a[1] - b[1]);
  for (const [a, b] of forward) row[b] = Math.max(row[b], row[a] + 1);
  const places = nodes.map((node, i) => ({node, row: row[i], width: BOX.width, up: [], down: [], x: 0}));
  const routes = forward.map(([a, b]) => {
    const route = [places[a]];
    if (row[b] - row[a] <= 24)
      for (let r = row[a] + 1; r < row[b]; r++) {
        const lane = {row: r, width: BOX.lane, up: [], down: [], x: 0};
        places.push(lane);
        route.push(lane);
      }
    route.push(places[b]);
    for (let i = 1; i < route.length; i++) {
      if (route[i].row - route[i - 1].row !== 1) continue;
      route[i].up.push(route[i - 1]);
      route[i - 1].down.push(route[i]);
    }
    return route;
  });
  const rows = [];
  for (const p of places) (rows[p.row] ??= []).push(p);
  const mean = (list) => list.reduce((s, p) => s + p.x, 0) / list.length;
  const pack = (list) => {
    let x = 0;
    for (const p of list) {
      p.x = x + p.width / 2;
      x += p.width + BOX.gapX;
    }
    const middle = (x - BOX.gapX) / 2;
    for (const p of list) p.x -= middle;
  };
  rows.forEach(pack);
  const order = (list, side) => {
    const keys = new Map(list.map((p) => [p, p[side].length ? mean(p[side]) : p.x]));
    list.sort((a, b) => keys.get(a) - keys.get(b));
    // Moves each box towards its neighbours; overlapping boxes move as a group.
    const blocks = [];
    for (const p of list) {
      let block = {items: [p], width: p.width, want: keys.get(p), count: 1};
      block.left = block.want - block.width / 2;
      while (
        blocks.length && blocks[blocks.length - 1].left + blocks[blocks.length - 1].width + BOX.gapX > block.left) {
        const before = blocks.pop();
        const width = before.width + BOX.gapX + block.width;
        const shift = before.width + BOX.gapX;
        const left = (before.left * before.count + (block.left - shift) * block.count) / (before.count + block.count);
        block = {items: [...before.items, ...block.items], width, left, count: before.count + block.count};
      }
      blocks.push(block);
    }
    for (const block of blocks) {
      let x = block.left;
      for (const p of block.items) {
        p.x = x + p.width / 2;
        x += p.width + BOX.gapX;
      }
    }
  };
  for (let sweep = 0; sweep < 3; sweep++) {
    for (const list of rows) order(list, 'up');
    for (const list of rows.slice().reverse()) order(list, 'down');
  }
  for (const list of rows) order(list, 'up');
  const y = (r) => r * (BOX.height + BOX.gapY);
  const left = Math.min(...places.map((p) => p.x - p.width / 2));
  const right = Math.max(...places.map((p) => p.x + p.width / 2));
  const paths = routes.map((route) => {
    let d = '';
    for (let i = 1; i < route.length; i++) {
      const [a, b] = [route[i - 1], route[i]];
      const y0 = y(a.row) + BOX.height;
      const y1 = y(b.row);
      const x0 = a.node ? a.x + Math.max(-60, Math.min(60, (b.x - a.x) / 4)) : a.x;
      const x1 = b.node ? b.x + Math.max(-60, Math.min(60, (a.x - b.x) / 4)) : b.x;
      if (i === 1) d += `M${x0.toFixed(1)} ${y0.toFixed(1)}`;
      const bend = Math.min(22, (y1 - y0) / 2);
      d += `C${x0.toFixed(1)} ${(y0 + bend).toFixed(1)} ${x1.toFixed(1)} ${(y1 - bend).toFixed(1)} ${x1.toFixed(1)} ${
        y1.toFixed(1)}`;
      if (!b.node) d += `V${(y1 + BOX.height).toFixed(1)}`;
    }
    return d;
  });
  return {
    places: places.slice(0, nodes.length),
    paths,
    left,
    width: right - left,
    height: y(rows.length - 1) + BOX.height,
    y
  };
}

// ---- the picture ---------------------------------------------------------------------------------------------------

export class Graph {
  // onChoose(index of a layer)
  constructor(element, onChoose) {
    this.element = element;
    this.onChoose = onChoose;
    this.chosen = -1;
    element.tabIndex = 0;
    element.addEventListener('wheel', (e) => this.wheel(e), {passive: false});
    element.addEventListener('pointerdown', (e) => this.grab(e));
    element.addEventListener('click', (e) => this.click(e));
    element.addEventListener('dblclick', (e) => this.toggleAt(e.target.closest('.box')));
    element.addEventListener('keydown', (e) => this.key(e));
  }

  // layers of `inspect --values`; times by layer, in milliseconds
  show(layers, inputs, times) {
    const isNew = this.layers !== layers;
    this.layers = layers;
    this.times = times;
    this.inputs = inputs;
    if (isNew) {
      this.root = treeOf(layers);
      this.open = openScopes(this.root);
    }
    this.draw(isNew);
  }

  edges(nodes) {
    const boxOf = new Map();
    nodes.forEach((node, i) => node.layers?.forEach((l) => boxOf.set(l, i)));
    const writer = new Map();
    nodes.forEach((node, i) => {
      if (node.input != null) writer.set(node.input, i);
    });
    this.layers.forEach((layer, l) => layer.outputs?.forEach((v) => writer.set(v, boxOf.get(l))));
    const seen = new Set();
    const edges = [];
    this.layers.forEach((layer, l) => {
      const to = boxOf.get(l);
      for (const v of layer.inputs ?? []) {
        const from = writer.get(v);
        if (from == null || from === to || seen.has(from * nodes.length + to)) continue;
        seen.add(from * nodes.length + to);
        edges.push([from, to]);
      }
    });
    return edges;
  }

  draw(fit) {
    const begin = (node) => (node.input != null ? -1 : node.layers[0]);
    const inputs = this.inputs.map((input) => ({input: input.name, shape: input.shape}));
    const boxes = visible(this.root, this.open).sort((a, b) => begin(a) - begin(b));
    const nodes = [...inputs, ...boxes];
    this.nodes = nodes;
    this.picture = layout(nodes, this.edges(nodes));
    const total = this.times.reduce((s, t) => s + t, 0) || 1;
    const sums = nodes.map((n) => (n.layers ?? []).reduce((s, l) => s + (this.times[l] || 0), 0));
    const most = Math.max(...sums, 1e-12);
    const {places, paths, y} = this.picture;
    let svg = paths.map((d) => `<path class="edge" d="${d}"/>`).join('');
    places.forEach((p, i) => {
      svg += this.box(nodes[i], i, p.x - BOX.width / 2, y(p.row), sums[i], total, most);
    });
    this.element.innerHTML = `<svg role="group" aria-label="Graph of ${
      nodes.length} boxes; arrow keys move, Enter opens and closes a scope" class="picture"><g class="all">${svg}</g></svg>`;
    this.all = this.element.querySelector('.all');
    if (fit || !this.view)
      this.fit();
    else
      this.move();
    this.choose(this.chosen, false);
  }

  box(node, index, x, y, ms, total, most) {
    const short = (text, room) =>
      (text.length > room ? `${text.slice(0, room / 2 - 1)}…${text.slice(-(room / 2 - 1))}` : text);
    if (node.input != null) {
      const shape = node.shape ? node.shape.map((d) => d ?? '?').join('×') : '';
      return `<g class="box end" data-box="${index}" data-tip="${
        escape(`input ${node.input}\n${shape}`)}"><rect class="face" x="${x}" y="${y}" width="${BOX.width}" height="${
        BOX.height}" rx="20"/><text x="${x + BOX.width / 2}" y="${y + 17}" text-anchor="middle">${
        escape(short(node.input, 22))}</text><text class="sub" x="${x + BOX.width / 2}" y="${
        y + 31}" text-anchor="middle">${escape(shape)}</text></g>`;
    }
    const share = ms / most;
    const layer = node.layer != null ? this.layers[node.layer] : null;
    const title = layer ? layer.op : nameOf(node.path);
    const sub = layer ? scopeOf(layer.name).slice(-2).join('.') : `${node.layers.length} layers`;
    const name = layer ? layer.name : node.path;
    const time = ms >= 0.0005 ? `${digits(ms, 3)} ms` : '';
    const facts = `${name}\n${
      layer ? `${layer.op} · ${(layer.shape ?? []).map((d) => d ?? '?').join('×')}` :
              `${node.layers.length} layers; double-click or Enter opens`}\n${digits(ms)} ms, ${
      ((100 * ms) / total).toFixed(1)} %`;
    const fill = `color-mix(in oklab, var(--accent) ${Math.round(100 * Math.sqrt(share))}%, var(--surface))`;
    return `<g class="box${layer ? '' : ' group'}${share > 0.3 ? ' hot' : ''}" data-box="${index}"${
      layer ? ` data-layer="${node.layer}"` : ''} data-tip="${escape(facts)}">${
      layer ? '' :
              `<rect x="${x + 4}" y="${y + 4}" width="${BOX.width}" height="${
                BOX.height}" rx="7" style="fill:var(--surface)"/>`}<rect class="face" x="${x}" y="${y}" width="${
      BOX.width}" height="${BOX.height}" rx="7" style="fill:${fill}"/><text x="${x + 10}" y="${
      y + 17}" font-weight="600">${escape(short(title, 20))}</text><text class="sub" x="${x + 10}" y="${y + 32}">${
      escape(short(
        sub, time ? 14 : 26))}</text><text class="sub" x="${x + BOX.width - 10}" y="${y + 32}" text-anchor="end">${
      time}</text>${layer ? '' : `<text x="${x + BOX.width - 10}" y="${y + 17}" text-anchor="end">+</text>`}</g>`;
  }

  // Calls use(svg) with the whole picture at its natural size.
  whole(use) {
    const {left, width, height} = this.picture;
    const box = document.createElement('div');
    box.style.cssText = 'position:absolute;visibility:hidden;width:0;height:0';
    box.innerHTML = `<svg class="picture" viewBox="${left} 0 ${width + 4} ${height + 4}" aria-label="Graph; colour is time">${
      this.all.innerHTML}</svg>`;
    this.element.append(box);
    use(box.firstChild);
    box.remove();
  }

  // ---- moving about ----

  fit() {
    const {clientWidth: w, clientHeight: h} = this.element;
    const {left, width, height} = this.picture;
    const large = scaleOf();
    const scale = Math.min(1.15 * large, Math.max(Math.min((w - 24) / width, (h - 24) / height), 0.82 * large));
    this.view = {
      scale,
      x: w / 2 - (left + width / 2) * scale,
      y: height * scale < h - 24 ? (h - height * scale) / 2 : 14
    };
    this.move();
  }

  move() {
    this.all.setAttribute('transform',
      `translate(${this.view.x.toFixed(1)} ${this.view.y.toFixed(1)}) scale(${this.view.scale.toFixed(4)})`);
  }

  zoom(factor, x = this.element.clientWidth / 2, y = this.element.clientHeight / 2) {
    const scale = Math.min(3 * scaleOf(), Math.max(0.04, this.view.scale * factor));
    const k = scale / this.view.scale;
    this.view = {scale, x: x - (x - this.view.x) * k, y: y - (y - this.view.y) * k};
    this.move();
  }

  wheel(e) {
    e.preventDefault();
    const box = this.element.getBoundingClientRect();
    if (e.ctrlKey || e.metaKey || e.altKey)
      this.zoom(Math.exp(-e.deltaY / 200), e.clientX - box.left, e.clientY - box.top);
    else {
      this.view.x -= e.shiftKey ? e.deltaY : e.deltaX;
      this.view.y -= e.shiftKey ? 0 : e.deltaY;
      this.move();
    }
  }

  grab(e) {
    this.pointers ??= new Map();
    this.pointers.set(e.pointerId, e);
    this.moved = false;
    const move = (n) => {
      const old = this.pointers.get(n.pointerId);
      if (!old) return;
      const all = [...this.pointers.values()];
      if (all.length === 2) {
        const other = all.find((p) => p.pointerId !== n.pointerId);
        const box = this.element.getBoundingClientRect();
        const distance = (p) => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY);
        this.zoom(distance(n) / Math.max(distance(old), 1), (n.clientX + other.clientX) / 2 - box.left,
          (n.clientY + other.clientY) / 2 - box.top);
      } else {
        this.view.x += n.clientX - old.clientX;
        this.view.y += n.clientY - old.clientY;
        this.move();
      }
      if (Math.hypot(n.clientX - e.clientX, n.clientY - e.clientY) > 4) this.moved = true;
      this.pointers.set(n.pointerId, n);
      this.element.classList.add('moving');
    };
    const end = (n) => {
      this.pointers.delete(n.pointerId);
      if (this.pointers.size) return;
      this.element.classList.remove('moving');
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', end);
      removeEventListener('pointercancel', end);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', end);
    addEventListener('pointercancel', end);
  }

  // ---- choosing ----

  click(e) {
    const box = e.target.closest('.box');
    if (!box || this.moved) return;
    this.focusBox(Number(box.dataset.box));
    if (box.dataset.layer) this.onChoose(Number(box.dataset.layer));
  }

  toggleAt(box) {
    const node = box && this.nodes[Number(box.dataset.box)];
    if (!node) return;
    if (node.inside)
      this.open.add(node);
    else if (node.parent && node.parent !== this.root)
      this.open.delete(node.parent);
    else
      return;
    this.draw(false);
  }

  // Opens all scopes, or as many as fit.
  setOpen(all) {
    this.open = openScopes(this.root);
    const add = (scope) => {
      this.open.add(scope);
      scope.inside.forEach((n) => n.inside && add(n));
    };
    if (all) add(this.root);
    this.draw(true);
  }

  focusBox(index) {
    this.at = index;
    this.element.querySelectorAll('.box.chosen').forEach((b) => b.classList.remove('chosen'));
    this.element.querySelector(`.box[data-box="${index}"]`)?.classList.add('chosen');
  }

  // Marks the box of a layer; `reveal` opens its scopes and scrolls to it.
  choose(layer, reveal = true) {
    this.chosen = layer;
    if (layer < 0) return;
    let index = this.nodes.findIndex((n) => n.layer === layer);
    if (index < 0 && reveal) {
      for (let node = this.nodes.find((n) => n.inside && n.layers.includes(layer)); node?.inside;
           node = node.inside.find((n) => n.layers.includes(layer)))
        this.open.add(node);
      this.draw(false);
      index = this.nodes.findIndex((n) => n.layer === layer);
    }
    if (index < 0) index = this.nodes.findIndex((n) => n.layers?.includes(layer));
    if (index < 0) return;
    this.focusBox(index);
    if (reveal) this.bring(index);
  }

  bring(index) {
    const place = this.picture.places[index];
    const {clientWidth: w, clientHeight: h} = this.element;
    const x = this.view.x + place.x * this.view.scale;
    const y = this.view.y + (this.picture.y(place.row) + BOX.height / 2) * this.view.scale;
    if (x < 40 || x > w - 40) this.view.x += w / 2 - x;
    if (y < 40 || y > h - 40) this.view.y += h / 2 - y;
    this.move();
  }

  key(e) {
    const step = {ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1}[e.key];
    if (step) {
      this.focusBox(Math.min(this.nodes.length - 1, Math.max(0, (this.at ?? -1) + step)));
      this.bring(this.at);
      const node = this.nodes[this.at];
      if (node.layer != null) this.onChoose(node.layer);
    } else if (e.key === 'Enter')
      this.toggleAt(this.element.querySelector(`.box[data-box="${this.at}"]`));
    else if (e.key === '+' || e.key === '=')
      this.zoom(1.25);
    else if (e.key === '-')
      this.zoom(0.8);
    else if (e.key === '0')
      this.fit();
    else
      return;
    e.preventDefault();
  }
}
