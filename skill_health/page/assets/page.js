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

  // What the page keeps as data: pieces of HTML that its templates made and escaped, put together when they are needed.
  function store() {
    const kept = document.getElementById("skill-health-data");
    if (!kept) return null;
    const data = JSON.parse(kept.textContent);
    const text = (packed) => packed.map((piece) => (typeof piece === "number" ? data.list[piece] : piece)).join("");
    const parser = new DOMParser();
    const nodes = (html, selector) => find(selector, parser.parseFromString(html, "text/html")).map((each) => document.adoptNode(each));
    return {
      data,
      places: new Map(data.places.map((place, at) => [place, at])),
      rows: (wanted) => nodes(`<table><tbody>${wanted.map((at) => text(data.rows[at])).join("")}</tbody></table>`, "tr"),
      part: (at) => (data.parts ? nodes(text(data.parts[at]), "details.skill")[0] : null),
      table: (name) => nodes(text(data.tables[name]), "table")[0],
      words: (at) =>
        text(data.rows[at]).replace(/<[^>]*>/g, " ")
          .replace(/&(?:lt|gt|quot|#34|#39|#x27);/g, " ").replaceAll("&amp;", "&").toLowerCase(),
    };
  }

  // Only the rows in sight are there: all have one height, so that the place of each is known.
  function listing(table, kept) {
    const { data } = kept;
    const body = table.tBodies[0];
    const count = data.rows.length;
    const shownAs = Object.keys(data.keys);
    const MOST = 60;
    let order = [];
    let made = new Map();
    let height = 0;
    let whole = false;
    const rowHeight = () => {
      const row = body.rows[0];
      if (row) height = row.getBoundingClientRect().height || height;
      return height || 80;
    };
    const make = (wanted) => {
      const missing = wanted.filter((at) => !made.has(at));
      const found = missing.length ? kept.rows(missing) : [];
      missing.forEach((at, nth) => {
        const row = found[nth];
        row.at = at;
        for (const name of shownAs) {
          const value = data.keys[name][at];
          const cell = name === "skill" ? null : row.querySelector(`.c-${name}`);
          if (cell && value !== null) cell.dataset.sort = value;
        }
        made.set(at, row);
      });
    };
    const draw = () => {
      const all = whole || order.length <= MOST;
      const each = rowHeight();
      const top = body.getBoundingClientRect().top;
      const over = Math.ceil(innerHeight / each);
      const first = all ? 0 : Math.max(0, Math.min(order.length - 1, Math.floor(-top / each)) - over);
      // Some are always there: by them the height is known before the table comes in sight.
      const least = Math.max(first + 10, Math.ceil((innerHeight - top) / each) + over);
      const last = all ? order.length : Math.min(order.length, least);
      const wanted = order.slice(first, Math.max(first, last));
      make(wanted);
      const keep = new Set(wanted);
      for (const row of [...body.rows]) {
        if (keep.has(row.at)) continue;
        row.remove();
        made.delete(row.at);
      }
      let next = body.firstElementChild;
      wanted.forEach((at, nth) => {
        const row = made.get(at);
        row.setAttribute("aria-rowindex", first + nth + 2);
        if (row === next) next = next.nextElementSibling;
        else body.insertBefore(row, next);
      });
      body.style.paddingTop = all ? "" : `${first * each}px`;
      body.style.paddingBottom = all ? "" : `${Math.max(0, order.length - last) * each}px`;
    };
    let waiting = 0;
    const soon = () => {
      waiting ||= requestAnimationFrame(() => {
        waiting = 0;
        draw();
      });
    };
    addEventListener("scroll", soon, { passive: true });
    addEventListener("resize", () => {
      height = 0;
      soon();
    });
    addEventListener("beforeprint", () => {
      whole = count <= 2000;
      draw();
    });
    addEventListener("afterprint", () => {
      whole = false;
      draw();
    });
    return {
      show: (rows) => {
        order = rows;
        draw();
        if (!height) draw();
        table.setAttribute("aria-rowcount", order.length + 1);
      },
    };
  }

  function choosing(table, kept) {
    const { data } = kept;
    const view = listing(table, kept);
    const count = data.rows.length;
    const every = [...data.rows.keys()];
    const input = document.getElementById("find");
    const output = document.getElementById("shown");
    const chips = find(".chip[data-word]");
    const choices = find("select[data-facet]");
    const noun = data.noun ?? ["skill", "skills"];
    let words = null;
    let sorted = { name: "verdict", sign: 1 };
    let order = [];
    const sort = () => {
      const keys = data.keys[sorted.name];
      order = every.slice().sort((one, other) => {
        const a = keys[one];
        const b = keys[other];
        if (a === null || b === null) return (a === null) - (b === null) || one - other;
        return sorted.sign * (a - b) || one - other;
      });
    };
    const apply = () => {
      const asked = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const chosen = new Set(chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.word));
      if (asked.length && !words) {
        words = every.map((at) => kept.words(at));
        for (const [code, places] of Object.entries(data.facets.rule)) for (const at of places) words[at] += ` ${code.toLowerCase()}`;
      }
      const sets = choices.filter((each) => each.value).map((each) => new Set(data.facets[each.dataset.facet][each.value]));
      const rows = order.filter(
        (at) => (!chosen.size || chosen.has(data.grades[at])) && sets.every((set) => set.has(at)) && asked.every((word) => words[at].includes(word))
      );
      view.show(rows);
      output.textContent = `${rows.length.toLocaleString("en")} of ${count.toLocaleString("en")} ${noun[count === 1 ? 0 : 1]}`;
    };
    let waiting = 0;
    const soon = () => {
      waiting ||= requestAnimationFrame(() => {
        waiting = 0;
        apply();
      });
    };
    input.addEventListener("input", soon);
    for (const each of choices) each.addEventListener("change", soon);
    for (const chip of chips) {
      chip.addEventListener("click", () => {
        chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
        soon();
      });
    }
    for (const head of find("th[aria-sort]", table)) {
      const button = head.querySelector("button");
      button.disabled = false;
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const first = head.dataset.first ?? "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const direction = now === first ? other : first;
        sorted = { name: head.dataset.key, sign: direction === "ascending" ? 1 : -1 };
        for (const each of find("th[aria-sort]", table)) each.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", direction);
        sort();
        apply();
      });
    }
    for (const button of find("button[data-rule]")) {
      button.addEventListener("click", () => {
        document.getElementById("by-rule").value = button.dataset.rule;
        apply();
        document.getElementById("overview").scrollIntoView();
        document.getElementById("by-rule").focus({ preventScroll: true });
      });
    }
    sort();
    apply();
  }

  // The part of a skill, made when it is asked for.
  function opening(kept, watch) {
    const place = document.getElementById("parts");
    if (!kept?.data.parts || !place) return () => null;
    if (kept.data.few) for (const at of kept.data.rows.keys()) place.append(kept.part(at));
    return (id) => {
      const there = document.getElementById(id);
      const at = kept.places.get(id);
      if (there || at === undefined) return there;
      const part = kept.part(at);
      place.prepend(part);
      watch(part);
      return part;
    };
  }

  function reveal(hash, open) {
    let target = null;
    try {
      const id = decodeURIComponent(hash.slice(1));
      target = document.getElementById(id) ?? open(id);
    } catch {
      return;
    }
    if (!target) return;
    for (let each = target; each; each = each.parentElement) if (each.localName === "details") each.open = true;
    target.scrollIntoView();
    if (target.localName === "details") target.querySelector("summary")?.focus({ preventScroll: true });
  }

  // A long data table is made when it is opened.
  function filling(kept, watch) {
    document.addEventListener(
      "toggle",
      (event) => {
        const place = event.target.open ? event.target.querySelector?.("[data-table]") : null;
        if (!place || !kept) return;
        place.replaceChildren(kept.table(place.dataset.table));
        delete place.dataset.table;
        watch(event.target);
      },
      true
    );
  }

  // What a figure comes from is told where the pointer rests on it.
  function naming(kept) {
    const parts = JSON.parse(document.getElementById("skill-health-origins")?.textContent ?? "[]");
    const whole = (element) => {
      const base = element.closest("[data-base]")?.dataset.base;
      const at = kept?.places.get(element.closest("[data-skill]")?.dataset.skill ?? element.closest("details.skill")?.id);
      const place = element.dataset.from;
      if (base && place.startsWith("~b/")) return base + place.slice(2);
      if (place[0] === "~" && place[1] !== ":") return place.replace(/^~([sl])/, (_, mark) => `${mark === "s" ? "status" : "lint"}#/skills/${at}`);
      return place.split("/").map((part) => (part === "~p" ? kept?.data.paths[at] : part.startsWith("~:") ? parts[part.slice(2)] : part)).join("/");
    };
    document.addEventListener("pointerover", (event) => {
      const figure = event.target.closest?.("[data-from]");
      if (figure && !figure.title) figure.title = whole(figure);
    });
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
    return (from) => {
      for (const each of find(".scroll, .canvas, pre", from)) watch.observe(each);
    };
  }

  // A finger has no pointer to rest on a mark: what a tap would show is said below the picture.
  function telling() {
    document.addEventListener("click", (event) => {
      const mark = event.target.closest?.("svg.picture path:has(> title)");
      const output = mark?.closest("figure")?.querySelector("output");
      if (output) output.textContent = mark.querySelector("title").textContent;
    });
  }

  // The tasks of a grid of trials, by how one of their trials went: all of them where nothing is chosen.
  function sifting() {
    document.addEventListener("click", (event) => {
      const chip = event.target.closest?.("[data-state]");
      const grid = chip?.closest(".grid");
      if (!grid) return;
      chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
      const wanted = find('[data-state][aria-pressed="true"]', grid).map((each) => each.dataset.state);
      const rows = find("tr[data-states]", grid);
      for (const row of rows) {
        const states = row.dataset.states.split(" ");
        row.hidden = wanted.length > 0 && !wanted.some((state) => states.includes(state));
      }
      const shown = rows.filter((row) => !row.hidden).length;
      grid.querySelector("output").textContent = `${shown} of ${rows.length} tasks`;
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
    const kept = store();
    const watch = reaching();
    const open = opening(kept, watch);
    const opened = { "open-all": true, "close-all": false };
    theme(document.getElementById("theme"));
    if (table && kept) choosing(table, kept);
    printing();
    watch(document);
    telling();
    sifting();
    naming(kept);
    filling(kept, watch);
    for (const [id, state] of Object.entries(opened)) {
      document.getElementById(id)?.addEventListener("click", () => {
        for (const each of find("details.skill")) each.open = state;
      });
    }
    // A link to where the address already points changes no hash, and one to a skill has no target yet.
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.('a[href^="#"]');
      if (link && (link.hash === location.hash || kept?.places.has(link.hash.slice(1)))) {
        event.preventDefault();
        if (link.hash !== location.hash) history.pushState(null, "", link.hash);
        reveal(link.hash, open);
      }
    });
    addEventListener("popstate", () => reveal(location.hash, open));
    addEventListener("hashchange", () => reveal(location.hash, open));
    if (location.hash) reveal(location.hash, open);
  });
})();
