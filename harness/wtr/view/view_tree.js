/* SPDX-License-Identifier: BSD-2-Clause */
/* The call tree: rows are made when their parent is opened. */

const CHILDREN_AT_ONCE = 200;
const treeView = { measure: 1, rows: new Map(), current: null };

function byTotal(a, b) {
  return tree.total[treeView.measure][b] - tree.total[treeView.measure][a] || a - b;
}

function rowOf(node, depth) {
  const measure = treeView.measure;
  const row = make("div");
  const whole = tree.roots.reduce((sum, root) => sum + tree.total[measure][root], 0);
  row.setAttribute("role", "treeitem");
  row.setAttribute("aria-level", depth + 1);
  row.tabIndex = -1;
  row.dataset.node = node;
  row.style.setProperty("--share", share(tree.total[measure][node], whole).replace("-", "0"));
  const name = make("span", "name");
  name.style.setProperty("--depth", Math.min(depth, 24));
  const hasChildren = tree.children[node].length > 0;
  const twisty = make("span", "twisty", hasChildren ? "+" : "");
  twisty.setAttribute("aria-hidden", "true");
  const sample = make("span", "sample");
  sample.style.background = colourOf(tree.fn[node]);
  name.append(twisty, sample, nameOf(node));
  name.title = nameOf(node);
  row.append(name, make("span", "", share(tree.total[measure][node], whole)),
             make("span", "", grouped(tree.total[measure][node])),
             make("span", "", grouped(tree.calls[node])));
  if (hasChildren)
    row.setAttribute("aria-expanded", "false");
  treeView.rows.set(node, row);
  return row;
}

function isOpen(row) {
  return row.getAttribute("aria-expanded") === "true";
}

function openRow(row) {
  const node = Number(row.dataset.node);
  if (row.getAttribute("aria-expanded") !== "false")
    return;
  const depth = Number(row.getAttribute("aria-level"));
  const children = [...tree.children[node]].sort(byTotal);
  const rows = children.slice(0, CHILDREN_AT_ONCE).map(child => rowOf(child, depth));
  if (children.length > CHILDREN_AT_ONCE)
    rows.push(make("p", "hint", `${children.length - CHILDREN_AT_ONCE} smaller callees`));
  row.after(...rows);
  row.setAttribute("aria-expanded", "true");
  row.querySelector(".twisty").textContent = "-";
}

function closeRow(row) {
  const level = Number(row.getAttribute("aria-level"));
  if (!isOpen(row))
    return;
  let next = row.nextElementSibling;
  while (next && (next.tagName === "P" || Number(next.getAttribute("aria-level")) > level)) {
    const gone = next;
    next = next.nextElementSibling;
    treeView.rows.delete(Number(gone.dataset.node));
    gone.remove();
  }
  row.setAttribute("aria-expanded", "false");
  row.querySelector(".twisty").textContent = "+";
}

function focusRow(row, focus) {
  if (!row)
    return;
  if (treeView.current) {
    treeView.current.tabIndex = -1;
    treeView.current.classList.remove("selected");
  }
  treeView.current = row;
  row.tabIndex = 0;
  row.classList.add("selected");
  if (focus)
    row.focus();
}

/* Opens the way to a node and marks it. */
function revealNode(node, focus) {
  for (const above of pathOf(node).slice(0, -1))
    if (treeView.rows.has(above))
      openRow(treeView.rows.get(above));
  const row = treeView.rows.get(node);
  if (!row)
    return;
  focusRow(row, focus);
  const box = byId("tree");
  if (row.offsetParent && (row.offsetTop < box.scrollTop ||
      row.offsetTop + row.offsetHeight > box.scrollTop + box.clientHeight))
    box.scrollTop = row.offsetTop - box.clientHeight / 2;
}

function beside(row, step) {
  let next = row;
  do {
    next = step > 0 ? next.nextElementSibling : next.previousElementSibling;
  } while (next && next.getAttribute("role") !== "treeitem");
  return next;
}

/* The longest call of this node in the timeline. */
function selectBusiest(node) {
  const depth = tree.depth[node];
  const level = levels[depth];
  let best = -1, length = -1;
  for (let i = 0; level && i < level.nodes.length; i++) {
    if (level.nodes[i] === node && level.ends[i] - level.begins[i] > length) {
      best = i;
      length = level.ends[i] - level.begins[i];
    }
  }
  selectCall(depth, best, true);
  if (best >= 0)
    showBranches(level.begins[best]);
}

function onTreeKey(event) {
  const row = event.target.closest("[role=treeitem]");
  if (!row || event.ctrlKey || event.metaKey || event.altKey)
    return;
  const items = byId("tree").querySelectorAll("[role=treeitem]");
  const actions = {
    ArrowDown: () => focusRow(beside(row, 1), true),
    ArrowUp: () => focusRow(beside(row, -1), true),
    ArrowRight: () => isOpen(row) ? focusRow(beside(row, 1), true) : openRow(row),
    ArrowLeft: () => isOpen(row) ? closeRow(row)
      : focusRow(treeView.rows.get(tree.parent[Number(row.dataset.node)]), true),
    Home: () => focusRow(items[0], true),
    End: () => focusRow(items[items.length - 1], true),
    Enter: () => selectBusiest(Number(row.dataset.node)),
    " ": () => isOpen(row) ? closeRow(row) : openRow(row),
  };
  if (!actions[event.key])
    return;
  event.preventDefault();
  actions[event.key]();
}

function onTreeClick(event) {
  const row = event.target.closest("[role=treeitem]");
  if (!row)
    return;
  focusRow(row, true);
  if (event.target.classList.contains("twisty") || event.detail === 2)
    isOpen(row) ? closeRow(row) : openRow(row);
  else
    selectBusiest(Number(row.dataset.node));
}

/* Opens along the busiest way until it forks into small parts. */
function openBusiest() {
  let node = tree.roots[0];
  while (node !== undefined && tree.children[node].length) {
    openRow(treeView.rows.get(node));
    const next = [...tree.children[node]].sort(byTotal)[0];
    if (tree.total[treeView.measure][next] < tree.total[treeView.measure][node] / 2)
      break;
    node = next;
  }
}

function buildTree() {
  const box = byId("tree");
  const head = make("div", "tree-head");
  const word = treeView.measure === 1 ? "branches" : "instructions";
  head.setAttribute("aria-hidden", "true");
  head.append(make("span", "", "function"), make("span", "", "share"), make("span", "", word),
              make("span", "", "calls"));
  treeView.rows.clear();
  treeView.current = null;
  box.replaceChildren(head, ...[...tree.roots].sort(byTotal).map(root => rowOf(root, 0)));
  openBusiest();
  focusRow(box.querySelector("[role=treeitem]"), false);
}
