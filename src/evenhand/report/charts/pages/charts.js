"use strict";
// Charts: one tab stop for each, arrow keys between its marks, numbers beside them, series to switch.
(() => {
  const tip = document.createElement("div");
  tip.className = "chart-tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true"); // the mark itself is named
  document.body.append(tip);
  let shown = null;
  const hide = () => { tip.hidden = true; shown = null; };
  const place = () => {
    if (!shown) return;
    const mark = shown;
    const at = (mark.querySelector("[data-spot]") || mark).getBoundingClientRect();
    const box = tip.getBoundingClientRect();
    const room = document.documentElement.clientWidth - box.width - 8;
    const left = at.left + at.width / 2 - box.width / 2;
    const above = at.top - box.height - 8;
    tip.style.left = `${Math.max(8, Math.min(left, room))}px`;
    tip.style.top = `${above > 0 ? above : at.bottom + 8}px`;
  };
  const show = (mark) => {
    shown = mark;
    tip.textContent = mark.chartText;
    tip.hidden = false;
    place();
  };
  // The text of a mark is its native tooltip, which would stand beside ours.
  const textOf = (mark) => {
    const title = mark.querySelector(":scope > title");
    const text = title ? title.textContent : mark.getAttribute("title");
    if (title) title.remove();
    mark.removeAttribute("title");
    return text || "";
  };
  const chart = (figure) => {
    const marks = [...figure.querySelectorAll("[data-mark]")];
    for (const drawing of figure.querySelectorAll("svg[role=img][data-drawing]")) drawing.setAttribute("role", "group");
    for (const box of figure.querySelectorAll("[data-scroll]")) box.removeAttribute("tabindex"); // its marks scroll it
    const open = () => marks.filter((mark) => !mark.classList.contains("chart-off"));
    const only = (stop) => { for (const mark of marks) mark.setAttribute("tabindex", mark === stop ? 0 : -1); };
    const across = Number(figure.querySelector("[data-across]")?.dataset.across || 1);
    for (const mark of marks) {
      mark.chartText = textOf(mark);
      if (mark instanceof SVGElement) mark.setAttribute("role", "img");
      else if (mark.localName !== "td") mark.setAttribute("role", "group");
      if (mark.localName !== "td") mark.setAttribute("aria-label", mark.chartText);
      mark.addEventListener("pointerenter", () => show(mark));
      mark.addEventListener("pointerleave", hide);
      mark.addEventListener("focus", () => { only(mark); show(mark); });
      mark.addEventListener("blur", hide);
    }
    only(marks[0]);
    figure.addEventListener("keydown", (event) => {
      const seen = open();
      const place = seen.indexOf(event.target);
      if (place < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
      const steps = { ArrowRight: 1, ArrowDown: across, ArrowLeft: -1, ArrowUp: -across, Home: -seen.length, End: seen.length };
      if (event.key === "Escape") hide();
      if (!(event.key in steps)) return;
      event.preventDefault();
      const ends = event.key === "Home" || event.key === "End" || across === 1;
      const wanted = place + steps[event.key];
      const next = ends ? Math.max(0, Math.min(wanted, seen.length - 1)) : wanted;
      if (seen[next]) seen[next].focus();
    });
    for (const key of figure.querySelectorAll("[data-key]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.append(...key.childNodes);
      key.append(button);
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(on));
        for (const part of figure.querySelectorAll(`[data-series="${key.dataset.key}"]`)) part.classList.toggle("chart-off", !on);
        if (!open().some((mark) => mark.getAttribute("tabindex") === "0")) only(open()[0]);
      });
    }
  };
  for (const figure of document.querySelectorAll("figure.chart")) chart(figure);
  addEventListener("scroll", place, { passive: true, capture: true });
})();
