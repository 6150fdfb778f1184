/* SPDX-License-Identifier: BSD-2-Clause */
/* Draws the timeline: the visible part as a flame chart, the whole as an overview. */

const ROW = 20;               /* height of a call, CSS pixels */
const view = {
  begin: 0, end: Math.max(1, trace.shown),
  depth: 0, call: -1,         /* selected */
  found: null,                /* functions that match the search, or null */
};

function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* Sizes the canvas to its box in device pixels; the context then counts CSS pixels. */
function prepare(canvas) {
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  const box = canvas.getBoundingClientRect();
  const width = Math.max(1, Math.round(box.width * ratio));
  const height = Math.max(1, Math.round(box.height * ratio));
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, box.width, box.height);
  return { context, width: box.width, height: box.height };
}

function fitted(context, text, width) {
  if (context.measureText(text).width <= width)
    return text;
  const per = context.measureText(text).width / text.length;
  const count = Math.floor(width / per) - 2;
  return count > 1 ? text.slice(0, count) + ".." : "";
}

function drawCall(context, fn, x, y, width, selected, ink) {
  context.fillStyle = colourOf(fn);
  context.fillRect(x, y, width - (width > 3 ? 1 : 0), ROW - 1);
  if (width > 30) {
    context.fillStyle = ink;
    const label = fitted(context, trace.functions[fn], width - 8);
    context.fillText(label, x + 4, y + ROW / 2);
  }
  if (selected)
    drawFrame(context, x, y, width);
}

function drawFrame(context, x, y, width) {
  context.globalAlpha = 1;
  context.strokeStyle = style("--accent");
  context.lineWidth = 2;
  context.strokeRect(x + 1, y + 1, Math.max(width - 2, 2), ROW - 3);
}

/*
 * One depth. A call narrower than a pixel stands for all that begin in that pixel, the paler
 * the less of the pixel they fill.
 */
function drawLevel(context, depth, y, width, ink) {
  const level = levels[depth];
  const scale = width / (view.end - view.begin);
  let i = Math.max(0, lastNotAbove(level.begins, view.begin));
  while (i < level.begins.length && level.begins[i] < view.end) {
    const x = Math.max(0, (level.begins[i] - view.begin) * scale);
    const right = Math.min(width, (level.ends[i] - view.begin) * scale);
    const fn = tree.fn[level.nodes[i]];
    const selected = depth === view.depth && i === view.call;
    const dim = view.found && !view.found.has(fn) ? 0.3 : 1;
    if (right - x >= 1) {
      context.globalAlpha = dim;
      drawCall(context, fn, x, y, right - x, selected, ink);
      i++;
      continue;
    }
    if (right > 0) {
      const begin = view.begin + Math.floor(x) / scale;
      const filled = (covered(level, begin + 1 / scale) - covered(level, begin)) * scale;
      context.globalAlpha = dim * Math.min(1, Math.max(0.15, filled));
      drawCall(context, fn, Math.floor(x), y, 1, false, ink);
      if (selected)
        drawFrame(context, x, y, 1);
    }
    const pixelEnd = view.begin + (Math.floor(x) + 1) / scale;
    i = Math.max(i + 1, lastNotAbove(level.begins, pixelEnd));
  }
  context.globalAlpha = 1;
}

function drawFlame() {
  const box = byId("flame");
  byId("flame-height").style.height = levels.length * ROW + 4 + "px";
  box.style.maxHeight = levels.length * ROW + 8 + "px";
  const { context, width, height } = prepare(byId("flame-canvas"));
  const ink = style("--ink");
  context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  context.textBaseline = "middle";
  const first = Math.floor(box.scrollTop / ROW);
  for (let depth = first; depth < levels.length; depth++) {
    const y = depth * ROW - box.scrollTop + 2;
    if (y > height)
      break;
    drawLevel(context, depth, y, width, ink);
  }
  drawMarks(context, width, height, view.begin, view.end);
}

/* Losses and the like as lines from top to bottom; LOST and WRAP are kinds 5 and 6. */
function drawMarks(context, width, height, begin, end) {
  context.fillStyle = style("--mark");
  for (const [index, kind] of trace.events) {
    if (index < begin || index > end || kind === 15)
      continue;
    const thick = kind === 5 || kind === 6 ? 3 : 1;
    context.fillRect((index - begin) / (end - begin) * width - thick / 2, 0, thick,
                     thick > 1 ? height : 8);
  }
}

/* The mean depth of the stack in each pixel of the overview. */
function profile(width) {
  const depths = new Float64Array(width);
  const branches = allBranches() / width;
  for (const level of levels) {
    let before = 0;
    for (let x = 0; x < width; x++) {
      const now = covered(level, (x + 1) * branches);
      depths[x] += (now - before) / branches;
      before = now;
    }
  }
  return depths;
}

function allBranches() {
  return Math.max(1, trace.shown);
}

let profileKept = new Float64Array(0);
function drawOverview() {
  const { context, width, height } = prepare(byId("overview"));
  const columns = Math.floor(width);
  if (profileKept.length !== columns)
    profileKept = profile(columns);
  context.fillStyle = style("--bar");
  for (let x = 0; x < columns; x++) {
    const h = profileKept[x] / Math.max(levels.length, 1) * (height - 4);
    context.fillRect(x, height - h, 1, h);
  }
  drawMarks(context, width, height, 0, allBranches());
  const left = view.begin / allBranches() * width;
  const right = view.end / allBranches() * width;
  context.fillStyle = isDark() ? "rgba(125,180,240,0.18)" : "rgba(22,89,165,0.12)";
  context.fillRect(left, 0, Math.max(right - left, 2), height);
  context.strokeStyle = style("--accent");
  context.lineWidth = 2;
  context.strokeRect(left + 1, 1, Math.max(right - left - 2, 2), height - 2);
}

function drawAxis() {
  const labels = byId("axis").children;
  const marks = [Math.floor(view.begin), Math.floor((view.begin + view.end) / 2),
    Math.ceil(view.end)];
  marks.forEach((branch, i) => {
    const time = timeOf(branch);
    labels[i].textContent = grouped(branch) + (i === 2 ? " branches" : "") +
      (time && ` (${time})`);
  });
}

let pending = false;
function redraw() {
  if (pending)
    return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    drawFlame();
    drawOverview();
    drawAxis();
  });
}

/* Shows begin..end, at least 8 branches, inside the trace. */
function show(begin, end) {
  const all = allBranches();
  const span = Math.min(all, Math.max(Math.min(8, all), end - begin));
  view.begin = Math.min(Math.max(0, begin), all - span);
  view.end = view.begin + span;
  redraw();
}

/* Without a point given: around what can be seen of the selected call, else the middle. */
function zoomCenter() {
  if (view.call >= 0) {
    const begin = Math.max(view.begin, levels[view.depth].begins[view.call]);
    const end = Math.min(view.end, levels[view.depth].ends[view.call]);
    if (begin < end)
      return (begin + end) / 2;
  }
  return (view.begin + view.end) / 2;
}

function zoom(factor, around) {
  const center = around === undefined ? zoomCenter() : around;
  show(center - (center - view.begin) * factor, center + (view.end - center) * factor);
}

function move(part) {
  const step = (view.end - view.begin) * part;
  show(view.begin + step, view.end + step);
}
