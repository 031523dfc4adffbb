// Elements of SVG, and what charts have in common. Nothing here asks how wide a text is, which differs between machines: the same
// figures give the same chart everywhere.

const SVG = "http://www.w3.org/2000/svg";
const LETTER = 7.8, SMALL_LETTER = 6.6; // pixels that letters of a chart take, or less
const LEGEND_LINE = 20;

function svg(tag, attributes = {}, text = null) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, typeof value === "number" ? Number(value.toFixed(2)) : value);
  if (text !== null) element.textContent = text;
  return element;
}

/// Enter and space choose, as a click does.
function makeChoosable(element, label, choose) {
  element.setAttribute("tabindex", "0");
  element.setAttribute("role", "button");
  element.setAttribute("aria-label", label);
  element.addEventListener("click", choose);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose();
  });
}

/// A picture with a background of its own, so that it is readable wherever it stands.
function makePicture(width, height, label) {
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label });
  picture.append(svg("rect", { class: "ground", width, height }));
  return picture;
}

/// What a mark stands for: `text`, and a click that chooses where there is something to choose.
function explain(mark, text, choose) {
  mark.append(svg("title", {}, text));
  if (choose) makeChoosable(mark, text, choose);
}

const MARKS = {
  circle: (r) => `m${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`,
  square: (r) => `m${-r},${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  diamond: (r) => `m0,${-1.4 * r}l${1.2 * r},${1.4 * r}l${-1.2 * r},${1.4 * r}l${-1.2 * r},${-1.4 * r}z`,
  up: (r) => `m0,${-1.2 * r}l${1.2 * r},${2.2 * r}h${-2.4 * r}z`,
  down: (r) => `m0,${1.2 * r}l${1.2 * r},${-2.2 * r}h${-2.4 * r}z`,
  left: (r) => `m${-1.2 * r},0l${2.2 * r},${-1.2 * r}v${2.4 * r}z`,
};

function drawMark(mark, x, y, className) {
  return svg("path", { class: className, d: `M${x.toFixed(1)},${y.toFixed(1)}${MARKS[mark](4)}` });
}

/// The names of `series` ({name, className, mark: of points}) from `left` to `right`, in as many lines as they take; returns where they end.
function drawLegend(picture, series, left, right) {
  let x = left, y = 16;
  for (const { name, className, mark } of series) {
    const width = 26 + SMALL_LETTER * name.length;
    if (x > left && x + width > right) [x, y] = [left, y + LEGEND_LINE];
    const sample = mark ? drawMark(mark, x + 6, y - 4, className) : svg("rect", { class: className, x: x + 1, y: y - 9, width: 10, height: 10 });
    picture.append(sample, svg("text", { class: "small", x: x + 16, y }, name));
    x += width;
  }
  return y + LEGEND_LINE / 2;
}
