// Words, tables and the pane of what is chosen. Text of the model goes into the page as text alone.

function timeOf(launch) { return launch.time_us ?? launch.least_us ?? 0; }

function numberText(value, digits = 4) { return Number(value.toPrecision(digits)).toString(); }

function microsecondsText(value) { return `${numberText(value)} µs`; }

function bytesText(bytes) {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) if (bytes >= size) return `${numberText(bytes / size)} ${unit}`;
  return `${bytes} bytes`;
}

function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function button(text, choose) {
  const made = element("button", text);
  made.type = "button";
  made.addEventListener("click", choose);
  return made;
}

/// `columns` are {title, value(row), show(row)?, isNumber?}; a header sorts by its column. Returns the rows' elements.
function fillTable(table, columns, rows) {
  const body = table.tBodies[0], header = document.createElement("tr");
  const elements = rows.map((row) => {
    const line = document.createElement("tr");
    for (const column of columns) {
      const cell = element("td", "", column.isNumber ? "number" : "");
      const shown = column.show ? column.show(row) : column.value(row);
      cell.append(shown === null || shown === undefined ? "-" : shown);
      line.append(cell);
    }
    return line;
  });
  const sort = (column, cell) => {
    const isDescending = cell.getAttribute("aria-sort") !== "descending" && (column.isNumber || cell.getAttribute("aria-sort") === "ascending");
    for (const other of header.cells) other.removeAttribute("aria-sort");
    cell.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
    const order = rows.map((row, i) => [column.value(row) ?? -Infinity, i]);
    order.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (isDescending ? -1 : 1));
    body.replaceChildren(...order.map(([, i]) => elements[i]));
  };
  for (const column of columns) {
    const cell = element("th");
    cell.scope = "col";
    cell.append(button(column.title, () => sort(column, cell)));
    header.append(cell);
  }
  table.tHead.replaceChildren(header);
  body.replaceChildren(...elements);
  return elements;
}

/// A bar of the time, with that of the roofline within it.
function timeBar(launch, longest) {
  const bar = element("div", "", "bar");
  bar.setAttribute("role", "img");
  const least = launch.least_us === null ? "" : `, roofline ${microsecondsText(launch.least_us)}`;
  bar.setAttribute("aria-label", (launch.time_us === null ? "not measured" : `measured ${microsecondsText(launch.time_us)}`) + least);
  for (const [value, name] of [[launch.time_us, "time"], [launch.least_us, "least"]]) {
    if (value === null) continue;
    const part = element("i", "", name);
    part.style.width = `${(100 * value) / longest}%`;
    bar.append(part);
  }
  return bar;
}

function showSource(kernel) {
  const source = document.getElementById("source");
  if (!kernel?.source) { source.textContent = kernel ? "The plan holds no CUDA text of this kernel." : "A copy or a set of memory: no CUDA text."; return; }
  source.textContent = kernel.source;
  source.className = "cpp";
  hljs.highlightBlock(source); // reads and writes text, tags in it escaped
}
