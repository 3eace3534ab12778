(() => {
  "use strict";
  const root = document.documentElement;
  const MISSING = "–";
  const find = (selector, from = document) => [...from.querySelectorAll(selector)];

  // Before the first paint, so that nothing moves or flashes when the controls appear.
  root.classList.add("js");
  const remembered = (() => {
    try {
      return localStorage.getItem("skill-health-theme");
    } catch {
      return null;
    }
  })();
  if (remembered === "dark" || remembered === "light") root.dataset.theme = remembered;

  function theme(button) {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
    const tell = () => button.setAttribute("aria-pressed", String(dark()));
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try {
        localStorage.setItem("skill-health-theme", root.dataset.theme);
      } catch {
        // A browser that keeps nothing shows the theme until the page is closed.
      }
      tell();
    });
    system.addEventListener("change", tell);
    tell();
  }

  function sorting(table) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const collator = new Intl.Collator("en", { numeric: true });
    const key = (row, column, numeric) => {
      const cell = row.cells[column];
      const text = cell.dataset.sort ?? cell.textContent.trim();
      if (text === "" || text === MISSING) return null;
      const number = numeric ? Number(text) : text;
      return Number.isNaN(number) ? null : number;
    };
    const sort = (head, direction) => {
      const numeric = head.dataset.kind === "number";
      const sign = direction === "ascending" ? 1 : -1;
      const keyed = rows.map((row) => [key(row, head.cellIndex, numeric), row]);
      keyed.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null);
        return sign * (numeric ? a - b : collator.compare(a, b));
      });
      const all = document.createDocumentFragment();
      for (const [, row] of keyed) all.append(row);
      body.append(all);
      for (const other of find("th[aria-sort]", table)) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", direction);
    };
    for (const head of find("th[aria-sort]", table)) {
      const button = head.querySelector("button");
      button.disabled = false;
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const first = head.dataset.first ?? "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        sort(head, now === first ? other : first);
      });
    }
  }

  function filtering(table) {
    const rows = [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
    const input = document.getElementById("find");
    const output = document.getElementById("shown");
    const chips = find(".chip");
    let waiting = 0;
    const apply = () => {
      waiting = 0;
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const chosen = new Set(
        chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.word)
      );
      let count = 0;
      for (const [row, text] of rows) {
        const fits = words.every((word) => text.includes(word)) && (!chosen.size || chosen.has(row.dataset.word));
        if (row.hidden === fits) row.hidden = !fits;
        count += fits;
      }
      output.textContent = `${count} of ${rows.length} skill${rows.length === 1 ? "" : "s"}`;
    };
    const soon = () => {
      waiting ||= requestAnimationFrame(apply);
    };
    input.addEventListener("input", soon);
    for (const chip of chips) {
      chip.addEventListener("click", () => {
        chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
        soon();
      });
    }
    // A browser may bring back what was typed before the page was loaded anew.
    if (input.value) soon();
  }

  function reveal(hash) {
    let target = null;
    try {
      target = document.getElementById(decodeURIComponent(hash.slice(1)));
    } catch {
      return;
    }
    if (!target) return;
    for (let each = target; each; each = each.parentElement) if (each.localName === "details") each.open = true;
    target.scrollIntoView();
    if (target.localName === "details") target.querySelector("summary")?.focus({ preventScroll: true });
  }

  // What scrolls within the page can be reached by the keyboard, and what does not is no stop on the way.
  function reaching() {
    const watch = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        const scrolls = target.scrollWidth > target.clientWidth + 1 || target.scrollHeight > target.clientHeight + 1;
        if (scrolls) target.tabIndex = 0;
        else target.removeAttribute("tabindex");
      }
    });
    for (const each of find(".scroll, .canvas, pre")) watch.observe(each);
  }

  // A finger has no pointer to rest on a mark: what a tap would show is said below the picture.
  function telling() {
    document.addEventListener("click", (event) => {
      const mark = event.target.closest?.("svg.picture path:has(> title)");
      const output = mark?.closest("figure")?.querySelector("output");
      if (output) output.textContent = mark.querySelector("title").textContent;
    });
  }

  // Paper has no tooltips. What else is to be printed the reader opens; all of it would be hundreds of sheets.
  function printing() {
    let opened = [];
    addEventListener("beforeprint", () => {
      opened = find("details.legend").filter((each) => !each.open);
      for (const each of opened) each.open = true;
    });
    addEventListener("afterprint", () => {
      for (const each of opened) each.open = false;
      opened = [];
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    const table = document.getElementById("table");
    theme(document.getElementById("theme"));
    sorting(table);
    filtering(table);
    printing();
    reaching();
    telling();
    for (const [id, open] of [["open-all", true], ["close-all", false]]) {
      document.getElementById(id).addEventListener("click", () => {
        for (const each of find("details.skill")) each.open = open;
      });
    }
    addEventListener("hashchange", () => reveal(location.hash));
    // A link to where the address already points changes no hash.
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.('a[href^="#"]');
      if (link && link.hash === location.hash) reveal(link.hash);
    });
    if (location.hash) reveal(location.hash);
  });
})();
