// What stands in which box: repeated layers, then steps. Both graphs are drawn along this tree, so that they open alike.

const MOST_BESIDE = 60; // items of one box, above which they are gathered

/// The longest run of equal parts in `signatures` from `first` on: {period, count}, or null.
function findRepeat(signatures, first) {
  let best = null;
  const rest = signatures.length - first;
  for (let period = 1; period <= Math.min(rest / 2, 400); ++period) {
    let equal = 0;
    while (first + period + equal < signatures.length && signatures[first + equal] === signatures[first + period + equal]) ++equal;
    const count = 1 + Math.floor(equal / period);
    if (count >= 2 && period * count > 2 && (!best || period * count > best.period * best.count)) best = { period, count };
  }
  return best;
}

function makeBox(label, children) {
  const box = { label, children, isOpen: false, parent: null };
  for (const child of children) child.parent = box;
  return box;
}

/// Many items become boxes of MOST_BESIDE.
function gather(items, word) {
  if (items.length <= MOST_BESIDE) return items;
  const boxes = [];
  for (let i = 0; i < items.length; i += MOST_BESIDE) {
    const part = items.slice(i, i + MOST_BESIDE);
    boxes.push(makeBox(`${word} ${i} to ${i + part.length - 1}`, part));
  }
  return gather(boxes, word);
}

/// The tree of all steps; leaves are {step}.
function makeTree(signatures) {
  const items = [];
  for (let i = 0; i < signatures.length;) {
    const repeat = findRepeat(signatures, i);
    if (!repeat) { items.push({ step: i++, parent: null }); continue; }
    const parts = [];
    for (let part = 0; part < repeat.count; ++part) {
      const steps = [];
      for (let j = 0; j < repeat.period; ++j) steps.push({ step: i++, parent: null });
      parts.push(repeat.period === 1 ? steps[0] : makeBox(`part ${part}: ${repeat.period} fusions`, gather(steps, "fusions")));
    }
    items.push(makeBox(repeat.period === 1 ? `${repeat.count} alike` : `${repeat.period} fusions × ${repeat.count}`, gather(parts, "parts")));
  }
  return makeBox("", gather(items, "fusions"));
}

/// A copy of the tree in which each step has become its ONNX nodes: leaves are {node}. `homes[node]` is the step at which a
/// node stands, or -1.
function makeNodeTree(tree, homes) {
  const atStep = new Map();
  homes.forEach((step, node) => atStep.set(step, [...(atStep.get(step) ?? []), { node, parent: null }]));
  const count = (box) => box.children ? box.children.reduce((sum, child) => sum + count(child), 0) : 1;
  const copy = (box) => {
    if (!box.children) return atStep.get(box.step) ?? [];
    const children = box.children.flatMap(copy);
    if (!children.length) return [];
    const made = makeBox(box.label, gather(children, "nodes"));
    made.label = box.label.replace(/\d+ fusions/, `${count(made)} nodes`);
    return [made];
  };
  return makeBox("", gather([...(atStep.get(-1) ?? []), ...tree.children.flatMap(copy)], "nodes"));
}

/// The items that are seen: leaves and closed boxes.
function visibleItems(box, found = []) {
  for (const child of box.children) child.children && child.isOpen ? visibleItems(child, found) : found.push(child);
  return found;
}

function leavesOf(item, found = []) {
  if (!item.children) found.push(item);
  else item.children.forEach((child) => leavesOf(child, found));
  return found;
}

/// Opens every box around an item.
function reveal(item) {
  let changed = false;
  for (let box = item.parent; box; box = box.parent) { changed ||= !box.isOpen; box.isOpen = true; }
  return changed;
}
