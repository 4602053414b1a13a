"use strict";
(() => {
  const PAGE = 20;
  const root = document.documentElement;
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
  const name = () => { toggle.textContent = dark() ? "Light theme" : "Dark theme"; };
  const kept = wanted();
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  name();
  toggle.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    wanted(root.dataset.theme);
    name();
  });
  document.getElementById("print").addEventListener("click", () => window.print());

  // On paper nothing can be unfolded any more.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of folded) one.open = false; });

  // A case as two people side by side.
  const made = (tag, text, className) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  const dialog = document.getElementById("case");
  const show = (data, row) => {
    const read = (column) => data.columns[column].text(row);
    const at = new Map(data.columns.map((column, place) => [column.name, place]));
    const body = dialog.querySelector("tbody");
    body.replaceChildren();
    data.columns.forEach((column, place) => {
      if (!column.feature && column.name !== "outcome") return;
      const twin = at.has(`twin.${column.name}`) ? read(at.get(`twin.${column.name}`)) : read(place);
      const differs = twin !== read(place);
      const line = made("tr", undefined, differs ? "differs" : "");
      const head = made("th", column.name);
      head.scope = "row";
      line.append(head, made("td", read(place)), made("td", twin), made("td", differs ? "differs" : ""));
      body.append(line);
    });
    dialog.showModal();
  };
  dialog.querySelector("button").addEventListener("click", () => dialog.close());

  // Tables that can be sorted, filtered and paged; a long one has its rows in a block of data.
  const packed = (box) => {
    const data = JSON.parse(document.getElementById(`${box.id}-data`).textContent);
    for (const column of data.columns) {
      const { levels, values } = column;
      column.key = levels ? (row) => levels[values[row]] : (row) => values[row];
      column.text = (row) => { const key = column.key(row); return key === null ? "" : String(key); };
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
          const cell = made("td");
          const button = made("button", "open");
          button.type = "button";
          button.setAttribute("aria-label", `open case ${row + 1}`);
          button.addEventListener("click", () => show(data, row));
          cell.append(button);
          line.append(cell);
        }
        for (const column of data.columns) {
          const cell = made("td", undefined, column.kind === "number" ? "number" : "");
          const said = column.text(row);
          cell.append(made("bdi", said, said.length > 60 ? "short" : ""));
          line.append(cell);
        }
        return line;
      },
    };
  };
  const written = (box) => {
    const lines = [...box.querySelectorAll("tbody tr")];
    const key = (cell) => {
      if (cell.dataset.value === undefined) return cell.textContent;
      return cell.dataset.value === "" ? null : Number(cell.dataset.value);
    };
    return {
      count: lines.length,
      words: (row) => lines[row].textContent.toLowerCase(),
      key: (row, place) => key(lines[row].cells[place]),
      element: (row) => lines[row],
    };
  };
  const compare = (one, other) => {
    if (one === null || other === null) return (one === null) - (other === null);
    if (typeof one === "number" && typeof other === "number") return one - other;
    return String(one).localeCompare(String(other), "en", { numeric: true });
  };
  const TESTS = {
    "=": (one, other) => compare(one, other) === 0, "<": (one, other) => compare(one, other) < 0,
    ">": (one, other) => compare(one, other) > 0, "<=": (one, other) => compare(one, other) <= 0,
    ">=": (one, other) => compare(one, other) >= 0,
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
      body.replaceChildren(...rows.slice(start, start + PAGE).map(source.element));
      const end = Math.min(start + PAGE, rows.length);
      const shown = rows.length ? `rows ${(start + 1).toLocaleString("en")} to ${end.toLocaleString("en")}` : "no row";
      const of = rows.length === source.count ? "" : ` that fit, of ${source.count.toLocaleString("en")}`;
      status.textContent = `${shown} of ${rows.length.toLocaleString("en")}${of}`;
      back.disabled = start === 0;
      forth.disabled = end >= rows.length;
      back.hidden = forth.hidden = rows.length <= PAGE;
    };
    const choose = () => {
      const tests = input.value.trim().split(/\s+/).filter(Boolean).map((word) => {
        const [, column, sign, value] = /^(.+?)(<=|>=|=|<|>)(.+)$/.exec(word) || [];
        const place = names.indexOf((column || "").toLowerCase());
        if (place < 0) {
          const part = word.toLowerCase();
          return (row) => words[row].includes(part);
        }
        const wantedValue = value !== "" && !Number.isNaN(Number(value)) ? Number(value) : value;
        return (row) => { const key = source.key(row, place); return key !== null && TESTS[sign](key, wantedValue); };
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
    forth.addEventListener("click", () => { start += PAGE; draw(); });
    draw();
  };
  for (const box of document.querySelectorAll("[data-sheet]")) sheet(box);
})();
