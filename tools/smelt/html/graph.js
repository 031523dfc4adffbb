// Draws what is visible of a tree as a graph: laid out by dagre, drawn as SVG that the keyboard reaches.

const ruler = document.createElement("canvas").getContext("2d");
ruler.font = "12px system-ui, sans-serif"; // as charts.css has it

/// The text, or as much of it as `width` pixels hold.
function fitText(text, width) {
  if (ruler.measureText(text).width <= width) return text;
  let least = 0, most = text.length;
  while (most - least > 1) {
    const middle = (least + most) >> 1;
    if (ruler.measureText(`${text.slice(0, middle)}…`).width <= width) least = middle;
    else most = middle;
  }
  return `${text.slice(0, least)}…`;
}

class GraphView {
  /// `edges` are pairs of leaf keys; `keyOf(leaf)`, `labelOf(leaf)` and `choose(leaf)` say what leaves are.
  constructor(holder, tree, edges, { keyOf, labelOf, choose }) {
    Object.assign(this, { holder, tree, edges, keyOf, labelOf, choose });
    this.leaves = new Map(leavesOf(tree).map((leaf) => [keyOf(leaf), leaf]));
    this.chosen = new Set();
    this.related = new Set();
    holder.addEventListener("keydown", (event) => { if (event.key === "Escape") this.closeAroundFocus(); });
  }

  labelOfItem(item) { return item.children ? item.label : this.labelOf(item); }

  draw() {
    const items = visibleItems(this.tree);
    const shownAt = new Map();
    items.forEach((item, i) => leavesOf(item).forEach((leaf) => shownAt.set(this.keyOf(leaf), i)));
    const pairs = new Map();
    for (const [from, to] of this.edges) {
      const v = shownAt.get(from), w = shownAt.get(to);
      if (v !== undefined && w !== undefined && v !== w) pairs.set(`${v} ${w}`, { v: String(v), w: String(w), minlen: 1, weight: 1, width: 0, height: 0, labeloffset: 10, labelpos: "r" });
    }
    const nodes = items.map((item, i) => ({ v: String(i), width: Math.min(260, 18 + Math.ceil(ruler.measureText(this.labelOfItem(item)).width)), height: 26 }));
    const lines = [...pairs.values()];
    if (nodes.length) dagre.layout(nodes, lines, { nodesep: 14, ranksep: 26, rankdir: "TB" }, {});
    this.render(items, nodes, lines);
  }

  render(items, nodes, lines) {
    const width = Math.max(10, ...nodes.map((n) => n.x + n.width / 2)) + 12, height = Math.max(10, ...nodes.map((n) => n.y + 13)) + 12;
    const picture = svg("svg", { width, height, role: "group", "aria-label": this.holder.id === "onnx" ? "ONNX nodes" : "Fusions" });
    for (const line of lines) {
      const points = line.points.map((point) => `${point.x.toFixed(1)},${point.y.toFixed(1)}`);
      picture.append(svg("path", { class: "edge", d: `M${points.join("L")}` }));
    }
    this.elements = new Map();
    items.forEach((item, i) => picture.append(this.renderItem(item, nodes[i])));
    this.holder.replaceChildren(picture);
    this.mark();
  }

  renderItem(item, { x, y, width, height }) {
    const label = this.labelOfItem(item);
    const group = svg("g", { class: item.children ? "box group" : "box", transform: `translate(${x - width / 2},${y - height / 2})` });
    group.append(svg("title", {}, label), svg("rect", { width, height, rx: 4 }),
      svg("text", { x: 8, y: 17 }, fitText(label, width - 16)));
    if (item.children) makeChoosable(group, `${label}, open`, () => this.open(item));
    else makeChoosable(group, label, () => this.choose(item));
    this.elements.set(item, group);
    return group;
  }

  open(box) {
    box.isOpen = true;
    this.draw();
    const first = this.elements.get(visibleItems(box)[0]);
    first?.focus();
    first?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }

  closeAroundFocus() {
    for (const [item, element] of this.elements)
      if (element === document.activeElement && item.parent?.parent) {
        item.parent.isOpen = false;
        this.draw();
        this.elements.get(item.parent)?.focus();
        return;
      }
  }

  /// Shows these leaves, and marks them.
  show(chosen, related) {
    this.chosen = new Set(chosen);
    this.related = new Set(related);
    let changed = false;
    for (const key of [...chosen, ...related]) if (this.leaves.has(key)) changed = reveal(this.leaves.get(key)) || changed;
    const focused = [...(this.elements ?? [])].find(([, element]) => element === document.activeElement)?.[0];
    if (changed) this.draw();
    else this.mark();
    if (changed && focused) this.elements.get(focused)?.focus();
    const first = this.leaves.get([...chosen, ...related][0]);
    this.elements.get(first)?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }

  mark() {
    for (const [item, element] of this.elements) {
      const keys = item.children ? [] : [this.keyOf(item)];
      element.classList.toggle("chosen", keys.some((key) => this.chosen.has(key)));
      element.classList.toggle("related", keys.some((key) => this.related.has(key)));
      if (!item.children) element.setAttribute("aria-pressed", String(this.chosen.has(keys[0])));
    }
  }
}
