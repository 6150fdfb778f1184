# SPDX-License-Identifier: BSD-2-Clause
"""The web page of `wtr html` in a real browser: what it shows, by keyboard too, at two widths.

wtr_html.py BUILD-FOLDER OWN-FOLDER
Screenshots are left in OWN-FOLDER for people to look at.
"""

import re
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[3])

from harness.tests.fakes import browser, wtr_file  # noqa: E402
from harness.tests.system.wtr_tools import Tools, Truth, run_tests, same  # noqa: E402

SIZES = {"wide": (1280, 1000, False), "phone": (390, 844, True)}
ROUNDS = "12"

# Everything that can be pressed must be reachable and have a name and a size for fingers.
AUDIT = """[...document.querySelectorAll("button,select,input,[tabindex='0']")]
  .filter(e => e.offsetParent && !(e.getAttribute("aria-label") || e.textContent.trim() ||
    (e.labels && e.labels.length))).map(e => e.outerHTML)"""
OVERFLOW = "document.documentElement.scrollWidth - innerWidth"
# WCAG contrast of text against its nearest opaque background.
CONTRAST = r"""(() => {
  const rgb = text => text.match(/[\d.]+/g).map(Number);
  const light = text => { const [r, g, b] = rgb(text).slice(0, 3).map(v => { v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (rgb(c).length === 3 || rgb(c)[3] === 1) return c; } return "rgb(255,255,255)"; };
  return [...document.querySelectorAll("body *")].filter(e => e.offsetParent &&
    [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())).filter(e => {
    const a = light(getComputedStyle(e).color), b = light(ground(e));
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
  }).map(e => e.tagName + ": " + e.textContent.slice(0, 40)); })()"""


def page_of(tools, trace, *words):
    page = trace.with_suffix(".html")
    tools.wtr("html", *words, "-o", page, trace)
    return page


def recorded(tools):
    program = tools.build("mix")
    trace, steps = tools.record(program, ROUNDS)
    return trace, Truth(program, steps)


class Shared:
    """One browser for all tests; each begins without complaints of the one before."""

    def __init__(self, chrome):
        self.chrome = chrome

    def __enter__(self):
        self.chrome.complaints.clear()
        self.chrome.requests.clear()
        return self.chrome

    def __exit__(self, *_):
        pass


def url(page):
    return "file://%s" % page.resolve()


def content(tools):
    """The tree and the branches of the page are those of the steps."""
    trace, truth = recorded(tools)
    with tools.page() as chrome:
        chrome.open(url(page_of(tools, trace)), 1280, 1000)
        got = chrome.evaluate("""Array.from({length: tree.count}, (_, n) => [
            pathOf(n).map(nameOf).join(";"), tree.self[1][n], tree.self[2][n],
            tree.calls[n]])""")
        want = {";".join(path): value for path, value in truth.tree().items()}
        same({row[0]: tuple(row[1:]) for row in got if row[0].count(";")}, want, "tree")
        shown = chrome.evaluate("Array.from(edgeNumbers, e => [trace.edges[e][1], "
                                "trace.edges[e][4], trace.edges[e][0]])")
        same([row[2] for row in shown], [kind for _, _, kind in truth.branches], "kinds")
        same([(row[0] if a else None, row[1] if b else None) for row, (a, b, _) in
              zip(shown, truth.branches)],
             [(a and "%x" % a, b and "%x" % b) for a, b, _ in truth.branches], "branches")
        # The levels of the timeline: as many calls of each node as the tree counts.
        calls = chrome.evaluate("""levels.flatMap(level => Array.from(level.nodes)).reduce(
            (sum, n) => { sum[pathOf(n).map(nameOf).join(";")] =
                (sum[pathOf(n).map(nameOf).join(";")] || 0) + 1; return sum; }, {})""")
        counted = {path: value[2] for path, value in want.items()}
        # The last call, that of exit, has no branch of its own, and so no length.
        counted["mix;_start;start_c;system_call"] -= 1
        calls.pop("mix")
        same(calls, counted, "calls")
        same(chrome.complaints, [], "complaints")
        return "%d nodes, %d branches" % (len(got), len(shown))


def looks(tools):
    """No sideways scrolling, readable colours, names for every control, nothing loaded."""
    trace, _ = recorded(tools)
    page = page_of(tools, trace)
    with tools.page() as chrome:
        for name, (width, height, mobile) in SIZES.items():
            for dark in (False, True):
                what = "%s-%s" % (name, "dark" if dark else "light")
                chrome.open(url(page), width, height, dark=dark, mobile=mobile)
                for tab in ("tree", "functions", "branches", "events"):
                    chrome.evaluate("byId('tab-%s').click()" % tab)
                    chrome.settle()
                    same(chrome.evaluate(OVERFLOW), 0, what + " " + tab + ": too wide by")
                    same(chrome.evaluate(AUDIT), [], what + " " + tab + ": without a name")
                    same(chrome.evaluate(CONTRAST), [], what + " " + tab + ": contrast")
                    chrome.screenshot(tools.place / ("%s-%s.png" % (what, tab)), full=True)
        same(chrome.complaints, [], "complaints")
        same([one for one in chrome.requests if not one.startswith(("file://", "data:"))], [],
             "network")
    return "%d pictures" % (2 * 2 * 4)


def keyboard(tools):
    """Everything by keyboard: select, zoom, tree, tabs."""
    trace, _ = recorded(tools)
    with tools.page() as chrome:
        chrome.open(url(page_of(tools, trace)), 1280, 1000)
        reached = set()
        for _ in range(40):
            chrome.key("Tab")
            reached.add(chrome.evaluate("document.activeElement.id || "
                                        "document.activeElement.getAttribute('role')"))
        same({"theme", "zoom-in", "find", "flame", "tab-tree", "measure", "treeitem"} - reached,
             set(), "not reached by Tab")
        chrome.evaluate("byId('flame').focus()")
        names = []
        for _ in range(4):
            chrome.key("ArrowDown")
            names.append(chrome.evaluate("nameOf(levels[view.depth].nodes[view.call])"))
        same(names, ["mix", "_start", "start_c", "rounds"], "down")
        chrome.key("ArrowUp")
        same(chrome.evaluate("byId('selection').textContent.split(':')[0]"), "start_c", "up")
        before = chrome.evaluate("view.end - view.begin")
        chrome.key("+")
        same(chrome.evaluate("view.end - view.begin"), before / 2, "plus")
        chrome.key("Home")
        same(chrome.evaluate("view.end - view.begin"), before, "home")
        for _ in range(2):
            chrome.key("ArrowDown")
        chrome.key(".")
        chrome.key("Enter")
        assert chrome.evaluate("view.end - view.begin") < before / 2
        chrome.evaluate("byId('tree').querySelector('[tabindex=\"0\"]').focus()")
        chrome.key("Home")
        first = chrome.evaluate("document.activeElement.dataset.node")
        chrome.key("ArrowLeft")
        same(chrome.evaluate("byId('tree').querySelectorAll('[role=treeitem]').length"), 1,
             "rows when closed")
        chrome.key("ArrowRight")
        chrome.key("ArrowDown")
        assert chrome.evaluate("document.activeElement.dataset.node") != first
        chrome.evaluate("byId('tab-tree').focus()")
        chrome.key("ArrowRight")
        same(chrome.evaluate("byId('panel-functions').hidden"), False, "tab by arrow")
        same(chrome.complaints, [], "complaints")
    return "select, zoom, tree, tabs"


def pointer(tools):
    """A click selects; a drag moves; the search dims."""
    trace, _ = recorded(tools)
    with tools.page() as chrome:
        chrome.open(url(page_of(tools, trace)), 1280, 1000)
        box = chrome.evaluate("(b => [b.left, b.top])(byId('flame').getBoundingClientRect())")
        chrome.click(box[0] + 600, box[1] + 2 + 20 * 2 + 8)
        same(chrome.evaluate("nameOf(levels[view.depth].nodes[view.call])"), "start_c", "click")
        chrome.evaluate("byId('zoom-in').click()")
        chrome.evaluate("byId('find').value = 'fib'; "
                        "byId('find').dispatchEvent(new Event('input'))")
        assert re.match(r"1 functions, \d+\.\d%", chrome.evaluate("byId('found').textContent"))
        same(chrome.evaluate("byId('theme').click() || byId('theme').click() || "
                             "document.documentElement.dataset.theme"), "dark", "theme")
        same(chrome.complaints, [], "complaints")
    return "click, zoom, find, theme"


def warnings(tools):
    """Losses, damage, and names that are no HTML are shown, and harm nothing."""
    trace, _ = recorded(tools)
    data = trace.read_bytes()
    pairs = [pair[1:] for pair in wtr_file.all_branches(data)]
    image = next(raw for kind, _, _, _, raw in wtr_file.read(data) if kind == "image")
    nasty = "</script><img src=x onerror=alert(1)>\"&'\\"
    records = [image, wtr_file.task(nasty), wtr_file.packed(pairs[:100]), wtr_file.lost(7),
               wtr_file.packed(pairs[200:])]
    made = tools.place / "nasty.wtr"
    made.write_bytes(wtr_file.header(producer=b"<b>x</b>") + b"".join(records))
    page = made.with_suffix(".html")
    tools.wtr("html", "-o", page, made, status=1)
    with tools.page() as chrome:
        chrome.open(url(page), 390, 844, mobile=True)
        text = chrome.evaluate("byId('warning').textContent")
        assert "7 known to be lost" in text and "cut short" in text, text
        same(chrome.evaluate("nameOf(tree.roots[0])"), nasty, "name")
        same(chrome.evaluate("document.images.length"), 0, "images")
        same(chrome.evaluate(OVERFLOW), 0, "too wide by")
        same(chrome.complaints, [], "complaints")
    return "shown"


if __name__ == "__main__":
    if not browser.found():
        print("SKIP: no browser is installed (package chromium)")
        sys.exit(0)
    with browser.Browser() as one:
        Tools.page = lambda self: Shared(one)
        status = run_tests([content, looks, keyboard, pointer, warnings])
    sys.exit(status)
