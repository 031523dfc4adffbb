// The page: one thing is chosen at a time, a step of the plan or an ONNX node, and every part shows it.

const data = JSON.parse(document.getElementById("data").textContent);
const runs = data.launches.filter((launch) => !data.steps[launch.step].once);
const launchesOf = data.steps.map(() => []);
data.launches.forEach((launch) => launchesOf[launch.step].push(launch));
const longest = Math.max(1e-9, ...data.launches.map((launch) => Math.max(launch.time_us ?? 0, launch.least_us ?? 0)));
const total = runs.reduce((sum, launch) => sum + timeOf(launch), 0);
const isMeasured = data.launches.some((launch) => launch.time_us !== null);

const nodeNumbers = new Map(data.nodes.map((node, i) => [node.name, i]));
const stepsOfNode = data.nodes.map(() => []);
data.steps.forEach((step, i) => step.onnx_nodes.forEach((name) => { if (nodeNumbers.has(name)) stepsOfNode[nodeNumbers.get(name)].push(i); }));
const remarksOfNode = data.nodes.map(() => []);
data.remarks.forEach((remark) => { if (nodeNumbers.has(remark.node)) remarksOfNode[nodeNumbers.get(remark.node)].push(remark); });

function stepLabel(step) { return `${step} ${launchesOf[step].map((launch) => launch.name).join(", ") || "nothing to do at these sizes"}`; }
function nodeLabel(node) { return [data.nodes[node].op, data.nodes[node].name].filter(Boolean).join(" "); }
function nodeButton(node) { return button(nodeLabel(node), () => chooseNode(node)); }
function stepButton(step) { return button(stepLabel(step), () => chooseStep(step)); }

// --- The graphs ---

/// A node that no step computes stands with one that takes its value, else with one that it takes values of.
function findHomes() {
  const homes = stepsOfNode.map((steps) => steps[0] ?? -1);
  for (let i = data.nodes.length - 1; i >= 0; --i)
    for (const input of data.nodes[i].inputs) if (homes[input] < 0) homes[input] = homes[i];
  data.nodes.forEach((node, i) => { if (homes[i] < 0) homes[i] = Math.max(-1, ...node.inputs.map((input) => homes[input])); });
  return homes;
}

function fusedEdges() {
  const edges = [];
  for (const buffer of data.buffers)
    if (buffer.kind === "arena" || buffer.kind === "shape" || buffer.kind === "output")
      buffer.steps.slice(1).forEach((reader) => edges.push([buffer.steps[0], reader]));
  return edges;
}

const signatures = data.steps.map((step, i) => launchesOf[i].map((launch) => `${launch.kernel ?? ""}:${launch.name}`).join(";"));
const stepTree = makeTree(signatures);
const fused = new GraphView(document.getElementById("fused"), stepTree, fusedEdges(),
  { keyOf: (leaf) => leaf.step, labelOf: (leaf) => stepLabel(leaf.step), choose: (leaf) => chooseStep(leaf.step) });
const onnx = new GraphView(document.getElementById("onnx"), makeNodeTree(stepTree, findHomes()),
  data.nodes.flatMap((node, i) => node.inputs.map((input) => [input, i])),
  { keyOf: (leaf) => leaf.node, labelOf: (leaf) => nodeLabel(leaf.node), choose: (leaf) => chooseNode(leaf.node) });

// --- The tables and charts ---

let stepMarks = []; // [step, element]

function fillSummary() {
  const facts = [["model", data.model], ["command", data.command]];
  const profile = data.profile;
  if (profile) facts.push(["latency", `median ${profile.median} ms, p99 ${profile.p99} ms, min ${profile.min} ms, mean ${profile.mean} ms, on ${profile.device} (${profile.path})`]);
  const folded = stepsOfNode.filter((steps) => !steps.length).length;
  facts.push(["launches", `${runs.length} for ${data.nodes.length} ONNX nodes` + (data.has_graph ? `, of which ${folded} need none` : " by name") + (data.launches.length > runs.length ? `; ${data.launches.length - runs.length} more run once a shape` : "")]);
  facts.push([isMeasured ? "sum of measured times" : "sum of predicted times", isMeasured ? microsecondsText(total) : data.part ? `${microsecondsText(total)} by the roofline of ${data.part}, as its data sheet states it: no kernel was measured` : "unknown"]);
  facts.push(["memory", `${bytesText(data.weight_bytes)} weights, ${bytesText(data.arena_bytes)} arena, ${bytesText(data.plan_bytes)} plan`]);
  facts.push(["architectures", `${data.architectures.join(", ")}; shown: ${data.arch}`]);
  for (const role of ["inputs", "outputs"]) for (const port of data[role]) facts.push([role.slice(0, -1), `${port.name}: ${port.type}, here [${port.shape.join(", ")}]`]);
  facts.push(["Smelt", data.smelt_version]);
  document.getElementById("facts").replaceChildren(...facts.flatMap(([name, value]) => [element("dt", name), element("dd", value)]));
  document.getElementById("missing").replaceChildren(...data.missing.map((text) => element("li", text)));
  document.getElementById("title").textContent = document.title = `Smelt report: ${data.model}`;
}

// Of the threads that a multiprocessor can have, in percent.
const occupancyOf = (launch) => (launch.machine_code ? 100 * launch.machine_code.occupancy : null);

function fillKernels() {
  const number = (title, value, show) => ({ title, value, show, isNumber: true });
  const known = (value, text) => (value === null ? null : text(value));
  const rows = fillTable(document.getElementById("kernel-table"), [
    { title: "kernel", value: (launch) => data.launches.indexOf(launch), show: (launch) => button(`${launch.number} ${launch.name}`, () => chooseStep(launch.step)) },
    number("time, µs", (launch) => launch.time_us, (launch) => known(launch.time_us, numberText)),
    number("roofline, µs", (launch) => launch.least_us, (launch) => known(launch.least_us, numberText)),
    { title: "time and roofline", value: (launch) => timeOf(launch), show: (launch) => timeBar(launch, longest) },
    number("share, %", (launch) => timeOf(launch), (launch) => (total && !data.steps[launch.step].once ? numberText((100 * timeOf(launch)) / total, 3) : null)),
    number("bytes", (launch) => launch.bytes),
    number("flops", (launch) => launch.flops),
    { title: "bound by", value: (launch) => launch.bound_by ?? "" },
    { title: "grid", value: (launch) => (launch.grid ?? []).reduce((product, extent) => product * extent, 1), show: (launch) => launch.grid?.join(" × ") },
    number("threads", (launch) => (launch.block ?? [0]).reduce((product, extent) => product * extent, 1)),
    number("shared bytes", (launch) => launch.machine_code?.shared_bytes ?? launch.shared_bytes ?? null),
    number("registers", (launch) => launch.machine_code?.registers ?? null),
    number("blocks on a multiprocessor", (launch) => launch.machine_code?.blocks_per_multiprocessor ?? null),
    number("occupancy, %", (launch) => occupancyOf(launch), (launch) => known(occupancyOf(launch), numberText)),
    { title: "limited by", value: (launch) => launch.machine_code?.limited_by ?? "" },
  ], data.launches);
  data.launches.forEach((launch, i) => stepMarks.push([launch.step, rows[i]]));
}

function timesBasis() {
  return isMeasured ? `Measured on ${data.profile.device}` : data.part ? `Predicted by the roofline of ${data.part}, not measured` : "No times are known";
}

function fillCharts() {
  document.getElementById("timeline-note").textContent = `${timesBasis()}: each launch by itself, behind what it depends on.`;
  stepMarks.push(...drawTimeline(document.getElementById("timeline-chart"), runs, chooseStep));
  const order = [...new Set(runs.map((launch) => launch.step))];
  const memory = drawMemory(document.getElementById("memory-chart"), data.buffers, order, data.arena_bytes, chooseStep);
  stepMarks.push(...memory.bars);
  document.getElementById("memory-note").textContent = `The arena of ${bytesText(data.arena_bytes)}: each value at its offset, from the step that writes it to the last that reads it.`;
}

/// Launches of a run by the code that they run, or by what a copy is: the longest first.
function launchGroups() {
  const groups = new Map();
  for (const launch of runs) {
    const key = launch.kernel ?? launch.name;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(launch);
  }
  const sum = (launches, of) => launches.reduce((total, launch) => total + of(launch), 0);
  return [...groups.values()].map((launches) => ({ launches, taken: sum(launches, timeOf), least: sum(launches, (launch) => launch.least_us ?? 0) }))
    .sort((a, b) => b.taken - a.taken);
}

const MOST_GROUPS = 24;

function fillCosts() {
  const groups = launchGroups(), shown = groups.slice(0, MOST_GROUPS), left = groups.slice(MOST_GROUPS);
  const hidden = left.length ? ` The other ${left.length} take ${microsecondsText(left.reduce((sum, group) => sum + group.taken, 0))}.` : "";
  document.getElementById("costs-note").textContent = `${timesBasis()}: launches that run the same code are one row, the longest first.${hidden}`;
  const bar = (value) => ({ value, text: microsecondsText(value) });
  const { picture, marks } = drawBars({
    label: "Times of the kernels", axis: "µs of a run",
    series: [...(isMeasured ? [{ name: "measured", className: "time" }] : []), { name: "roofline", className: "least" }],
    rows: shown.map(({ launches, taken, least }) => ({
      name: fitText(`${launches[0].number} ${launches[0].name.split(" ")[0]}`, 170) + (launches.length > 1 ? ` × ${launches.length}` : ""),
      bars: [...(isMeasured ? [bar(taken)] : []), least ? bar(least) : null],
      choose: () => chooseStep(launches[0].step, launches[0].kernel),
    })),
  });
  document.getElementById("costs-chart").replaceChildren(picture);
  marks.forEach((bars, i) => shown[i].launches.forEach((launch) => bars.forEach((mark) => stepMarks.push([launch.step, mark]))));
}

/// Of the kernels that were measured and whose roofline is known: one mark for each launch.
function fillRoofline() {
  const note = document.getElementById("roofline-note"), known = runs.filter((launch) => launch.time_us && launch.least_us);
  if (!known.length) { note.textContent = "It takes measured times: see the summary."; return; }
  note.textContent = `${timesBasis()}: a mark for each launch, as a share of what memory or arithmetic allow at most.`;
  const ofBound = (bound) => known.filter((launch) => (launch.bound_by ?? "memory") === bound);
  const series = [["memory", "circle", "time"], ["arithmetic", "up", "least"]].map(([bound, mark, className]) => ({
    name: `bound by ${bound}`, mark, className, launches: ofBound(bound),
    points: ofBound(bound).map((launch) => ({
      intensity: launch.bytes ? launch.flops / launch.bytes : 1, share: (100 * launch.least_us) / launch.time_us,
      text: `${launch.number} ${launch.name}: ${numberText((100 * launch.least_us) / launch.time_us, 3)} % of the roofline`, choose: () => chooseStep(launch.step),
    })),
  }));
  const { picture, marks } = drawRoofline({ label: "Kernels under the roofline", share: "% of the roofline", series });
  document.getElementById("roofline-chart").replaceChildren(picture);
  marks.forEach((points, i) => points.forEach((mark, j) => stepMarks.push([series[i].launches[j].step, mark])));
}

function fillDecisions() {
  const withTaken = document.getElementById("taken").checked;
  const nodeCell = (remark) => (nodeNumbers.has(remark.node) ? nodeButton(nodeNumbers.get(remark.node)) : remark.node);
  fillTable(document.getElementById("decision-table"), [{ title: "ONNX node", value: (remark) => remark.node, show: nodeCell }, { title: "decision", value: (remark) => remark.text }],
    data.remarks.filter((remark) => withTaken || !remark.taken));
}

function fillChanges() {
  const note = data.against ? `Against ${data.against}: ${data.changes.length || "no"} differences.` : "No other plan was given: --against other.plan shows what differs from it.";
  document.getElementById("changes-note").textContent = note;
  fillTable(document.getElementById("change-table"), ["what", "before", "after"].map((title) => ({ title, value: (change) => change[title] })), data.changes);
}

function fillSources() {
  const choice = document.getElementById("source-choice");
  const names = new Map();
  data.launches.forEach((launch) => { if (launch.kernel !== undefined) names.set(launch.kernel, [...(names.get(launch.kernel) ?? []), launch]); });
  for (const [kernel, launches] of [...names].sort(([a], [b]) => a - b)) {
    const option = element("option", `${launches[0].number} ${launches[0].name}` + (launches.length > 1 ? ` (${launches.length} launches)` : ""));
    option.value = kernel;
    choice.append(option);
  }
  choice.addEventListener("change", () => chooseStep(names.get(Number(choice.value))[0].step, Number(choice.value)));
}

// --- Choosing ---

function showChosen(title, parts) {
  document.getElementById("chosen").replaceChildren(element("strong", title), ...parts);
}

function listOf(name, items) {
  const list = document.createElement("ul");
  list.setAttribute("aria-label", name);
  list.append(...items.map((item) => { const line = document.createElement("li"); line.append(item); return line; }));
  return [element("div", items.length ? `${name}:` : `${name}: none`), list];
}

function markSteps(steps) {
  for (const [, mark] of stepMarks) mark.classList.remove("chosen");
  for (const [step, mark] of stepMarks) {
    if (!steps.includes(step)) continue; // a mark may be of several steps
    mark.classList.add("chosen");
    if (mark.localName === "path" && mark !== document.activeElement) mark.parentNode.append(mark); // over the others
  }
}

function showKernel(kernel) {
  document.getElementById("source-choice").value = String(kernel ?? "");
  showSource(data.kernels[kernel]);
}

function chooseStep(step, kernel = launchesOf[step].find((launch) => launch.kernel !== undefined)?.kernel) {
  const nodes = data.steps[step].onnx_nodes.filter((name) => nodeNumbers.has(name)).map((name) => nodeNumbers.get(name));
  fused.show([step], []);
  onnx.show([], nodes);
  markSteps([step]);
  const alike = data.launches.filter((launch) => kernel !== undefined && launch.kernel === kernel && launch.step !== step).map((launch) => launch.step);
  showChosen(`kernel ${stepLabel(step)}`, [...launchesOf[step].flatMap((launch) => [timeBar(launch, longest), element("div", factsOf(launch)), ...codeOf(launch)]),
    ...listOf("ONNX nodes", nodes.map(nodeButton)), ...(alike.length ? listOf("Same CUDA text", [...new Set(alike)].map(stepButton)) : [])]);
  showKernel(kernel);
}

function factsOf(launch) {
  const time = launch.time_us === null ? "not measured" : microsecondsText(launch.time_us);
  const least = launch.least_us === null ? "" : `, roofline ${microsecondsText(launch.least_us)}` + (launch.bound_by ? `, bound by ${launch.bound_by}` : "");
  return `${launch.number} ${launch.name}: ${time}${least}, ${bytesText(launch.bytes)}`;
}

// What its machine code takes, where that is known: as `smelt inspect --kernel` says it.
function codeOf(launch) {
  const code = launch.machine_code;
  if (!code) return [];
  const local = code.local_bytes ? `, ${bytesText(code.local_bytes)} of local memory a thread` : "";
  const blocks = `${code.blocks_per_multiprocessor} ${code.blocks_per_multiprocessor === 1 ? "block" : "blocks"} on a multiprocessor`;
  return [element("div", `${code.registers} registers, ${bytesText(code.shared_bytes)} of shared memory${local}; ${blocks}: ${numberText(occupancyOf(launch), 2)} % of its threads, limited by ${code.limited_by}`)];
}

function chooseNode(node) {
  const steps = stepsOfNode[node];
  onnx.show([node], []);
  fused.show([], steps);
  markSteps(steps);
  showChosen(`ONNX node ${nodeLabel(node)}`, [...listOf("Fusions", steps.map(stepButton)),
    ...(steps.length ? [] : [element("div", "no kernel: folded into others' indices or constants, or computed on the host")]),
    ...listOf("Decisions", remarksOfNode[node].map((remark) => remark.text))]);
  if (steps.length) showKernel(launchesOf[steps[0]].find((launch) => launch.kernel !== undefined)?.kernel);
}

fillSummary();
fillSources();
fused.draw();
onnx.draw();
fillKernels();
fillCosts();
fillRoofline();
fillCharts();
fillDecisions();
document.getElementById("taken").addEventListener("change", fillDecisions);
fillChanges();
if (data.launches.length) showKernel(data.launches.find((launch) => launch.kernel !== undefined)?.kernel);
