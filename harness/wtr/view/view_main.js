/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts the page together: facts, warnings, tabs, colours. */

function describe() {
  const calls = tree.calls.reduce((sum, count) => sum + count, 0);
  document.title = trace.file + ": branch trace";
  byId("title").textContent = trace.file;
  byId("facts").textContent = `${grouped(trace.total)} branches, ` +
    `${grouped(calls)} calls, depth ${levels.length}; ` +
    `recorded by ${trace.producer || "?"}, provider ${trace.provider || "?"}`;
  const warnings = [];
  if (trace.lost || trace.lostUnknown)
    warnings.push(`Branches are missing: ${grouped(trace.lost)} known to be lost` +
      (trace.lostUnknown ? ` and ${trace.lostUnknown} gaps of unknown size` : "") +
      ". Calls across a gap are a guess.");
  if (trace.state !== "the file is whole")
    warnings.push(`Attention: ${trace.state}; what could be read is shown.`);
  if (trace.shown < trace.total)
    warnings.push(`Timeline and branches show the first ${grouped(trace.shown)} of ` +
      `${grouped(trace.total)}; call tree and functions count all.`);
  byId("warning").hidden = !warnings.length;
  byId("warning").textContent = warnings.join(" ");
}

function selectTab(tab, focus) {
  for (const other of document.querySelectorAll("[role=tab]")) {
    const on = other === tab;
    other.setAttribute("aria-selected", on);
    other.tabIndex = on ? 0 : -1;
    byId(other.getAttribute("aria-controls")).hidden = !on;
  }
  if (focus)
    tab.focus();
  if (tab.id === "tab-branches")
    showBranches(branchesAt);
}

function wireTabs() {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => selectTab(tab, false));
    tab.addEventListener("keydown", event => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step)
        selectTab(tabs[(i + step + tabs.length) % tabs.length], true);
    });
  });
}

/* auto follows the system; a choice is kept where the browser allows it. */
const themes = ["auto", "light", "dark"];
let theme = "auto";

function applyTheme() {
  const dark = theme === "dark" ||
    (theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").textContent = "Colours: " + theme;
  byId("theme").setAttribute("aria-label", "Colours: " +
    (theme === "auto" ? "as the system" : theme));
  buildTree();
  buildFunctions();
  redraw();
}

function wireTheme() {
  try {
    const kept = localStorage.getItem("wtr-theme");
    theme = themes.includes(kept) ? kept : "auto";
  } catch { /* a page from a file may have no storage */ }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
  byId("theme").addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try {
      localStorage.setItem("wtr-theme", theme);
    } catch { /* as above */ }
    applyTheme();
  });
}

function start() {
  describe();
  wireTheme();
  applyTheme();
  wireFlame();
  wireOverview();
  wireTools();
  wireTabs();
  byId("tree").addEventListener("keydown", onTreeKey);
  byId("tree").addEventListener("click", onTreeClick);
  byId("measure").addEventListener("change", event => {
    treeView.measure = Number(event.target.value);
    buildTree();
  });
  byId("functions").addEventListener("click", onFunctionSort);
  byId("branches-back").addEventListener("click",
    () => showBranches(branchesAt - BRANCH_ROWS));
  byId("branches-on").addEventListener("click", () => showBranches(branchesAt + BRANCH_ROWS));
  byId("branches-at").addEventListener("change",
    event => showBranches(Math.floor(Number(event.target.value)) || 0));
  buildEvents();
  window.addEventListener("resize", redraw);
  document.documentElement.dataset.ready = "yes";
}

start();
