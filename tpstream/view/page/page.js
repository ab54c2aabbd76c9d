// The page: header, figures, tables, keys, and the one selection that all figures follow.

const byId = (id) => document.getElementById(id);
const updates = []; // what is done besides drawing when the selection changes

function setRange(from, to) {
  const least = (state.end - state.begin) / 20000, width = Math.min(Math.max(to - from, least), state.end - state.begin);
  const middle = (from + to) / 2, start = Math.min(Math.max(middle - width / 2, state.begin), state.end - width);
  Object.assign(state, { from: start, to: start + width });
  changed();
}
function zoom(factor) {
  const middle = state.hover ?? (state.from + state.to) / 2, share = (middle - state.from) / (state.to - state.from), width = (state.to - state.from) * factor;
  setRange(middle - width * share, middle + width * (1 - share));
}
function setArm(name) {
  state.arm = state.arm === name ? null : name;
  changed();
}
function changed() {
  for (const update of updates) update();
  redraw();
}
function showPull(number, pull) {
  if (pull === null || pull === undefined) return;
  const log = page.logs[number], found = log.findPull(pull);
  state.pull = { log: number, ...found };
  changed();
}

function fillTable({ head, rows }) {
  const cells = (row, name) => element("tr", {}, ...row.map((text) => element(name, {}, String(text))));
  return element("div", { class: "scroll" }, element("table", {}, element("thead", {}, cells(head, "th")), element("tbody", {}, ...rows.map((row) => cells(row, "td")))));
}
function lazyTable(title, make) {
  const box = element("div"), details = element("details", {}, element("summary", {}, title), box);
  const fill = () => { if (details.open) box.replaceChildren(make()); };
  details.addEventListener("toggle", fill);
  updates.push(fill);
  return details;
}

function buildAbout() {
  const several = page.logs.length > 1;
  byId("title").textContent = several ? `${[...new Set(page.logs.map((log) => log.scenario))].join(", ")}: ${page.logs.map((log) => log.label).join(" | ")}` : page.logs[0].title;
  const box = byId("about");
  box.className = "columns";
  for (const log of page.logs) {
    const facts = element("dl", {}, ...log.facts.flatMap(([word, text]) => [element("dt", {}, word), element("dd", {}, text)]));
    const notes = element("div", { class: "note" }, ...log.notes.map((note) => element("p", note.startsWith("The log is not complete") ? { class: "warn" } : {}, note)));
    box.append(element("div", {}, ...(several ? [element("h3", {}, log.label)] : []), facts, notes));
  }
}
function buildArms() {
  const buttons = page.names.map((name) => {
    const dot = element("i"), button = element("button", { type: "button", class: "arm", title: name, onclick: () => setArm(name) }, dot, element("span", {}, name));
    updates.push(() => {
      dot.style.background = colourOf(name);
      button.setAttribute("aria-pressed", String(state.arm === name));
      button.classList.toggle("dim", state.arm !== null && state.arm !== name);
    });
    return button;
  });
  byId("arms").append(...buttons);
}
function buildFigure(figure) {
  const logs = figure.single ? page.logs.slice(0, 1) : page.logs, across = logs.length > 1 ? (logs.length === 2 || logs.length === 4 ? " two" : " three") : "", rows = element("div");
  const own = [], about = element("p", { class: "quiet" });
  const specs = logs.map((log) => ((figure.missing && figure.missing(log)) ? [] : figure.panels(log)));
  for (let row = 0; row < Math.max(...specs.map((list) => list.length)); row++) {
    const grid = element("div", { class: `panels${across}` });
    rows.append(grid);
    logs.forEach((log, number) => {
      const spec = specs[number][row];
      if (!spec) { grid.append(element("div")); return; }
      const panel = new Panel(log, spec), heading = panel.node.firstChild;
      own.push(panel);
      updates.push(() => { heading.textContent = (logs.length > 1 ? `${log.label}: ` : "") + (spec.name ? spec.name(log) : spec.title); });
      grid.append(panel.node);
    });
  }
  updates.push(() => { about.textContent = figure.about(logs[0]); });
  const missing = logs.map((log) => figure.missing && figure.missing(log)).filter(Boolean).map((text) => element("p", { class: "note" }, text));
  const head = element("div", { class: "head" }, element("h2", {}, figure.title), ...(own.length ? [saveButtons(figure, own)] : []));
  const section = element("section", { id: figure.id }, head, ...(own.length ? [about] : []), ...missing);
  if (figure.choices && own.length) {
    const buttons = figure.choices().map(([key, value, text]) => {
      const button = element("button", { type: "button", onclick: () => { heatChoice[key] = value; changed(); } }, text);
      updates.push(() => button.setAttribute("aria-pressed", String(heatChoice[key] === value)));
      return button;
    });
    section.append(element("div", { class: "choices" }, ...buttons));
  }
  section.append(rows);
  const titled = (title, log) => `${title}${logs.length > 1 ? `: ${log.label}` : ""}`;
  for (const log of logs.filter((one) => !(figure.missing && figure.missing(one)))) section.append(lazyTable(titled("Table", log), () => fillTable(figure.table(log))));
  for (const log of figure.extra ? logs.filter((one) => figure.extra(one)) : []) {
    section.append(lazyTable(titled(figure.extra(log)[0], log), () => fillTable(figure.extra(log)[1])));
  }
  byId("main").append(section);
}
function buildPull() {
  const panel = new Panel(page.logs[0], life), words = element("div", { "aria-live": "polite", id: "story" }), decision = element("div", { id: "decision" });
  const step = (by) => () => stepPull(by);
  const before = element("button", { type: "button", onclick: step(-1) }, "← previous"), after = element("button", { type: "button", onclick: step(1) }, "next →");
  const head = element("div", { class: "head" }, element("h2", {}, "One pull's life"), element("div", { class: "choices" }, before, after, saveButtons({ id: "pull", title: "One pull's life" }, [panel])));
  const about = element("p", { class: "quiet" }, "Bars are parts at the time of their arrival: in the arm's colour if credited, red if too late; those that arrive together are stacked, and crosses are lost parts. Click a figure above, or type a number into the search, to see another pull.");
  const parts = lazyTable("Table of the parts", () => fillTable(current() ? partTable(current()) : { head: [], rows: [] }));
  byId("main").append(element("section", { id: "pull" }, head, about, words, panel.node, decision, parts));
  updates.push(() => {
    const one = current();
    if (one) panel.log = one.log;
    panel.node.firstChild.textContent = life.name(panel.log);
    words.replaceChildren(...(!one ? ["This log has no pull."] : one.known ? story(one) : [unknownPull(one)]).map((text) => element("p", {}, text)));
    const table = one && one.known ? decisionTable(one) : null;
    decision.replaceChildren(...(table ? [fillTable(table)] : []));
  });
}
function unknownPull(one) {
  const why = page.live ? ", which holds a sample of them." : `, which lists one pull in ${one.log.step}. Make the page again with --pull ${one.pull}.`;
  return `Pull ${one.pull.toLocaleString("en")} is not in this page${why}`;
}
function stepPull(by) {
  if (!state.pull) return;
  const log = page.logs[state.pull.log], numbers = log.array("parts.pull"), place = lowerBound(numbers, state.pull.pull);
  const next = numbers[place] === state.pull.pull || by < 0 ? place + by : place;
  if (next >= 0 && next < numbers.length) showPull(state.pull.log, numbers[next]);
}

function listen() {
  byId("closer").onclick = () => zoom(0.5);
  byId("wider").onclick = () => zoom(2);
  byId("whole").onclick = () => { state.arm = null; setRange(state.begin, state.end); };
  byId("keys").onclick = () => byId("help").showModal();
  byId("theme").onclick = () => { document.documentElement.dataset.theme = theme().dark ? "light" : "dark"; changed(); };
  byId("search").onsubmit = (event) => {
    event.preventDefault();
    const pull = Number(byId("number").value.replace(/[ ,.]/g, "")), log = page.logs[state.pull ? state.pull.log : 0];
    const right = Number.isInteger(pull) && pull >= 1 && pull <= log.pulls;
    byId("number").setCustomValidity(right ? "" : `a whole number from 1 to ${log.pulls}`);
    if (!byId("number").reportValidity()) return;
    showPull(log.number, pull);
    byId("pull").scrollIntoView({ block: "start" });
  };
  byId("number").oninput = () => byId("number").setCustomValidity("");
  addEventListener("keydown", (event) => {
    if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const width = state.to - state.from;
    const keys = {
      ArrowLeft: () => setRange(state.from - width / 4, state.to - width / 4), ArrowRight: () => setRange(state.from + width / 4, state.to + width / 4),
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), Escape: () => { state.arm = null; setRange(state.begin, state.end); },
      "/": () => byId("number").focus(), "?": () => byId("help").showModal(), n: () => stepPull(1), p: () => stepPull(-1),
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  addEventListener("resize", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  addEventListener("beforeprint", () => { state.print = true; drawAll(); });
  addEventListener("afterprint", () => { state.print = false; drawAll(); });
}

// Give the logs of the page their names; the same policy may be there twice.
function nameLogs() {
  const labels = page.logs.map((log) => log.policy);
  page.logs.forEach((log, i) => { log.label = labels.indexOf(log.policy) === labels.lastIndexOf(log.policy) ? log.policy : `${log.policy} (${i + 1})`; });
  page.names = [...new Set(page.logs.flatMap((log) => log.arms))];
}
// The whole time of all logs that have any; if all of it was shown before, all of it is shown.
function fitTimes() {
  const some = page.logs.filter((log) => log.events), shown = some.length ? some : page.logs, whole = state.from === state.begin && state.to === state.end;
  state.begin = Math.min(...shown.map((log) => log.begin));
  state.end = Math.max(...shown.map((log) => log.end));
  if (whole) Object.assign(state, { from: state.begin, to: state.end });
}
// Make all figures anew, whatever was there before.
function build() {
  panels.length = updates.length = 0;
  for (const id of ["about", "arms", "main"]) byId(id).replaceChildren();
  if (heatChoice.shows === null) heatChoice.shows = page.logs.some((log) => log.heats.delay) ? "parts" : "reward"; // without delays, all cells have the same parts
  buildAbout();
  buildArms();
  if (page.logs.every((log) => !log.events)) byId("main").append(element("p", {}, "There is no event in this log, so there is nothing to draw."));
  else {
    const compared = page.logs.length > 1 && page.logs.every((log) => log.means_known);
    for (const figure of [...(compared ? [regretFigure] : []), reward, allocation, heat, belief]) buildFigure(figure);
  }
  if (page.logs.some((log) => log.pulls)) buildPull();
  updates.push(() => {
    const whole = state.from === state.begin && state.to === state.end ? " (everything)" : "", only = state.arm === null ? "" : `, only ${state.arm}`;
    byId("range").textContent = `${stretchText(page.logs[0], state.from, state.to)}${whole}${only}`;
  });
  byId("tools").hidden = false;
}
function choosePull() {
  const log = page.logs.find((one) => one.pulls);
  if (!log) return;
  const best = log.array("pull.paid").reduce((most, paid, row, all) => (paid > all[most] ? row : most), 0);
  const found = log.findPull(best * log.step + 1), nearest = log.nearest(found.time);
  state.pull = { log: log.number, ...(found.place === undefined ? log.findPull(nearest) : found) };
}

async function start() {
  page = await unpack(byId("data").textContent);
  byId("data").textContent = ""; // the letters are not needed any more
  Object.assign(state, { from: 0, to: 0, begin: 0, end: 0 });
  nameLogs();
  fitTimes();
  build();
  choosePull();
  listen();
  for (const update of updates) update();
  drawAll();
  document.documentElement.dataset.ready = "yes";
}
(byId("data").textContent.trim() ? start() : startLive()).catch((error) => { byId("title").textContent = `This page cannot be shown: ${error.message}`; throw error; });
