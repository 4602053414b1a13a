"use strict";
// Values of data reach the page as text only: nothing here makes markup from a string.

const PAUSE = 250;
const MOST_OPTIONS = 50;
const at = (id) => document.getElementById(id);
const fields = new Map(); // feature -> {read, write, control}
const kept = new Set();
let space = null;
let place = -1; // which case of the result is shown
let twin = null; // the twin of that case, as long as nothing was edited
let told = null; // the last answer
let timer = 0;
let busy = false;
let stale = false;

function made(tag, options = {}, ...children) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") found.textContent = value;
    else if (name === "class") found.className = value;
    else found.setAttribute(name, value);
  }
  found.append(...children);
  return found;
}

// Long values are cut where they are shown; the form and the copy have all of them.
function cut(value, most = 300) {
  const text = value === "" ? "(empty)" : String(value);
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length.toLocaleString("en")} characters)`;
}

// What the user calls a value; the software gets the value itself.
const wordOf = (words, value) => (words && Object.hasOwn(words, String(value)) ? words[String(value)] : value);
const named = (name, value) => wordOf(space.features.find((one) => one.name === name)?.labels, value);
const said = (value, most) => made("bdi", { text: cut(value, most) });

function around(text) {
  const start = Math.max(text.indexOf("⟦") - 200, 0);
  return (start ? "…" : "") + text.slice(start, start + 400) + (start + 400 < text.length ? "…" : "");
}

async function called(path, sent) {
  const how = sent === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(sent),
  };
  let answer;
  try {
    answer = await fetch(path, how);
  } catch {
    throw new Error("The page cannot reach evenhand any more; start evenhand explore again.");
  }
  let found = {};
  try { found = await answer.json(); } catch { /* an answer without content */ }
  if (answer.status === 403) {
    throw new Error("This page is of an earlier visit; open the address that evenhand explore printed last.");
  }
  if (!answer.ok) {
    const error = new Error(found.error || `evenhand answered with status ${answer.status}`);
    error.features = found.features || [];
    throw error;
  }
  return found;
}

// The form

function drawForm() {
  const form = at("form");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", edited);
  if (space.kind === "texts") {
    const names = Object.entries(space.lexicon).map(([name, terms]) => `${name} (${terms.length} terms)`);
    form.append(drawField({ name: "text", kind: "text", label: "Text" }, 0, `Looked for: ${names.join(", ")}`));
    return;
  }
  const groups = [["Protected features", true], ["Other features", false]];
  for (const [title, wanted] of groups) {
    const some = space.features.filter((feature) => feature.protected === wanted);
    if (!some.length) continue;
    const group = made("fieldset", {}, made("legend", { text: title }));
    for (const feature of some) group.append(drawField(feature, space.features.indexOf(feature)));
    form.append(group);
  }
  if (space.constraints.length) {
    const list = made("ul", { class: "muted value" });
    for (const constraint of space.constraints) list.append(made("li", {}, said(constraint)));
    form.append(made("fieldset", {}, made("legend", { text: "Constraints" }), list));
  }
}

function drawField(feature, index, hint = "") {
  const id = `feature-${index}`;
  const few = feature.levels !== undefined && feature.levels.length <= MOST_OPTIONS;
  let control;
  let extra = [];
  if (feature.kind === "text") {
    control = made("textarea", { id, dir: "auto", spellcheck: "false" });
    fields.set(feature.name, { control, read: () => control.value, write: (value) => { control.value = value; } });
  } else if (few) {
    control = made("select", { id });
    feature.levels.forEach((level, code) => {
      control.append(made("option", { value: String(code), text: cut(wordOf(feature.labels, level), 80) }));
    });
    fields.set(feature.name, {
      control,
      read: () => feature.levels[Number(control.value)],
      write: (value) => { control.value = String(feature.levels.indexOf(value)); },
    });
  } else if (feature.kind === "category") {
    const list = made("datalist", { id: `${id}-levels` });
    for (const level of feature.levels) list.append(made("option", { value: String(level) }));
    control = made("input", { id, type: "text", list: `${id}-levels`, dir: "auto" });
    extra = [list];
    hint = `one of ${feature.levels.length.toLocaleString("en")} levels`;
    fields.set(feature.name, {
      control,
      read: () => {
        const found = feature.levels.find((level) => String(level) === control.value);
        return found === undefined ? control.value : found;
      },
      write: (value) => { control.value = String(value); },
    });
  } else {
    const step = feature.step === null ? "any" : String(feature.step);
    const isDate = feature.kind === "date";
    const type = isDate ? "date" : "number";
    control = made("input", { id, type, min: feature.low, max: feature.high, step });
    hint = feature.missing ? `${feature.domain}, or empty for unknown` : feature.domain;
    fields.set(feature.name, {
      control,
      // A date is its text; as a number it would be milliseconds.
      read: () => (!isDate && Number.isFinite(control.valueAsNumber) ? control.valueAsNumber : control.value),
      write: (value) => { control.value = value === "unknown" ? "" : String(value); },
    });
  }
  if (feature.passed === false) hint = `${hint ? `${hint}; ` : ""}not passed to the software`;
  const label = made("label", { for: id }, said(feature.label || feature.name, 120));
  const field = made("div", { class: "field" }, label, control, ...extra);
  if (hint) {
    control.setAttribute("aria-describedby", `${id}-hint`);
    field.append(made("div", { class: "hint", id: `${id}-hint`, text: hint }));
  }
  return field;
}

function individual() {
  return Object.fromEntries([...fields].map(([name, field]) => [name, field.read()]));
}

function write(values) {
  for (const [name, field] of fields) if (Object.hasOwn(values, name)) field.write(values[name]);
}

function edited() {
  twin = null;
  at("linked").hidden = true;
  if (drawn) at("curve-state").textContent = "The individual was edited since; draw the curve again.";
  if (place >= 0) at("place").textContent = `case ${place + 1} of ${space.cases}, edited`;
  state("asking…", true);
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
}

// Answers

function state(text, waiting) {
  at("state").textContent = text;
  at("answer").setAttribute("aria-busy", String(waiting));
}

async function ask() {
  if (busy) { stale = true; return; } // one question at a time: the software may be slow
  busy = true;
  state("asking…", true);
  try {
    const asked = { individual: individual() };
    if (twin) asked.twin = twin;
    const answer = await called("decide", asked);
    if (!stale) show(answer);
  } catch (error) {
    if (!stale) fail(error);
  }
  busy = false;
  if (stale) { stale = false; ask(); }
}

function mark(names) {
  for (const [name, field] of fields) {
    if (names.includes(name)) field.control.setAttribute("aria-invalid", "true");
    else field.control.removeAttribute("aria-invalid");
  }
}

function complain(text) {
  at("error").textContent = text;
  at("error").hidden = !text;
}

function fail(error) {
  told = null;
  at("curve").hidden = true;
  mark(error.features || []);
  complain(error.message);
  at("outcomes").replaceChildren();
  at("summary").textContent = "";
  at("notes").replaceChildren();
  at("scroll").hidden = true;
  state("no answer", false);
}

function judged(outcome) {
  if (outcome.favourable === null) return null;
  const good = outcome.favourable;
  return made("p", { class: `judged ${good ? "good" : "bad"}`, text: good ? "✓ favourable" : "✗ not favourable" });
}

function show(answer) {
  told = answer;
  mark([]);
  complain("");
  at("outcomes").replaceChildren(...answer.outcomes.map((outcome) => {
    const one = made("div", { class: "one" });
    if (outcome.output) one.append(made("p", { class: "muted" }, said(outcome.output)));
    const long = String(outcome.shown ?? outcome.value).length > 24;
    one.append(made("p", { class: long ? "big long" : "big" }, said(outcome.shown ?? outcome.value)));
    const word = judged(outcome);
    if (word) one.append(word);
    return one;
  }));
  const { asked, executed } = answer.spent;
  const count = (number) => number.toLocaleString("en");
  state(`answered (${count(asked)} asked, ${count(executed)} run so far)`, false);
  const differing = answer.twins.filter((one) => one.differs).length;
  const twins = answer.twins.length === 1 ? "twin gets" : "twins get";
  const summary = at("summary");
  summary.className = differing ? "differs" : "";
  summary.textContent = !answer.twins.length ? "There is no twin to compare with."
    : differing ? `≠ ${differing} of ${answer.twins.length} ${twins} another outcome.`
    : answer.twins.length === 1 ? "= The only twin gets the same outcome."
    : `= All ${answer.twins.length} twins get the same outcome.`;
  at("notes").replaceChildren(...answer.notes.map((note) => made("li", { text: note })));
  at("scroll").hidden = !answer.twins.length;
  const heads = ["Changed", ...answer.outcomes.map((outcome) => outcome.output || "Outcome"), "Compared", "Actions"];
  at("head").replaceChildren(...heads.map((head) => made("th", { scope: "col", role: "columnheader" }, said(head, 60))));
  at("body").replaceChildren(...answer.twins.map((one) => row(answer, one)));
  offer(answer);
}

// The curve

function brief(answer, one) {
  const changes = one.changed.map((name) => (
    `${name}: ${named(name, answer.individual[name])} → ${named(name, one.individual[name])}`));
  return cut(changes.join(", "), 80) + (one.differs ? " (differs)" : "");
}

function offer(answer) {
  const other = space.kind === "inputs" && answer.twins.length > 0;
  at("curve").hidden = !other;
  if (!other) return;
  const choice = at("curve-twin");
  const same = twin && answer.twins.findIndex((one) => space.features.every((feature) => (
    one.individual[feature.name] === twin[feature.name])));
  choice.replaceChildren(...answer.twins.map((one, index) => made("option", { value: String(index), text: brief(answer, one) })));
  choice.value = String(Math.max(same || 0, 0));
}

function choices() {
  if (space.kind !== "inputs") return;
  // Along a protected feature the two would become each other.
  const ordered = [...space.features].sort((one, other) => one.protected - other.protected);
  at("curve-feature").append(...ordered.map((feature) => made("option", {
    value: String(space.features.indexOf(feature)), text: cut(feature.label || feature.name, 80),
  })));
  at("curve-output").append(...space.outputs.map((output, index) => made("option", { value: String(index), text: cut(output.name, 80) })));
  at("curve-outputs").hidden = space.outputs.length < 2;
  at("draw").addEventListener("click", curved);
  readyCurve();
}

async function curved() {
  if (!told || at("draw").getAttribute("aria-disabled") === "true") return;
  off(at("draw"), true);
  at("curve-state").textContent = "asking…";
  const feature = space.features[Number(at("curve-feature").value)];
  const asked = {
    individual: told.individual,
    twin: told.twins[Number(at("curve-twin").value)].individual,
    feature: feature.name,
    output: space.outputs[Number(at("curve-output").value)].name,
  };
  try {
    const before = told.spent.asked;
    const answer = await called("curve", asked);
    const { executed } = answer.spent;
    const count = answer.spent.asked - before;
    showCurve(answer, feature.levels !== undefined);
    if (told) told.spent = answer.spent;
    const text = (number) => number.toLocaleString("en");
    at("curve-state").textContent = `${text(count)} asked for this curve (${text(answer.spent.asked)} asked, ${text(executed)} run so far)`;
  } catch (error) {
    hideCurve();
    at("curve-state").textContent = error.message;
  }
  off(at("draw"), false);
}

function change(answer, one) {
  if (one.shown) {
    const [own, other, text] = one.shown;
    const terms = made("div", {}, said(`${one.changed.join(", ")}: `), said(own), " → ", made("ins", {}, said(other)));
    return other ? [terms, made("div", { class: "muted" }, said(around(text), 500))] : [made("div", {}, said(text))];
  }
  return one.changed.map((name) => made(
    "div", {}, said(name, 60), ": ", said(named(name, answer.individual[name]), 120), " → ",
    made("ins", {}, said(named(name, one.individual[name]), 120)),
  ));
}

function row(answer, one) {
  // Roles, since a narrow page draws rows as blocks, which are no table to a browser.
  const found = made("tr", { role: "row", class: one.differs ? "differs" : "" });
  const what = made("td", { role: "cell" }, ...change(answer, one));
  found.append(what);
  for (const outcome of one.outcomes) {
    const cell = made("td", { role: "cell" }, made("div", {}, said(outcome.shown ?? outcome.value)));
    const word = judged(outcome);
    if (word) cell.append(word);
    found.append(cell);
  }
  found.append(made("td", { role: "cell" }, made("span", { class: "word", text: one.differs ? "≠ differs" : "= same" })));
  const short = what.textContent.slice(0, 120);
  const open = made("button", { type: "button", "aria-label": `Edit this twin: ${short}`, text: "Edit twin" });
  open.addEventListener("click", () => {
    write(one.individual);
    edited();
    [...fields.values()][0].control.focus(); // the button is about to go
  });
  const acts = made("td", { role: "cell", class: "acts" }, open);
  if (one.differs) {
    const key = JSON.stringify([answer.individual, one.individual]);
    const save = made("button", { type: "button", "aria-label": `Save this pair: ${short}`, text: "Save this pair" });
    if (kept.has(key)) done(save);
    save.addEventListener("click", () => saved(save, key, answer.individual, one.individual));
    acts.append(save);
  }
  found.append(acts);
  return found;
}

function off(button, whether) {
  button.setAttribute("aria-disabled", String(whether)); // unlike a disabled one, it keeps the focus
}

function done(button) {
  off(button, true);
  button.textContent = "✓ Saved";
  button.setAttribute("aria-label", "This pair is saved");
}

async function saved(button, key, person, other) {
  if (button.getAttribute("aria-disabled") === "true") return;
  off(button, true);
  try {
    const answer = await called("save", { individual: person, twin: other });
    kept.add(key);
    at("saved").textContent = answer.saved.toLocaleString("en");
    complain("");
    done(button);
    state(answer.new ? "the pair is saved" : "this pair was saved before", false);
  } catch (error) {
    off(button, false);
    complain(error.message);
  }
}

// Cases

async function walk(step) {
  const wanted = place + step;
  if (wanted < 0 || wanted >= space.cases) return;
  place = wanted;
  let found;
  try {
    found = (await called(`cases?from=${wanted}&count=1`)).cases[0];
  } catch (error) {
    complain(error.message);
    return;
  }
  if (place !== wanted) return; // somebody was faster
  at("place").textContent = `case ${place + 1} of ${space.cases.toLocaleString("en")}`;
  off(at("previous"), place === 0);
  off(at("next"), place === space.cases - 1);
  const doubt = found.unusual ? ` (${found.unusual})` : "";
  at("claim").textContent = `Recorded: ${cut(found.change)}${doubt}. Case ${found.id} of: ${cut(found.claim)}.`;
  at("linked").hidden = true;
  hideCurve();
  at("curve-state").textContent = "";
  current();
  write(found.individual);
  twin = found.twin;
  clearTimeout(timer);
  ask();
}

function current() {
  [...at("cases").children].forEach((item, index) => item.setAttribute("aria-current", String(index === place)));
}

async function listed() {
  const first = at("cases").children.length;
  if (!at("list").open || (first && !at("more").dataset.wanted)) return;
  delete at("more").dataset.wanted;
  let some;
  try {
    some = await called(`cases?from=${first}&count=100`);
  } catch (error) {
    complain(error.message);
    return;
  }
  if (at("cases").children.length !== first) return; // somebody was faster
  some.cases.forEach((one, index) => {
    const button = made("button", { type: "button", text: cut(one.text, 240) });
    button.addEventListener("click", () => walk(first + index - place));
    at("cases").append(made("li", {}, button));
  });
  at("more").hidden = at("cases").children.length >= some.total;
  current();
}

// A link of a report: what stands behind the # was written by anybody.

const KEPT = "evenhand.token";
const MOST_LETTERS = 64 * 1024;

function keep() {
  try {
    localStorage.setItem(KEPT, location.pathname.split("/")[1]);
  } catch { /* a browser that keeps nothing opens no links */ }
}

function unpacked(letters) {
  if (letters.length > MOST_LETTERS || !/^[A-Za-z0-9_-]+$/.test(letters)) throw new Error("no case");
  const bytes = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  const found = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  return { individual: found.individual, twin: found.twin };
}

async function linked() {
  const [name, letters] = location.hash.split("=", 2);
  if (name !== "#case") return false;
  // A reload begins anew, and the values do not stay in the address.
  history.replaceState(null, "", location.pathname);
  let sent;
  try {
    sent = unpacked(letters || "");
  } catch {
    complain("The link to a case is damaged: open the report again, or copy the whole link.");
    return false;
  }
  let found;
  try {
    found = await called("link", sent);
  } catch (error) {
    complain(error.message);
    return false;
  }
  if (found.place !== null) {
    await walk(found.place - place);
    return true;
  }
  write(found.individual);
  clearTimeout(timer);
  told = null;
  twin = found.twin;
  at("outcomes").replaceChildren();
  at("summary").textContent = "";
  at("scroll").hidden = true;
  at("curve").hidden = true;
  at("linked").hidden = false;
  if (place >= 0) at("place").textContent = `${space.cases.toLocaleString("en")} cases`;
  place = -1;
  current();
  state("not asked yet", false);
  return true;
}

async function moved() {
  await linked();
}

// The rest

function themed() {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => { at("theme").textContent = dark() ? "Light theme" : "Dark theme"; };
  at("theme").addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  system.addEventListener("change", name);
  name();
}

async function copied() {
  const short = (one) => ({ ...one, outcomes: one.outcomes.map(({ output, value }) => ({ output, value })) });
  const table = told === null ? { individual: individual() } : {
    individual: told.individual,
    outcomes: told.outcomes.map(({ output, value }) => ({ output, value })),
    twins: told.twins.filter((one) => one.differs).map(short),
  };
  try {
    await navigator.clipboard.writeText(JSON.stringify(table, null, 2));
    at("copy").textContent = "✓ Copied";
    setTimeout(() => { at("copy").textContent = "Copy as JSON"; }, 2000);
  } catch {
    complain("The browser does not let this page copy; allow it to use the clipboard.");
  }
}

async function begin() {
  themed();
  keep();
  at("copy").addEventListener("click", copied);
  at("previous").addEventListener("click", () => walk(-1));
  at("next").addEventListener("click", () => walk(1));
  try {
    space = await called("space");
  } catch (error) {
    fail(error);
    return;
  }
  at("software").textContent = space.title || space.software;
  at("saved").textContent = space.saved.toLocaleString("en");
  at("file").textContent = space.file;
  const outputs = space.outputs.filter((output) => output.favoured !== null);
  if (outputs.length) at("outcome-title").title = `favourable: ${outputs.map((one) => one.favoured).join(", ")}`;
  drawForm();
  choices();
  write(space.start);
  at("walk").hidden = !space.cases;
  at("list").addEventListener("toggle", listed);
  at("more").addEventListener("click", () => { at("more").dataset.wanted = "yes"; listed(); });
  at("ask").addEventListener("click", () => { at("linked").hidden = true; ask(); });
  window.addEventListener("hashchange", moved);
  if (!(await linked())) {
    const damage = at("error").textContent;
    if (space.cases) await walk(space.begin - place);
    else await ask();
    complain(damage || at("error").textContent);
  }
  if (space.notes.length) at("notes").append(...space.notes.map((note) => made("li", { text: note })));
}

begin();
