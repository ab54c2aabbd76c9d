// The data of the page: unpacked once, then read by the figures.

// Numbers of kinds of events, as in model/events.py.
const KIND = { partial: 1, closed: 2, late: 3, dropped: 4 };
const isPaid = (kind) => kind === KIND.partial || kind === KIND.late;
const SIZES = { u1: 1, u2: 2, u4: 4, f4: 4, f8: 8 };
const ARRAYS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };

// The description and the arrays; bytes of one place in a number are stored together (see packing.py).
async function unpack(text) {
  const letters = atob(text.trim());
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const raw = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(raw.buffer).getUint32(0, true);
  const about = JSON.parse(new TextDecoder().decode(raw.subarray(4, 4 + length)));
  const arrays = {};
  for (const [name, [type, place, count]] of Object.entries(about.arrays)) {
    const size = SIZES[type], start = 4 + length + place, out = new Uint8Array(count * size);
    for (let k = 0; k < size; k++) for (let i = 0; i < count; i++) out[i * size + k] = raw[start + k * count + i];
    arrays[name] = new ARRAYS[type](out.buffer);
  }
  about.logs.forEach((log, number) => prepare(log, number, arrays));
  return about;
}

// Give a log its arrays, and the functions that the figures ask.
function prepare(log, number, arrays) {
  const bins = log.time.bins, sums = new Map();
  log.number = number;
  log.array = (name) => arrays[`${number}.${name}`];
  log.begin = log.time.origin;
  log.end = bins ? log.time.origin + bins * log.time.width : log.time.origin + 1;
  // Running sums of a quantity of an arm: place b + 1 has everything up to the end of bin b.
  log.total = (name, arm) => {
    const key = `${name} ${arm}`;
    if (!sums.has(key)) {
      const out = new Float64Array(bins + 1), from = log.array(name);
      if (from) for (let b = 0; b < bins; b++) out[b + 1] = out[b] + from[arm * bins + b];
      sums.set(key, out);
    }
    return sums.get(key);
  };
  log.all = (name) => log.arms.reduce((sum, _, arm) => sum + log.total(name, arm)[bins], 0);
  // Values at the ends of bins, in the same form; what open pulls are expected to pay yet, and the regret.
  const atEnds = (name, row) => {
    const key = `${name} at ends ${row}`;
    if (!sums.has(key)) {
      const out = new Float64Array(bins + 1), from = log.array(name);
      if (from) out.set(from.subarray(row * bins, (row + 1) * bins), 1);
      sums.set(key, out);
    }
    return sums.get(key);
  };
  log.outstanding = (arm) => atEnds("outstanding", arm);
  log.regret = () => atEnds("regret", 0);
  log.bin = (time) => Math.max(0, Math.min(bins - 1, Math.floor((time - log.begin) / log.time.width)));
  log.edge = (b) => log.begin + b * log.time.width;
  // What is known of a pull: { pull, time, arm, ... }, and `place` if its parts are here.
  log.findPull = (pull) => {
    const numbers = log.array("parts.pull"), place = lowerBound(numbers, pull), row = (pull - 1) / log.step;
    const known = Number.isInteger(row) && row >= 0 && row < log.array("pull.time").length;
    const found = { pull, known };
    if (known) for (const name of ["time", "arm", "paid", "last", "parts", "late"]) found[name] = log.array(`pull.${name}`)[row];
    if (numbers[place] === pull) {
      Object.assign(found, { known: true, place, time: log.array("parts.pulled")[place], arm: log.array("parts.arm")[place] });
    }
    return found;
  };
  // The pull with parts in this page that is nearest to a time, of one arm or of any; null if there is none.
  log.nearest = (time, arm = -1) => {
    const times = log.array("parts.pulled"), arms = log.array("parts.arm");
    let nearest = -1;
    for (let place = 0; place < times.length; place++) {
      if ((arm < 0 || arms[place] === arm) && (nearest < 0 || Math.abs(times[place] - time) < Math.abs(times[nearest] - time))) nearest = place;
    }
    return nearest < 0 ? null : log.array("parts.pull")[nearest];
  };
}

// The first place whose value is not below this one, in a sorted array.
function lowerBound(values, value) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

// A number in few digits, as people write it.
function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 0 });
  return size !== 0 && size < 0.001 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

// A time as a date, with the time of day if it is not midnight or `exact` asks for it; only for logs with a calendar.
function dateText(log, time, exact = false) {
  const found = new Date(Math.round(log.calendar.start + time * log.calendar.unit));
  if (Number.isNaN(found.getTime())) return "–";
  const text = found.toISOString(), [day, clock] = text.split("T");
  return exact || !clock.startsWith("00:00") ? `${day} ${clock.slice(0, 5)}` : day;
}
// A time, or a stretch of time, in words: as a number, and as dates where the log knows them.
function timeText(log, time) {
  return `${log.unit || "time"} ${short(time)}${log.calendar ? ` (${dateText(log, time, true)})` : ""}`;
}
function stretchText(log, from, to) {
  return `${log.unit || "time"} ${short(from)} to ${short(to)}${log.calendar ? ` (${dateText(log, from, true)} to ${dateText(log, to, true)})` : ""}`;
}

// A number of things, in words.
function counted(number, word) {
  return `${number.toLocaleString("en")} ${number === 1 ? word : plural(word)}`;
}

function plural(unit) {
  return /[^aeiou]y$/.test(unit) ? unit.slice(0, -1) + "ies" : unit + "s";
}
