/* SPDX-License-Identifier: BSD-2-Clause */
/* Selecting in the timeline, by pointer and by keyboard. */

function selectCall(depth, call, keepTables) {
  if (call < 0 || depth < 0 || depth >= levels.length)
    return;
  view.depth = depth;
  view.call = call;
  const level = levels[depth];
  const begin = level.begins[call], end = level.ends[call], node = level.nodes[call];
  const line = byId("selection");
  line.replaceChildren(make("b", "", nameOf(node)),
    `: branches ${grouped(begin)} to ${grouped(end - 1)}, ${grouped(end - begin)} in all. ` +
    `Called by ${pathOf(node).slice(0, -1).map(nameOf).join(" > ") || "nobody"}.`);
  intoView(depth, begin, end);
  if (!keepTables) {
    showBranches(begin);
    revealNode(node, false);
  }
  redraw();
}

/* Scrolls and moves as little as shows the call. */
function intoView(depth, begin, end) {
  const box = byId("flame");
  if (depth * ROW < box.scrollTop)
    box.scrollTop = depth * ROW;
  if ((depth + 1) * ROW + 4 > box.scrollTop + box.clientHeight)
    box.scrollTop = (depth + 1) * ROW + 4 - box.clientHeight;
  const span = view.end - view.begin;
  if (end <= view.begin || begin >= view.end)
    show(begin - span / 2, begin + span / 2);
}

function zoomToSelection() {
  if (view.call < 0)
    return;
  const level = levels[view.depth];
  const begin = level.begins[view.call], end = level.ends[view.call];
  const margin = (end - begin) * 0.05;
  show(begin - margin, end + margin);
}

function selectCaller() {
  if (view.call >= 0 && view.depth > 0)
    selectCall(view.depth - 1, callAt(view.depth - 1, levels[view.depth].begins[view.call]));
}

/* The longest callee of those that can be seen. */
function selectCallee() {
  const below = levels[view.depth + 1];
  if (view.call < 0) {
    selectCall(0, 0);
    return;
  }
  if (!below)
    return;
  const level = levels[view.depth];
  const begin = Math.max(level.begins[view.call], Math.floor(view.begin));
  const end = Math.min(level.ends[view.call], view.end);
  let best = -1, length = 0;
  for (let i = Math.max(0, lastNotAbove(below.begins, begin));
       i < below.begins.length && below.begins[i] < end; i++) {
    const seen = Math.min(end, below.ends[i]) - Math.max(begin, below.begins[i]);
    if (seen > length) {
      best = i;
      length = seen;
    }
  }
  selectCall(view.depth + 1, best);
}

function selectBeside(step) {
  const next = view.call + step;
  if (view.call >= 0 && next >= 0 && next < levels[view.depth].begins.length)
    selectCall(view.depth, next);
}

const flameKeys = {
  ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2),
  ArrowUp: selectCaller, ArrowDown: selectCallee,
  "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
  ",": () => selectBeside(-1), ".": () => selectBeside(1),
  Home: () => show(0, allBranches()), Enter: zoomToSelection,
  PageUp: () => { byId("flame").scrollTop -= 200; },
  PageDown: () => { byId("flame").scrollTop += 200; },
};

function onFlameKey(event) {
  const action = flameKeys[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey)
    return;
  event.preventDefault();
  action();
}

function branchUnder(event) {
  const box = byId("flame-canvas").getBoundingClientRect();
  return view.begin + (event.clientX - box.left) / box.width * (view.end - view.begin);
}

function selectUnder(event) {
  const box = byId("flame").getBoundingClientRect();
  const y = event.clientY - box.top + byId("flame").scrollTop - 2;
  const depth = Math.floor(y / ROW);
  selectCall(depth, callAt(depth, Math.floor(branchUnder(event))));
}

/* One pointer drags, two pinch; a press that hardly moved is a click. */
const pointers = new Map();
let moved = 0;

function onPointerMove(event) {
  const before = pointers.get(event.pointerId);
  if (!before)
    return;
  const width = byId("flame-canvas").getBoundingClientRect().width;
  if (pointers.size === 1) {
    const step = (before.x - event.clientX) / width * (view.end - view.begin);
    show(view.begin + step, view.end + step);
  } else {
    const other = [...pointers.entries()].find(([id]) => id !== event.pointerId)[1];
    const was = Math.max(20, Math.abs(before.x - other.x));
    const is = Math.max(20, Math.abs(event.clientX - other.x));
    zoom(was / is, branchUnder({ clientX: (event.clientX + other.x) / 2 }));
  }
  moved += Math.abs(before.x - event.clientX);
  pointers.set(event.pointerId, { x: event.clientX });
}

function wireFlame() {
  const flame = byId("flame");
  flame.addEventListener("keydown", onFlameKey);
  flame.addEventListener("scroll", redraw);
  flame.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey)
      return;                 /* the page and the box scroll as everywhere */
    event.preventDefault();
    if (event.shiftKey)
      move(Math.sign(event.deltaY || event.deltaX) * 0.1);
    else
      zoom(Math.exp(Math.sign(event.deltaY) * 0.25), branchUnder(event));
  }, { passive: false });
  flame.addEventListener("pointerdown", event => {
    pointers.set(event.pointerId, { x: event.clientX });
    if (pointers.size === 1)
      moved = 0;
    flame.setPointerCapture(event.pointerId);
  });
  flame.addEventListener("pointermove", onPointerMove);
  flame.addEventListener("pointerup", event => {
    if (pointers.delete(event.pointerId) && moved < 5)
      selectUnder(event);
  });
  flame.addEventListener("pointercancel", event => pointers.delete(event.pointerId));
  flame.addEventListener("dblclick", zoomToSelection);
}

function wireOverview() {
  const overview = byId("overview");
  const center = event => {
    const box = overview.getBoundingClientRect();
    const at = (event.clientX - box.left) / box.width * allBranches();
    const half = (view.end - view.begin) / 2;
    show(at - half, at + half);
  };
  overview.addEventListener("pointerdown", event => {
    overview.setPointerCapture(event.pointerId);
    center(event);
  });
  overview.addEventListener("pointermove", event => {
    if (event.buttons)
      center(event);
  });
}

function wireTools() {
  byId("zoom-in").addEventListener("click", () => zoom(0.5));
  byId("zoom-out").addEventListener("click", () => zoom(2));
  byId("left").addEventListener("click", () => move(-0.5));
  byId("right").addEventListener("click", () => move(0.5));
  byId("zoom-all").addEventListener("click", () => show(0, allBranches()));
  byId("zoom-selection").addEventListener("click", zoomToSelection);
  byId("find").addEventListener("input", onFind);
}

function onFind() {
  const wanted = byId("find").value.trim().toLowerCase();
  const sum = measure => {
    let count = 0;
    for (let n = 0; n < tree.count; n++)
      if (view.found.has(tree.fn[n]))
        count += tree.self[measure][n];
    return count;
  };
  view.found = null;
  byId("found").textContent = "";
  if (wanted) {
    view.found = new Set(Object.keys(trace.functions).map(Number)
      .filter(fn => trace.functions[fn].toLowerCase().includes(wanted)));
    byId("found").textContent = `${view.found.size} functions, ` +
      `${share(sum(1), trace.total)} of the branches`;
  }
  redraw();
}
