/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace in the page: unpacked numbers, the call tree, and the calls as intervals. */
"use strict";

const trace = JSON.parse(document.getElementById("trace").textContent);

/* Numbers of 7 bits a byte, lowest first, from base64. */
function unpackNumbers(id, room) {
  const text = atob(document.getElementById(id).textContent);
  const out = new Uint32Array(room || text.length);
  let count = 0, value = 0, shift = 0;
  for (let i = 0; i < text.length; i++) {
    const byte = text.charCodeAt(i);
    value += (byte & 0x7f) * 2 ** shift;
    shift += 7;
    if (byte < 0x80) {
      out[count++] = value;
      value = shift = 0;
    }
  }
  return out.subarray(0, count);
}

const PARENT = 0, FUNCTION = 1, CALLS = 2, BRANCHES = 3, INSTRUCTIONS = 4;

/* The call tree: five numbers a node, then sums, depth and children. */
function makeTree(flat) {
  const count = flat.length / 5;
  const tree = {
    count, children: [], roots: [],
    depth: new Uint32Array(count), parent: new Uint32Array(count),
    self: [null, new Float64Array(count), new Float64Array(count)],
    total: [null, new Float64Array(count), new Float64Array(count)],
    calls: new Float64Array(count), fn: new Uint32Array(count),
  };
  for (let n = 0; n < count; n++) {
    const at = n * 5;
    tree.parent[n] = flat[at + PARENT];
    tree.fn[n] = flat[at + FUNCTION];
    tree.calls[n] = flat[at + CALLS];
    for (const measure of [1, 2])
      tree.self[measure][n] = tree.total[measure][n] = flat[at + BRANCHES + measure - 1];
    tree.children.push([]);
    if (tree.parent[n] === n) {
      tree.roots.push(n);
    } else {
      tree.depth[n] = tree.depth[tree.parent[n]] + 1;
      tree.children[tree.parent[n]].push(n);
    }
  }
  /* A parent has a smaller number than its children. */
  for (let n = count - 1; n >= 0; n--)
    if (tree.parent[n] !== n)
      for (const measure of [1, 2])
        tree.total[measure][tree.parent[n]] += tree.total[measure][n];
  return tree;
}

const tree = makeTree(trace.nodes);
const edgeNumbers = unpackNumbers("branches", trace.shown);

function nameOf(node) {
  return trace.functions[tree.fn[node]];
}

function pathOf(node) {
  const path = [node];
  while (tree.parent[node] !== node)
    path.unshift(node = tree.parent[node]);
  return path;
}

/*
 * For each depth the calls in their order: where they begin and end (branch numbers) and their
 * node. Between two calls of one node there is always a branch of its caller.
 */
function makeLevels(segments) {
  const levels = [];
  const open = [];            /* node at each depth of the running stack */
  let at = 0;

  function level(depth) {
    while (levels.length <= depth)
      levels.push({ begins: [], ends: [], nodes: [] });
    return levels[depth];
  }
  function close(depth) {
    while (open.length > depth)
      level(open.length - 1).ends.push((open.pop(), at));
  }
  for (let i = 0; i < segments.length; i += 2) {
    const path = pathOf(segments[i]);
    let same = 0;
    while (same < path.length && open[same] === path[same])
      same++;
    close(same);
    for (let depth = same; depth < path.length; depth++) {
      level(depth).begins.push(at);
      level(depth).nodes.push(path[depth]);
      open.push(path[depth]);
    }
    at += segments[i + 1];
  }
  close(0);
  return levels.map(one => ({
    begins: Uint32Array.from(one.begins), ends: Uint32Array.from(one.ends),
    nodes: Uint32Array.from(one.nodes), before: lengthsBefore(one),
  }));
}

/* For each call how many branches the calls before it on its level are long. */
function lengthsBefore(level) {
  const before = new Float64Array(level.begins.length + 1);
  for (let i = 0; i < level.begins.length; i++)
    before[i + 1] = before[i] + level.ends[i] - level.begins[i];
  return before;
}

const levels = makeLevels(unpackNumbers("segments"));

/* Index of the last number in a rising array that is not above value; -1 without one. */
function lastNotAbove(numbers, value) {
  let low = 0, high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= value)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}

/* How many branches before one ran at this level or deeper. */
function covered(level, branch) {
  const i = lastNotAbove(level.begins, branch);
  return i < 0 ? 0 : level.before[i] + Math.min(level.ends[i], branch) - level.begins[i];
}

/* The call that runs at a depth at a branch: its index in the level, or -1. */
function callAt(depth, branch) {
  if (depth < 0 || depth >= levels.length)
    return -1;
  const i = lastNotAbove(levels[depth].begins, branch);
  return i >= 0 && levels[depth].ends[i] > branch ? i : -1;
}

/* When a branch ran, in words and between the times known around it; "" without times. */
function timeOf(branch) {
  const times = trace.times;
  const i = Math.min(times.findLastIndex(one => one[0] <= branch), times.length - 2);
  if (i < 0)
    return "";
  const [from, begin] = times[i], [to, end] = times[i + 1];
  const ticks = begin + (branch - from) / (to - from) * (end - begin);
  if (!trace.hz)
    return grouped(Math.round(ticks)) + " ticks";
  const seconds = ticks / trace.hz;
  return seconds < 1e-3 ? (seconds * 1e6).toFixed(2) + " us"
    : seconds < 1 ? (seconds * 1e3).toFixed(3) + " ms" : seconds.toFixed(4) + " s";
}

function grouped(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, " ");
}

function share(part, whole) {
  return whole ? (100 * part / whole).toFixed(1) + "%" : "-";
}

function byId(id) {
  return document.getElementById(id);
}

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className)
    element.className = className;
  if (text !== undefined)
    element.textContent = text;
  return element;
}

/* A function keeps its colour everywhere on the page; the golden angle keeps them apart. */
const places = new Map(Object.keys(trace.functions).map((fn, i) => [Number(fn), i]));
function hueOf(fn) {
  return Math.round(places.get(fn) * 137.508) % 360;
}

function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

const colours = new Map();
function colourOf(fn) {
  const key = fn * 2 + isDark();
  if (!colours.has(key)) {
    const name = trace.functions[fn];
    const grey = name.startsWith("[");
    colours.set(key, isDark() ? `hsl(${hueOf(fn)} ${grey ? 0 : 38}% 31%)`
                              : `hsl(${hueOf(fn)} ${grey ? 0 : 58}% 80%)`);
  }
  return colours.get(key);
}
