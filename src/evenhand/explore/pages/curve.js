"use strict";
// Draws how the outcomes of an individual and a twin change along one feature. Loaded before explore.js, whose
// helpers `at`, `made`, `cut` and `said` it uses once the page runs.

const SVG = "http://www.w3.org/2000/svg";
const HIGH = 260;
const PAD = { top: 20, right: 16, bottom: 44 };
const LETTER = 7; // about how wide a letter of an axis is
let drawn = null; // the curve that is shown, and where its cursor is

function shape(tag, options = {}, text = "") {
  const found = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(options)) found.setAttribute(name, String(value));
  if (text) found.textContent = text;
  return found;
}

function round(number) {
  if (typeof number !== "number") return String(number);
  return Number.isInteger(number) ? number.toLocaleString("en") : String(Number(number.toPrecision(3)));
}

// The axes

function heights(curve) {
  return curve.lines.flatMap((line) => line.heights).filter((height) => height !== null);
}

function range(curve) {
  if (curve.scale.kind === "probability") return [0, 1];
  const found = heights(curve);
  if (curve.scale.boundary !== null) found.push(curve.scale.boundary);
  for (const [height] of curve.scale.ticks) found.push(height);
  const low = Math.min(...found);
  const high = Math.max(...found);
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  return [low - room, high + room];
}

function upright(curve, low, high) {
  if (curve.scale.ticks.length) return curve.scale.ticks.map(([height, outcome]) => [height, cut(outcome, 16)]);
  if (curve.scale.kind === "probability") return [0, 0.25, 0.5, 0.75, 1].map((height) => [height, round(height)]);
  return [0, 1, 2, 3, 4].map((part) => low + ((high - low) * part) / 4).map((height) => [height, round(height)]);
}

function rounded(curve, most) {
  const [first, last] = [curve.positions[0], curve.positions.at(-1)];
  const rough = (last - first) / Math.max(1, most - 1) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((wide) => wide >= rough) || rough;
  const marks = [];
  for (let at = Math.ceil(first / step); at * step <= last; at += 1) marks.push([at * step, round(at * step)]);
  return marks;
}

function along(curve, width) {
  const numbers = !curve.level && typeof curve.values[0] === "number";
  const letters = Math.min(12, Math.max(...curve.values.map((value) => round(value).length)));
  const most = Math.max(2, Math.floor(width / ((letters + 2) * LETTER)));
  if (numbers && curve.values.length > 1) return rounded(curve, Math.min(most, 8));
  const last = curve.values.length - 1;
  const step = Math.max(1, Math.ceil(last / Math.max(1, most - 1)));
  const marks = [];
  for (let index = 0; index <= last; index += step) marks.push([curve.positions[index], cut(curve.values[index], 12)]);
  return marks;
}

// The drawing

function scales(curve, width, left) {
  const [low, high] = range(curve);
  const first = curve.positions[0];
  const span = curve.positions.at(-1) - first || 1;
  const inset = curve.level ? 24 : 8; // levels stand within, numbers reach from side to side
  const wide = width - left - PAD.right - 2 * inset;
  const tall = HIGH - PAD.top - PAD.bottom;
  return {
    low, high, left, right: width - PAD.right,
    x: (index) => left + inset + (wide * (curve.positions[index] - first)) / span,
    spot: (position) => left + inset + (wide * (position - first)) / span,
    y: (height) => PAD.top + tall * (1 - (height - low) / (high - low)),
  };
}

function edges(curve, on, index) {
  const here = on.x(index);
  const before = index ? (on.x(index - 1) + here) / 2 : Math.max(on.left, here - 8);
  const after = index < curve.values.length - 1 ? (here + on.x(index + 1)) / 2 : Math.min(on.right, here + 8);
  return [before, after];
}

function shades(curve, on) {
  const found = [];
  curve.differs.forEach((differs, index) => {
    if (!differs) return;
    const [start, stop] = edges(curve, on, index);
    const place = { x: start, y: PAD.top, width: Math.max(stop - start, 1), height: HIGH - PAD.top - PAD.bottom };
    found.push(shape("rect", { class: "apart", ...place }));
  });
  return found;
}

function path(curve, on, line, shift) {
  const steps = curve.scale.kind === "outcome";
  let text = "";
  let gap = true;
  line.heights.forEach((height, index) => {
    if (height === null) { gap = true; return; }
    const [start, stop] = edges(curve, on, index);
    const y = on.y(height) + shift;
    if (steps) text += `${gap ? "M" : "L"}${start} ${y}L${stop} ${y}`;
    else text += `${gap ? "M" : "L"}${on.x(index)} ${y}`;
    gap = false;
  });
  return text;
}

function dot(who, x, y, size) {
  if (who === "own") return shape("circle", { class: "dot own", cx: x, cy: y, r: size });
  return shape("rect", { class: "dot twin", x: x - size, y: y - size, width: 2 * size, height: 2 * size });
}

function lines(curve, on) {
  const found = [];
  ["own", "twin"].forEach((who, which) => {
    // Outcomes that are the same would hide each other.
    const shift = curve.scale.kind === "outcome" ? (which ? 3 : -3) : 0;
    const line = curve.lines[which];
    if (!curve.level) found.push(shape("path", { class: `line ${who}`, d: path(curve, on, line, shift) }));
    line.heights.forEach((height, index) => {
      const present = curve.present[which] === index;
      if (height === null || !(curve.level || present)) return;
      found.push(dot(who, on.x(index), on.y(height) + shift, present ? 6 : 4));
    });
  });
  return found;
}

function draw() {
  if (!drawn) return;
  const { curve } = drawn;
  const width = Math.max(260, at("plot").clientWidth);
  const [low, high] = range(curve);
  const ticks = upright(curve, low, high);
  const left = Math.min(width / 3, 14 + LETTER * Math.max(...ticks.map(([, text]) => text.length)));
  const on = scales(curve, width, left);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${HIGH}`, width, height: HIGH, "aria-hidden": "true" });
  svg.append(...shades(curve, on));
  for (const [height, text] of ticks) {
    svg.append(shape("line", { class: "grid", x1: left, x2: on.right, y1: on.y(height), y2: on.y(height) }));
    svg.append(shape("text", { class: "tick", x: left - 6, y: on.y(height) + 4, "text-anchor": "end" }, text));
  }
  for (const [position, text] of along(curve, on.right - left)) {
    svg.append(shape("text", { class: "tick", x: on.spot(position), y: HIGH - 24, "text-anchor": "middle" }, text));
  }
  const middle = (left + on.right) / 2;
  svg.append(shape("text", { class: "name", x: middle, y: HIGH - 5, "text-anchor": "middle" }, cut(curve.feature, 40)));
  if (curve.scale.boundary !== null) {
    const y = on.y(curve.scale.boundary);
    svg.append(shape("line", { class: "boundary", x1: left, x2: on.right, y1: y, y2: y }));
  }
  const present = curve.present[0];
  if (present !== null) {
    const x = on.x(present);
    svg.append(shape("line", { class: "present", x1: x, x2: x, y1: PAD.top, y2: HIGH - PAD.bottom }));
    const anchor = x > on.right - 40 ? "end" : "start";
    svg.append(shape("text", { class: "tick", x: x + (anchor === "end" ? -5 : 5), y: PAD.top - 3, "text-anchor": anchor }, "now"));
  }
  svg.append(...lines(curve, on));
  drawn.on = on;
  drawn.cursor = shape("line", { class: "cursor", y1: PAD.top, y2: HIGH - PAD.bottom });
  svg.append(drawn.cursor);
  at("plot").replaceChildren(svg);
  point(drawn.index);
}

// What is told of the value under the cursor

function number(curve, line, index) {
  const outcome = line.outcomes[index];
  const height = line.heights[index];
  if (outcome === null) return "no valid input";
  const scored = curve.scale.kind === "probability" || curve.scale.kind === "score";
  return scored && height !== null ? `${cut(outcome, 40)} (${round(height)})` : cut(round(outcome), 40);
}

function told_at(curve, index) {
  const [own, other] = curve.lines.map((line) => number(curve, line, index));
  const differs = curve.differs[index] ? ", which differ" : "";
  return `${cut(curve.feature, 40)} ${cut(curve.values[index], 40)}: the individual ${own}, its twin ${other}${differs}`;
}

function point(index) {
  const { curve, on, cursor } = drawn;
  drawn.index = Math.min(Math.max(index, 0), curve.values.length - 1);
  const x = on.x(drawn.index);
  cursor.setAttribute("x1", String(x));
  cursor.setAttribute("x2", String(x));
  const text = told_at(curve, drawn.index);
  const plot = at("plot");
  plot.setAttribute("aria-valuemax", String(curve.values.length - 1));
  plot.setAttribute("aria-valuenow", String(drawn.index));
  plot.setAttribute("aria-valuetext", text);
  at("reading").textContent = text;
}

function pointed(event) {
  if (!drawn) return;
  const x = event.clientX - at("plot").getBoundingClientRect().left;
  const places = drawn.curve.values.map((_, index) => Math.abs(drawn.on.x(index) - x));
  point(places.indexOf(Math.min(...places)));
}

function steered(event) {
  if (!drawn) return;
  const last = drawn.curve.values.length - 1;
  const wanted = {
    ArrowLeft: drawn.index - 1, ArrowDown: drawn.index - 1, ArrowRight: drawn.index + 1, ArrowUp: drawn.index + 1,
    PageDown: drawn.index - 5, PageUp: drawn.index + 5, Home: 0, End: last,
  }[event.key];
  if (wanted === undefined) return;
  event.preventDefault();
  point(wanted);
}

// What stands around the drawing

function stretches(curve) {
  const found = [];
  curve.differs.forEach((differs, index) => {
    if (!differs) return;
    const last = found.at(-1);
    if (last && last[1] === index - 1) last[1] = index;
    else found.push([index, index]);
  });
  const text = ([start, stop]) => {
    const [first, end] = [cut(curve.values[start], 40), cut(curve.values[stop], 40)];
    return start === stop ? first : curve.level ? `${first} to ${end}, in their order` : `${first} to ${end}`;
  };
  return curve.level
    ? curve.values.filter((_, index) => curve.differs[index]).map((value) => cut(value, 40))
    : found.map(text);
}

function verdict(curve) {
  const apart = curve.differs.filter((differs) => differs).length;
  const both = curve.differs.filter((differs) => differs !== null).length;
  const name = cut(curve.feature, 60);
  if (!apart) return `The two get the same outcome at each of the ${both} values of ${name} that were asked.`;
  const where = stretches(curve);
  const shown = where.slice(0, 6).join("; ") + (where.length > 6 ? "; …" : "");
  return `The two get different outcomes at ${apart} of ${both} values of ${name}: ${shown}.`;
}

function heightName(curve) {
  const { kind, of, boundary } = curve.scale;
  const outcome = of === "unknown" ? "one of the two outcomes" : `the outcome ${cut(of, 40)}`;
  if (kind === "probability") return `Height: the probability of ${outcome}; decided at ${round(boundary)}, the dashed line.`;
  if (kind === "score") return `Height: the score of ${outcome}; decided at ${round(boundary)}, the dashed line.`;
  if (kind === "number") return "Height: the number that the software gives.";
  return "Height: the outcome, since the software gives no score here.";
}

function table(curve) {
  const heads = [curve.feature, "Individual", "Twin", "Compared"];
  at("curve-head").replaceChildren(...heads.map((head) => made("th", { scope: "col", role: "columnheader" }, said(head, 60))));
  at("curve-body").replaceChildren(...curve.values.map((value, index) => {
    const apart = curve.differs[index];
    const word = apart === null ? "not compared" : apart ? "≠ differs" : "= same";
    const cells = [value, ...curve.lines.map((line) => number(curve, line, index))].map(
      (cell, column) => made("td", { role: "cell", "data-who": heads[column] }, said(cell, 80)),
    );
    const last = made("td", { role: "cell" }, made("span", { class: "word", text: word }));
    return made("tr", { role: "row", class: apart ? "differs" : "" }, ...cells, last);
  }));
}

function showCurve(curve, level) {
  curve.level = level;
  const index = curve.present[0] === null ? 0 : curve.present[0];
  drawn = { curve, index };
  at("curve-found").hidden = false;
  at("curve-verdict").textContent = verdict(curve);
  at("curve-verdict").className = curve.differs.includes(true) ? "bad" : "";
  at("curve-height").textContent = heightName(curve);
  at("curve-notes").replaceChildren(...curve.notes.map((note) => made("li", { text: note })));
  table(curve);
  draw();
}

function hideCurve() {
  drawn = null;
  at("curve-found").hidden = true;
}

function readyCurve() {
  const plot = at("plot");
  plot.addEventListener("pointermove", pointed);
  plot.addEventListener("pointerdown", pointed);
  plot.addEventListener("keydown", steered);
  new ResizeObserver(draw).observe(plot);
}
