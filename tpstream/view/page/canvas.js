// Panels: a canvas with axes of time and of something else, which all follow the one selection of the page.

const state = { from: 0, to: 1, begin: 0, end: 1, arm: null, log: 0, pull: null, hover: null, print: false };
const panels = [];
const DAY = 86400000, MINUTE = 60000; // milliseconds
const MONDAY = 4, LAST_DAY = 1e8; // days from 1970 on: a Monday, and where dates end
const MINUTES = [1, 5, 15, 60, 180, 360, 720].map((minutes) => minutes / 1440), DAYS = [1, 2, 7, 14]; // between two ticks, in days
const NEAR = 8; // pixels from a line at which a click means it
const PAPER = [720, 350]; // pixels of a figure on a printed page, alone and as one of two
let page = null;
let waiting = false;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value; else if (key.startsWith("on")) made.addEventListener(key.slice(2), value); else made.setAttribute(key, value);
  }
  made.append(...children); // texts become text, never markup
  return made;
}

function theme() {
  if (state.print) return { back: "#fff", text: "#1b1f24", quiet: "#59626c", line: "#c6cbd0", grid: "#e8ebee", late: "#b3261e", dark: false };
  const style = getComputedStyle(document.documentElement), take = (name) => style.getPropertyValue(`--${name}`).trim();
  const colours = Object.fromEntries(["back", "text", "quiet", "line", "grid", "late"].map((name) => [name, take(name)]));
  return { ...colours, dark: style.colorScheme === "dark" || (style.colorScheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches) };
}

// The colour of an arm by its name; lighter on a dark page. Names beyond the colours get dashes.
function colourOf(name, dark = theme().dark) {
  return lighter(page.colours[Math.max(page.names.indexOf(name), 0) % page.colours.length], dark);
}
function lighter(colour, dark) {
  if (!dark) return colour;
  const mix = (start) => Math.round(parseInt(colour.slice(start, start + 2), 16) * 0.66 + 255 * 0.34);
  return `rgb(${mix(1)}, ${mix(3)}, ${mix(5)})`;
}
function dashOf(name) {
  return page.names.indexOf(name) >= page.colours.length ? [5, 3] : [];
}
function chosen(log) {
  return state.arm === null ? log.arms.map((_, arm) => arm) : [log.arms.indexOf(state.arm)].filter((arm) => arm >= 0);
}

function ticks(low, high, count) {
  const span = high - low || 1, rough = span / Math.max(count, 1), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((size) => size >= rough * 0.999) || rough;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9 && found.length < 40; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}
// Ticks of an axis of time with their texts, and its name: dates where the log knows them, unless less than some minutes are in view.
function timeTicks(log, low, high, width) {
  if (log.calendar && (high - low) * log.calendar.unit > (width / 65) * MINUTE) {
    const { start, unit } = log.calendar, days = [low, high].map((time) => (start + time * unit) / DAY);
    return { name: "date", marks: dayTicks(...days, width).map((day) => (day * DAY - start) / unit).map((time) => [time, dateText(log, time)]) };
  }
  const name = !log.unit ? "time" : log.unit === "round" ? "round" : `time in ${plural(log.unit)}`;
  return { name, marks: tickTexts(ticks(low, high, width / 70), tickText) };
}
// The days, counted from 1970, of ticks: round times of day, whole days, Mondays, or first days of months or of years.
function dayTicks(low, high, width) {
  if (!(Math.abs(low) < LAST_DAY && Math.abs(high) < LAST_DAY)) return ticks(low, high, width / 130);
  const least = (high - low) / Math.max(width / 95, 1), size = [...MINUTES, ...DAYS].find((one) => one >= least * (one < 1 ? 1.35 : 1)), found = []; // times of day are longer
  if (size) {
    for (let day = Math.ceil((low - MONDAY) / size) * size + MONDAY; day <= high; day += size) found.push(day);
    return found;
  }
  const months = [1, 2, 3, 6, 12, 24, 60].find((one) => one * 30 >= least) || 120 * Math.ceil(least / 3652);
  for (let month = Math.floor((12 * new Date(low * DAY).getUTCFullYear()) / months) * months; found.length < 60; month += months) {
    const day = new Date(0).setUTCFullYear(0, month, 1) / DAY;
    if (!(day <= high)) break;
    if (day >= low) found.push(day);
  }
  return found;
}
// Ticks with their texts, which have as many digits as it takes to tell them apart.
function tickTexts(values, text) {
  const texts = values.map(text), alike = new Set(texts).size < texts.length;
  return values.map((value, i) => [value, alike ? String(value) : texts[i]]);
}
function tickText(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(4)).toLocaleString("en")} M`;
  if (size >= 1e3 && !Number.isInteger(value)) return value.toLocaleString("en", { maximumFractionDigits: 3 });
  return size >= 1e4 ? value.toLocaleString("en", { maximumFractionDigits: 0 }) : short(value);
}

// The marks of a log: looks into a trial, what they decided, and changes by those who run it: [time, name, whether the trial stopped, in words].
function lookMarks(log) {
  const found = log.looks.flatMap((look) => [
    [look.time, `look ${look.number}`, false, `look ${look.number}: data up to here`],
    ...(look.closed.length ? [[look.decided, look.label, look.ends, look.text]] : []),
  ]);
  for (const { time, label, text } of log.changes) found.push([time, label, false, text]);
  return found.sort((a, b) => a[0] - b[0]);
}

class Panel {
  // `spec`: title, unit, height, range(panel) -> [low, high], draw(panel), tip(panel, time, value) -> rows, label() -> text.
  constructor(log, spec) {
    Object.assign(this, { log, spec, left: 58, right: 10, top: 8, bottom: 30, labels: [] });
    this.canvas = element("canvas", { role: "img", tabindex: "0" });
    this.node = element("div", { class: "panel" }, element("h3", {}, spec.title), this.canvas);
    panels.push(this);
    if (!spec.fixed) this.listen();
  }
  x(time) { return this.left + ((time - this.from) / (this.to - this.from)) * this.width; }
  y(value) { return this.top + this.height - ((value - this.low) / (this.high - this.low || 1)) * this.height; }
  time(x) { return this.from + ((x - this.left) / this.width) * (this.to - this.from); }
  value(y) { return this.low + ((this.top + this.height - y) / this.height) * (this.high - this.low); }
  draw() {
    const shown = this.canvas.clientWidth, ratio = state.print ? 2 : Math.min(devicePixelRatio || 1, 3), { height } = this.spec;
    const width = state.print ? PAPER[this.node.parentElement.classList.length > 1 ? 1 : 0] : shown; // so that texts on paper are as large as others
    if (!width) return;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.height = `${height}px`;
    }
    this.paint(this.canvas.getContext("2d"), width, ratio);
    this.canvas.setAttribute("aria-label", `${this.spec.title}. ${this.spec.label ? this.spec.label(this) : ""} A table is below.`);
  }
  paint(ink, width, ratio) {
    this.ink = ink;
    this.colours = theme();
    [this.from, this.to] = this.spec.fixed ? this.spec.times(this) : [state.from, state.to];
    this.width = width - this.left - this.right;
    this.height = this.spec.height - this.top - this.bottom - (this.spec.foot || 0);
    [this.low, this.high] = this.spec.range(this);
    if (!(this.high > this.low)) this.high = this.low + 1;
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    ink.fillStyle = this.colours.back;
    ink.fillRect(0, 0, width, this.spec.height);
    this.axes();
    this.labels = [];
    ink.save();
    ink.beginPath();
    ink.rect(this.left, this.top - 2, this.width, this.height + 4);
    ink.clip();
    this.spec.draw(this);
    if (!this.spec.fixed) this.marks();
    if (this.spec.legend) this.spec.legend(this);
    ink.restore();
  }
  axes() {
    const { ink, colours } = this;
    ink.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    ink.lineWidth = 1;
    ink.textBaseline = "middle";
    ink.textAlign = "right";
    for (const [value, text] of tickTexts(ticks(this.low, this.high, this.height / 42), this.spec.tickText || tickText)) {
      const y = Math.round(this.y(value)) + 0.5;
      ink.strokeStyle = colours.grid;
      ink.beginPath(); ink.moveTo(this.left, y); ink.lineTo(this.left + this.width, y); ink.stroke();
      ink.fillStyle = colours.quiet;
      ink.fillText(text, this.left - 6, y);
    }
    ink.strokeStyle = colours.line;
    ink.strokeRect(this.left + 0.5, this.top + 0.5, this.width, this.height);
    ink.textBaseline = "top";
    let free = -Infinity; // where the label before ends, so that none overlap
    const { name, marks } = timeTicks(this.log, this.from, this.to, this.width);
    ink.textAlign = "left";
    ink.fillStyle = colours.quiet;
    for (const [time, text] of marks) {
      const size = ink.measureText(text).width, x = this.x(time);
      const start = Math.max(this.left - 10, Math.min(x - size / 2, this.left + this.width - size));
      ink.fillRect(Math.round(x), this.top + this.height, 1, 4);
      if (start > free + 10) { ink.fillText(text, start, this.top + this.height + 6); free = start + size; }
    }
    ink.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    ink.textAlign = "right";
    ink.fillText(this.spec.across || name, this.left + this.width, this.top + this.height + 18);
    ink.textAlign = "left";
  }
  marks() {
    const { ink, colours } = this;
    const line = (time, colour, dash) => {
      ink.strokeStyle = colour; ink.lineWidth = 1; ink.setLineDash(dash);
      const x = Math.round(this.x(time)) + 0.5;
      ink.beginPath(); ink.moveTo(x, this.top); ink.lineTo(x, this.top + this.height); ink.stroke(); ink.setLineDash([]);
    };
    if (!this.spec.single) for (const [time, , strong] of lookMarks(this.log)) line(time, strong ? colours.late : colours.text, strong ? [7, 3] : [2, 3]);
    if (this.spec.namesLooks) this.nameLooks();
    if (state.hover !== null) line(state.hover, colours.quiet, [3, 3]);
    if (state.pull && state.pull.log === this.log.number && state.pull.time !== undefined) {
      line(state.pull.time, colours.text, []);
      const text = `pull ${state.pull.pull.toLocaleString("en")}`;
      ink.font = "11px system-ui, 'DejaVu Sans', sans-serif"; ink.textBaseline = "top";
      const size = ink.measureText(text).width, x = this.x(state.pull.time), left = x + size + 12 > this.left + this.width ? x - size - 5 : x + 4;
      ink.fillStyle = colours.back; ink.globalAlpha = 0.8; ink.fillRect(left - 2, this.top + 1, size + 5, 14); ink.globalAlpha = 1;
      ink.fillStyle = colours.text; ink.fillText(text, left, this.top + 3);
    }
    if (this.drag) {
      ink.fillStyle = colours.text; ink.globalAlpha = 0.12;
      ink.fillRect(Math.min(this.drag[0], this.drag[1]), this.top, Math.abs(this.drag[1] - this.drag[0]), this.height);
      ink.globalAlpha = 1;
    }
  }
  // Name the marks at the foot of the panel, in up to four rows; a name that would lie on another one is left out.
  nameLooks() {
    const { ink, colours } = this, free = [-Infinity, -Infinity, -Infinity, -Infinity];
    ink.font = "11px system-ui, 'DejaVu Sans', sans-serif"; ink.textBaseline = "middle";
    for (const [time, text] of lookMarks(this.log).filter(([at]) => at >= this.from && at <= this.to)) {
      const shown = text.length > 28 ? `${text.slice(0, 27)}…` : text, size = ink.measureText(shown).width, x = this.x(time);
      const left = x + size + 8 > this.left + this.width ? x - size - 5 : x + 4, row = free.findIndex((end) => end < left - 4);
      if (row < 0 || left < this.left) continue;
      free[row] = left + size;
      const y = this.top + this.height - 9 - 15 * row;
      ink.fillStyle = colours.back; ink.globalAlpha = 0.85; ink.fillRect(left - 2, y - 7, size + 4, 14); ink.globalAlpha = 1;
      ink.fillStyle = colours.text; ink.fillText(shown, left, y);
    }
  }
  listen() {
    const { canvas } = this, at = (event) => event.offsetX;
    canvas.addEventListener("pointerdown", (event) => { if (event.button === 0) { this.drag = [at(event), at(event)]; canvas.setPointerCapture(event.pointerId); } });
    canvas.addEventListener("pointermove", (event) => {
      if (this.drag) this.drag[1] = at(event);
      state.hover = Math.max(this.from, Math.min(this.to, this.time(at(event))));
      this.tip(event);
      redraw();
    });
    canvas.addEventListener("pointerup", (event) => {
      const drag = this.drag;
      this.drag = null;
      if (drag && Math.abs(drag[1] - drag[0]) > 6) setRange(...drag.map((x) => this.time(x)).sort((a, b) => a - b));
      else if (drag) this.pick(event.offsetX, event.offsetY);
    });
    canvas.addEventListener("pointercancel", () => { this.drag = null; });
    canvas.addEventListener("pointerleave", () => { state.hover = null; document.getElementById("tip").hidden = true; redraw(); });
    canvas.addEventListener("dblclick", () => setRange(state.begin, state.end));
  }
  // Choose the arm whose line, area or name was clicked, if one was, and the nearest pull: of the chosen arm, if there is one.
  pick(x, y) {
    const name = this.armAt(x, y), { log } = this;
    if (name !== null && name !== state.arm) setArm(name);
    showPull(log.number, log.nearest(this.time(x), state.arm === null ? -1 : log.arms.indexOf(state.arm)));
  }
  armAt(x, y) {
    const label = this.labels.find((one) => x >= one.left && x <= one.left + one.width && Math.abs(y - one.middle) <= NEAR);
    if (label) return label.name;
    if (!this.spec.arms) return null;
    const far = ([arm, low, high]) => [this.log.arms[arm], Math.max(y - this.y(low), this.y(high) - y, 0)];
    const near = this.spec.arms(this, this.time(x)).map(far).filter(([, pixels]) => pixels <= NEAR).sort((a, b) => a[1] - b[1]);
    return near.length ? near[0][0] : null;
  }
  tip(event) {
    const box = document.getElementById("tip"), time = this.time(event.offsetX);
    if (!this.spec.tip || time < this.from || time > this.to) { box.hidden = true; return; }
    const near = this.spec.single ? [] : lookMarks(this.log).filter(([at]) => Math.abs(this.x(at) - event.offsetX) < 5).map(([, , , text]) => [text]);
    box.replaceChildren(...[...this.spec.tip(this, time, this.value(event.offsetY)), ...near].map(([text, colour]) => {
      const row = element("div", {});
      if (colour) { const dot = element("i"); dot.style.background = colour; row.append(dot); }
      row.append(text);
      return row;
    }));
    box.hidden = false;
    const across = event.clientX + 16 + box.offsetWidth > innerWidth ? event.clientX - box.offsetWidth - 12 : event.clientX + 16;
    box.style.left = `${Math.max(4, across)}px`;
    box.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 6))}px`;
  }
  // Draw a line through points (time, value); NaN interrupts it.
  line(points, colour, { width = 1.8, dash = [] } = {}) {
    const { ink } = this;
    ink.strokeStyle = colour; ink.lineWidth = width; ink.setLineDash(dash); ink.lineJoin = "round";
    ink.beginPath();
    let drawn = false;
    for (const [time, value] of points) {
      if (!Number.isFinite(value)) { drawn = false; continue; }
      if (drawn) ink.lineTo(this.x(time), this.y(value)); else ink.moveTo(this.x(time), this.y(value));
      drawn = true;
    }
    ink.stroke();
    ink.setLineDash([]);
  }
  // Fill between two rows of values over the same times.
  area(times, lower, upper, colour, alpha = 1) {
    const { ink } = this;
    ink.fillStyle = colour; ink.globalAlpha = alpha;
    ink.beginPath();
    times.forEach((time, i) => (i ? ink.lineTo(this.x(time), this.y(upper[i])) : ink.moveTo(this.x(time), this.y(upper[i]))));
    for (let i = times.length - 1; i >= 0; i--) ink.lineTo(this.x(times[i]), this.y(lower[i]));
    ink.closePath(); ink.fill();
    ink.globalAlpha = 1;
  }
  say(text) {
    const { ink } = this;
    ink.fillStyle = this.colours.quiet; ink.font = "13px system-ui, 'DejaVu Sans', sans-serif"; ink.textAlign = "center"; ink.textBaseline = "middle";
    ink.fillText(text, this.left + this.width / 2, this.top + this.height / 2, this.width - 10);
    ink.textAlign = "left";
  }
}

function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; drawAll(); });
}
function drawAll() {
  for (const panel of panels) panel.draw();
}
