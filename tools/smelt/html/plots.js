// Charts of figures: bars side by side, and points under a roofline. The page of `smelt report` draws them of one model's kernels,
// tools/bench/plots.py of what was measured, for the README.

const PLOT_WIDTH = 900;

/// Bars of `rows` ({name, bars: [{value, text} or null, of each series], choose?}), those of a row one below the other.
/// {picture, marks: the bars of each row}. `axis` says what the values are.
function drawBars({ label, series, rows, axis }) {
  const thickness = 12, gap = 10, left = 16 + LETTER * Math.max(0, ...rows.map((row) => row.name.length));
  const longest = Math.max(0, ...rows.flatMap((row) => row.bars.map((bar) => bar?.text.length ?? 0)));
  const most = Math.max(1e-9, ...rows.flatMap((row) => row.bars.map((bar) => bar?.value ?? 0)));
  const scale = (PLOT_WIDTH - left - 16 - SMALL_LETTER * longest) / most;
  const picture = makePicture(PLOT_WIDTH, 0, label);
  const top = drawLegend(picture, series, left, PLOT_WIDTH) + gap / 2;
  let y = top;
  const marks = rows.map((row) => {
    const middle = y + (thickness * series.length) / 2 + 4;
    picture.append(svg("text", { x: left - 8, y: middle, "text-anchor": "end" }, row.name));
    const bars = row.bars.map((bar, i) => {
      const from = y + thickness * i;
      if (!bar) return null;
      const mark = svg("rect", { class: series[i].className, x: left, y: from, width: Math.max(1, bar.value * scale), height: thickness - 1 });
      explain(mark, `${row.name}: ${series[i].name}, ${bar.text}`, row.choose);
      picture.append(mark, svg("text", { class: "small", x: left + bar.value * scale + 5, y: from + thickness - 3 }, bar.text));
      return mark;
    });
    y += thickness * series.length + gap;
    return bars.filter((bar) => bar);
  });
  picture.append(svg("path", { class: "axis", d: `M${left},${top - 4}V${y}H${(left + most * scale).toFixed(1)}` }));
  for (const tick of ticksUpTo(most)) drawTick(picture, left + tick * scale, y, String(tick));
  picture.append(svg("text", { x: left, y: y + 38 }, axis));
  setHeight(picture, y + 48);
  return { picture, marks };
}

/// Multiples of 1, 2 or 5 and a power of ten: four to eleven of them, from 0 on.
function ticksUpTo(most) {
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = power * [5, 2, 1].find((digit) => digit * power <= most / 4);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

/// Below an axis at `y`.
function drawTick(picture, x, y, text) {
  picture.append(svg("path", { class: "axis", d: `M${x.toFixed(1)},${y}v4` }), svg("text", { class: "small", x, y: y + 17, "text-anchor": "middle" }, text));
}

function setHeight(picture, height) {
  picture.setAttribute("height", height);
  picture.setAttribute("viewBox", `0 0 ${PLOT_WIDTH} ${height}`);
  picture.querySelector(".ground").setAttribute("height", height);
}

function drawShareAxis(picture, left, right, yOf) {
  for (let share = 0; share <= 100; share += 20)
    picture.append(svg("path", { class: share ? "grid" : "axis", d: `M${left},${yOf(share)}H${right}` }),
      svg("text", { class: "small", x: left - 8, y: yOf(share) + 4, "text-anchor": "end" }, String(share)));
}

function drawRidge(picture, x, top, bottom) {
  picture.append(svg("path", { class: "ridge", d: `M${x.toFixed(1)},${top - 10}V${bottom}` }),
    svg("text", { class: "small", x: x - 6, y: top - 2, "text-anchor": "end" }, "bound by memory"),
    svg("text", { class: "small", x: x + 6, y: top - 2 }, "bound by arithmetic"));
}

/// Points of `series` ({name, className, mark, points: [{intensity, share, text, choose?}]}): the share of what a GPU could do at
/// most, in percent, by FLOPs for each byte that must move, of which less than one counts as one. Above 100, where a GPU does more
/// than its peaks, they stand just over that line. {picture, marks: of each series}. At the `ridge`, where there is one for all,
/// arithmetic begins to bind. `legend` names what is beside the series.
function drawRoofline({ label, title, series, legend = [], share, ridge }) {
  const left = 48, right = PLOT_WIDTH - 20, height = 340;
  const picture = makePicture(PLOT_WIDTH, 0, label);
  let top = title ? 24 : 0;
  if (title) picture.append(svg("text", { class: "title", x: left, y: 18 }, title));
  const names = svg("g", { transform: `translate(0,${top})` });
  top += drawLegend(names, [...series.filter((one) => one.name), ...legend], left, right) + 26;
  const bottom = top + height, all = series.flatMap((one) => one.points.map((point) => point.intensity));
  const decades = Math.max(2, Math.ceil(Math.log10(Math.max(1, ...all))));
  const xOf = (intensity) => left + 14 + ((right - left - 28) * Math.log10(Math.max(1, intensity))) / decades;
  const yOf = (percent) => bottom - (height * Math.min(percent, 103)) / 100;
  picture.append(names, svg("text", { class: "small", x: left - 34, y: top - 12 }, share));
  drawShareAxis(picture, left, right, yOf);
  for (let decade = 0; decade <= decades; ++decade) drawTick(picture, xOf(10 ** decade), bottom, (10 ** decade).toLocaleString("en"));
  picture.append(svg("text", { x: left, y: bottom + 40 }, "FLOPs for each byte that must move"));
  if (ridge) drawRidge(picture, xOf(ridge), top, bottom);
  const marks = series.map((one) => one.points.map((point) => {
    const mark = drawMark(one.mark, xOf(point.intensity), yOf(point.share), one.className);
    explain(mark, point.text, point.choose);
    picture.append(mark);
    return mark;
  }));
  setHeight(picture, bottom + 50);
  return { picture, marks };
}
