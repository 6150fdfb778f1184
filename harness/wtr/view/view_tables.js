/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables: functions, branches, events. */

const BRANCH_ROWS = 60;
const functionView = { key: "total", down: true };

/* By function: its own counts, and the total of its outermost calls. */
function functionRows() {
  const rows = new Map();
  const onPath = new Map();

  function visit(node) {
    const fn = tree.fn[node];
    if (!rows.has(fn))
      rows.set(fn, { fn, name: trace.functions[fn], calls: 0, self: 0, total: 0, inside: 0 });
    const row = rows.get(fn);
    row.calls += tree.calls[node];
    row.self += tree.self[1][node];
    row.inside += tree.self[2][node];
    if (!onPath.get(fn))
      row.total += tree.total[1][node];
  }
  /* Down and up without recursion: a stack of [node, next child]. */
  for (const root of tree.roots) {
    const stack = [[root, 0]];
    visit(root);
    onPath.set(tree.fn[root], 1);
    while (stack.length) {
      const top = stack[stack.length - 1];
      const child = tree.children[top[0]][top[1]++];
      if (child === undefined) {
        stack.pop();
        onPath.set(tree.fn[top[0]], onPath.get(tree.fn[top[0]]) - 1);
        continue;
      }
      visit(child);
      onPath.set(tree.fn[child], (onPath.get(tree.fn[child]) || 0) + 1);
      stack.push([child, 0]);
    }
  }
  return [...rows.values()].filter(row => row.calls);
}

const FUNCTION_COLUMNS = [["name", "function"], ["calls", "calls"], ["self", "own branches"],
  ["inside", "own instructions"], ["total", "with callees"]];

function buildFunctions() {
  const rows = functionRows();
  const { key, down } = functionView;
  const order = (a, b) => key === "name" ? a.name.localeCompare(b.name) : a[key] - b[key];
  rows.sort((a, b) => (down ? -order(a, b) : order(a, b)) || a.fn - b.fn);
  const head = make("tr");
  for (const [column, title] of FUNCTION_COLUMNS) {
    const cell = make("th", column === "name" ? "" : "number");
    const button = make("button", "", title + (key === column ? (down ? " v" : " ^") : ""));
    button.type = "button";
    button.dataset.column = column;
    cell.scope = "col";
    if (key === column)
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
    cell.append(button);
    head.append(cell);
  }
  const body = make("tbody");
  for (const row of rows.slice(0, 2000)) {
    const line = make("tr");
    const name = make("td");
    const sample = make("span", "sample");
    sample.style.background = colourOf(row.fn);
    name.append(sample, row.name);
    line.append(name);
    for (const column of ["calls", "self", "inside", "total"])
      line.append(make("td", "number", grouped(row[column])));
    body.append(line);
  }
  const thead = make("thead");
  thead.append(head);
  byId("functions").replaceChildren(thead, body);
}

function onFunctionSort(event) {
  const column = event.target.dataset.column;
  if (!column)
    return;
  functionView.down = functionView.key === column ? !functionView.down : column !== "name";
  functionView.key = column;
  buildFunctions();
  byId("functions").querySelector(`[data-column=${column}]`).focus();
}

function placeCell(address, name, line) {
  const cell = make("td", "code", `${address} ${name}`);
  if (line)
    cell.append(make("span", "line", line));
  return cell;
}

let branchesAt = 0;
function showBranches(first) {
  branchesAt = Math.max(0, Math.min(first, trace.shown - 1));
  byId("branches-at").value = branchesAt;
  if (byId("panel-branches").hidden)
    return;
  const end = Math.min(branchesAt + BRANCH_ROWS, trace.shown);
  const body = make("tbody");
  let event = trace.events.findIndex(one => one[0] >= branchesAt);
  for (let i = branchesAt; i < end; i++) {
    for (; event >= 0 && event < trace.events.length && trace.events[event][0] <= i; event++) {
      const line = make("tr", "event");
      const cell = make("td", "code", trace.events[event][2]);
      cell.colSpan = 4;
      line.append(cell);
      body.append(line);
    }
    const [kind, from, fromName, fromLine, to, toName, toLine] = trace.edges[edgeNumbers[i]];
    const line = make("tr");
    line.append(make("td", "number", grouped(i)), make("td", "", kind),
                placeCell(from, fromName, fromLine), placeCell(to, toName, toLine));
    body.append(line);
  }
  const head = make("thead");
  const titles = make("tr");
  titles.append(make("th", "number", "number"), make("th", "", "kind"), make("th", "", "from"),
                make("th", "", "to"));
  head.append(titles);
  byId("branch-table").replaceChildren(head, body);
  byId("branches-range").textContent = trace.shown
    ? `${grouped(branchesAt)} to ${grouped(end - 1)} of ${grouped(trace.shown)}` : "none";
}

function buildEvents() {
  const list = byId("event-list");
  for (const [index, , words] of trace.events.slice(0, 1000)) {
    const item = make("li");
    const button = make("button", "", `${grouped(index)}: ${words}`);
    button.type = "button";
    button.addEventListener("click", () => {
      const span = view.end - view.begin;
      show(index - span / 2, index + span / 2);
      showBranches(index);
      byId("flame").focus();
    });
    item.append(button);
    list.append(item);
  }
  const more = Math.max(0, trace.events.length - 1000) + trace.eventsLeftOut;
  if (more)
    list.append(make("li", "hint", `${grouped(more)} more; see wtr list`));
  if (!trace.events.length)
    list.append(make("li", "hint", "none"));
  byId("output").textContent = trace.output || "(nothing)";
}
