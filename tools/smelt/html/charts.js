// The timeline of one launch of the graph, and the arena over its steps.

const CHART_WIDTH = 1100;

/// A row for each launch that runs beside others: the first row that is free.
function assignRows(launches) {
  const ends = [];
  return launches.map((launch) => {
    const time = timeOf(launch);
    let row = ends.findIndex((end) => end <= launch.start_us + 1e-9);
    if (row < 0) row = ends.length;
    ends[row] = launch.start_us + time;
    return row;
  });
}

/// `choose(step)` is called for a bar; the elements are returned with their steps.
function drawTimeline(holder, launches, choose) {
  const end = Math.max(1e-9, ...launches.map((launch) => launch.start_us + timeOf(launch)));
  const rows = assignRows(launches), scale = CHART_WIDTH / end, height = 34 + 26 * (Math.max(0, ...rows) + 1);
  const picture = svg("svg", { width: CHART_WIDTH + 20, height, role: "group", "aria-label": "Launches in time" });
  const bars = launches.map((launch, i) => {
    const bar = svg("rect", { class: "time", x: 10 + launch.start_us * scale, y: 4 + 26 * rows[i], width: Math.max(2, timeOf(launch) * scale), height: 22 });
    const label = `${launch.name}, ${microsecondsText(timeOf(launch))} from ${microsecondsText(launch.start_us)}`;
    bar.append(svg("title", {}, label));
    makeChoosable(bar, label, () => choose(launch.step));
    picture.append(bar);
    return [launch.step, bar];
  });
  for (let i = 0; i <= 5; ++i)
    picture.append(svg("text", { x: 10 + (CHART_WIDTH * i) / 5, y: height - 6, "text-anchor": i === 5 ? "end" : "start" }, microsecondsText((end * i) / 5)));
  holder.replaceChildren(picture);
  return bars;
}

/// Bytes that live at each of `count` steps.
function liveBytes(buffers, count) {
  const live = new Array(count).fill(0);
  for (const buffer of buffers) for (let i = buffer.first; i <= buffer.last; ++i) live[i] += buffer.bytes;
  return live;
}

/// Each buffer of the arena from the step that writes it to the last that reads it; returns the peak {bytes, step}.
function drawMemory(holder, buffers, steps, arenaBytes, choose) {
  const place = new Map(steps.map((step, i) => [step, i]));
  const shown = buffers.filter((buffer) => buffer.kind === "arena" && buffer.steps.length)
    .map((buffer) => ({ ...buffer, first: place.get(buffer.steps[0]), last: place.get(buffer.steps.at(-1)) }))
    .filter((buffer) => buffer.first !== undefined && buffer.last !== undefined);
  const live = liveBytes(shown, steps.length), bytes = Math.max(0, ...live), peak = { bytes, step: steps[live.indexOf(bytes)] };
  if (!shown.length) { holder.textContent = "No value lies in the arena."; return { bars: [], peak }; }
  const column = CHART_WIDTH / steps.length, height = 240, scale = height / Math.max(1, arenaBytes);
  const picture = svg("svg", { width: CHART_WIDTH + 20, height: height + 30, role: "group", "aria-label": "Arena by step" });
  const bars = shown.map((buffer) => {
    const bar = svg("rect", { class: "live", x: 10 + buffer.first * column, y: 4 + buffer.offset * scale,
      width: (buffer.last - buffer.first + 1) * column, height: Math.max(2, buffer.bytes * scale) });
    const label = `${bytesText(buffer.bytes)} at ${bytesText(buffer.offset)}, written by kernel ${buffer.steps[0]}, last read by kernel ${buffer.steps.at(-1)}`;
    bar.append(svg("title", {}, label));
    makeChoosable(bar, label, () => choose(buffer.steps[0]));
    picture.append(bar);
    return [buffer.steps[0], bar];
  });
  const x = 10 + (place.get(peak.step) + 0.5) * column;
  picture.append(svg("path", { class: "peak", d: `M${x},0V${height + 8}` }),
    svg("text", { x: Math.min(x, CHART_WIDTH - 160), y: height + 22, id: "peak" }, `peak: ${bytesText(bytes)} at kernel ${peak.step}`));
  holder.replaceChildren(picture);
  return { bars, peak };
}
