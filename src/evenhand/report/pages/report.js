"use strict";
(() => {
  const PAGE = 20, WRITTEN = 50;
  const root = document.documentElement;
  const tongue = root.lang || "en";
  const filled = (sentence, fields) => sentence.replace(/\{(\w+)\}/g, (whole, name) => fields[name] ?? whole);
  const counted = (number) => number.toLocaleString(tongue);
  // A number as a reader types it: with a comma where the language of the page has no point.
  const typed = (text) => Number((tongue === "en" ? text : text.replace(",", ".")).replace(/\s*%$/, "") || NaN);
  root.classList.add("js");

  // The theme: what the reader's system says, until the reader says otherwise.
  const wanted = (value) => {
    try {
      if (value === undefined) return localStorage.getItem("evenhand-theme");
      localStorage.setItem("evenhand-theme", value);
    } catch (error) { /* a file from disk may have no storage; the choice then lasts as long as the page */ }
    return null;
  };
  const systemDark = () => matchMedia("(prefers-color-scheme: dark)").matches;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark());
  const toggle = document.getElementById("theme");
  const name = () => { toggle.textContent = dark() ? toggle.dataset.light ?? "Light theme" : toggle.dataset.dark ?? "Dark theme"; };
  const kept = wanted();
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  name();
  toggle.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    wanted(root.dataset.theme);
    name();
  });
  document.getElementById("print").addEventListener("click", () => window.print());

  // On paper nothing can be unfolded or paged any more.
  let paper = false, folded = [];
  const drawings = [];
  const print = (on) => {
    if (on === paper) return;
    paper = on;
    if (on) folded = [...document.querySelectorAll("details:not([open])")];
    for (const one of folded) one.open = on;
    for (const draw of drawings) draw();
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  matchMedia("print").addEventListener("change", (event) => print(event.matches));

  // A case as two people side by side.
  const made = (tag, text, className) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  const said = (text) => {
    const long = text.length > 60;
    const box = made("bdi", text, long ? "short" : "");
    if (long) box.tabIndex = 0; // so that keys alone can scroll it
    return box;
  };
  const cell = (tag, text, className) => {
    const element = made(tag, undefined, className);
    element.append(said(text));
    return element;
  };
  const dialog = document.getElementById("case");
  const show = (data, row, mark) => {
    const read = (column) => data.columns[column].text(row);
    const at = new Map(data.columns.map((column, place) => [column.name, place]));
    const body = dialog.querySelector("tbody");
    body.replaceChildren();
    data.columns.forEach((column, place) => {
      if (!column.feature && column.name !== "outcome") return;
      const twin = at.has(`twin.${column.name}`) ? read(at.get(`twin.${column.name}`)) : read(place);
      const differs = twin !== read(place);
      const line = made("tr", undefined, differs ? "differs" : "");
      const head = cell("th", column.name);
      head.scope = "row";
      line.append(head, cell("td", read(place)), cell("td", twin), made("td", differs ? mark : ""));
      body.append(line);
    });
    dialog.showModal();
  };
  dialog.querySelector("button").addEventListener("click", () => dialog.close());

  // Tables that can be sorted, filtered and paged; a long one has its rows in a block of data.
  const packed = (box) => {
    const data = JSON.parse(document.getElementById(`${box.id}-data`).textContent);
    for (const column of data.columns) {
      const { levels, values, keys } = column;
      const value = levels ? (row) => levels[values[row]] : (row) => values[row];
      column.key = keys ? (row) => keys[row] : value;
      column.text = (row) => { const one = value(row); return one === null ? "" : String(one); };
    }
    const cases = box.dataset.cases === "true";
    return {
      count: data.rows,
      data,
      words: (row) => data.columns.map((column) => column.text(row)).join("\u0000").toLowerCase(),
      key: (row, place) => data.columns[place].key(row),
      element: (row) => {
        const line = made("tr");
        if (cases) {
          const opener = made("td", undefined, "js-cell");
          const button = made("button", box.dataset.open);
          button.type = "button";
          button.setAttribute("aria-label", filled(box.dataset.opens, { number: row + 1 }));
          button.addEventListener("click", () => show(data, row, box.dataset.differs));
          opener.append(button);
          line.append(opener);
        }
        for (const column of data.columns) {
          line.append(cell("td", column.text(row), column.kind === "number" ? "number" : ""));
        }
        return line;
      },
    };
  };
  const written = (box) => {
    const lines = [...box.querySelectorAll("tbody tr")];
    const key = (box) => {
      if (box.dataset.value === undefined) return box.textContent;
      return box.dataset.value === "" ? null : Number(box.dataset.value);
    };
    return {
      count: lines.length,
      words: (row) => lines[row].textContent.toLowerCase(),
      key: (row, place) => key(lines[row].cells[place]),
      element: (row) => lines[row],
    };
  };
  const order = new Intl.Collator(tongue, { numeric: true, sensitivity: "base" });
  const compare = (one, other) => {
    if (one === null || other === null) return (one === null) - (other === null);
    if (typeof one === "number" && typeof other === "number") return one - other;
    return order.compare(String(one), String(other));
  };
  const TESTS = {
    "=": (found) => found === 0, "<": (found) => found < 0, ">": (found) => found > 0,
    "<=": (found) => found <= 0, ">=": (found) => found >= 0,
  };
  // What is asked for: words, "words in quotes", and columns that are compared with a number, a word or "words".
  const asked = (query, names) => {
    const found = [];
    const longest = names.map((_, place) => place).sort((one, other) => names[other].length - names[one].length);
    for (let rest = query.trim(); rest; rest = rest.trim()) {
      const low = rest.toLowerCase();
      const after = (place) => /^\s*(<=|>=|=|<|>)\s*(?:"([^"]*)"|(\S+))/.exec(rest.slice(names[place].length));
      const place = longest.find((one) => names[one] && low.startsWith(names[one]) && after(one));
      if (place === undefined) {
        const [whole, quoted, word] = /^(?:"([^"]+)"|(\S+))/.exec(rest);
        found.push({ word: (quoted || word).toLowerCase() });
        rest = rest.slice(whole.length);
      } else {
        const [whole, sign, quoted, word] = after(place);
        found.push({ place, test: TESTS[sign], value: quoted === undefined ? word : quoted });
        rest = rest.slice(names[place].length + whole.length);
      }
    }
    return found;
  };
  const sheet = (box) => {
    const source = box.dataset.packed === "true" ? packed(box) : written(box);
    const heads = [...box.querySelectorAll("thead th[data-column]")];
    const names = heads.map((head) => head.textContent.trim().toLowerCase());
    const body = box.querySelector("tbody");
    const [input, status, back, forth] = ["input", "[role=status]", ".back", ".forth"].map((one) => box.querySelector(one));
    const every = Array.from({ length: source.count }, (_, row) => row);
    let rows = every, start = 0, sorted = null, words = null;
    const draw = () => {
      const first = paper ? 0 : start;
      const most = !paper ? PAGE : source.data ? WRITTEN : rows.length;
      body.replaceChildren(...rows.slice(first, first + most).map(source.element));
      const end = Math.min(start + PAGE, rows.length);
      const [from, to, fit, all] = [start + 1, end, rows.length, source.count].map(counted);
      const some = rows.length === source.count ? box.dataset.rows : box.dataset.fit;
      status.textContent = filled(rows.length ? some : box.dataset.none, { from, to, fit, all });
      // A button that is disabled would lose the focus.
      back.setAttribute("aria-disabled", start === 0);
      forth.setAttribute("aria-disabled", end >= rows.length);
      back.hidden = forth.hidden = rows.length <= PAGE;
    };
    const choose = () => {
      const tests = asked(input.value, names).map(({ word, place, test, value }) => {
        if (place === undefined) return (row) => words[row].includes(word);
        const number = typed(value);
        return (row) => {
          const key = source.key(row, place);
          if (key === null || (typeof key === "number" && Number.isNaN(number))) return false;
          return test(compare(key, typeof key === "number" ? number : value));
        };
      });
      if (tests.length && !words) words = every.map(source.words);
      rows = tests.length ? every.filter((row) => tests.every((test) => test(row))) : every.slice();
      if (sorted) {
        const { place, down } = sorted;
        const keys = new Map(rows.map((row) => [row, source.key(row, place)]));
        rows.sort((one, other) => {
          const [a, b] = [keys.get(one), keys.get(other)];
          if (a === null || b === null) return compare(a, b);
          return (down ? -1 : 1) * compare(a, b) || one - other;
        });
      }
      start = 0;
      draw();
    };
    heads.forEach((head, place) => {
      const button = made("button", head.textContent);
      button.type = "button";
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = sorted && sorted.place === place ? !sorted.down : false;
        sorted = { place, down };
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        choose();
      });
    });
    let waiting;
    input.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(choose, 120); });
    back.addEventListener("click", () => { start = Math.max(0, start - PAGE); draw(); });
    forth.addEventListener("click", () => { if (start + PAGE < rows.length) start += PAGE; draw(); });
    drawings.push(draw);
    draw();
  };
  for (const box of document.querySelectorAll("[data-sheet]")) sheet(box);
})();
