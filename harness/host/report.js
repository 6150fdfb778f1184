/* SPDX-License-Identifier: BSD-2-Clause */
/* Filter of the list of checks in report.html, and jumps into what is folded. */
"use strict";
(() => {
    const buttons = [...document.querySelectorAll(".filters button")];
    const words = document.querySelector(".filters input");
    const rows = [...document.querySelectorAll("#check-rows tr")];
    const shown = document.querySelector("#shown");
    let verdict = "";

    const apply = () => {
        const wanted = words.value.trim().toLowerCase();
        let count = 0;
        for (const row of rows) {
            const good = (!verdict || row.dataset.verdict === verdict) &&
                (!wanted || row.textContent.toLowerCase().includes(wanted));
            row.hidden = !good;
            count += good;
        }
        for (const button of buttons)
            button.setAttribute("aria-pressed", String(button.value === verdict));
        shown.textContent = `${count} of ${rows.length} checks`;
    };
    const open = () => {
        const target = location.hash && document.getElementById(location.hash.slice(1));
        if (!target)
            return;
        let box = target.closest("details");
        for (; box; box = box.parentElement.closest("details"))
            box.open = true;
        if (target.matches("#check-rows tr") && target.hidden) {
            verdict = words.value = "";
            apply();
        }
        target.scrollIntoView();
    };
    for (const button of buttons)
        button.addEventListener("click", () => {
            verdict = button.value;
            apply();
        });
    words.addEventListener("input", apply);
    addEventListener("hashchange", open);
    apply();
    open();
    document.documentElement.dataset.ready = "yes";
})();
