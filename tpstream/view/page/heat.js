// The heat map: parts that arrived, by the time of their pull and their age (or delay) at arrival.

const heatChoice = { shows: null };
const MOST_DOTS = 6000;
const FEW_PULLS = 60;
const LEVELS = 255; // of reward, see content.py
const FULL_COLOUR = 0.98; // this share of the cells is below the full colour: a few large ones shall not hide the others

function shade(share, dark) {
  const stops = dark ? [[28, 32, 36], [38, 84, 124], [86, 180, 233], [250, 250, 210]] : [[247, 248, 249], [158, 202, 225], [49, 108, 168], [8, 29, 88]];
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1), first = Math.min(Math.floor(place), stops.length - 2);
  return stops[first].map((low, i) => Math.round(low + (stops[first + 1][i] - low) * (place - first)));
}
// What the levels of reward of a heat map stand for: about that, since they are some percent apart.
function rewardsOf(axes) {
  axes.rewards ??= Array.from({ length: LEVELS + 1 }, (_, level) => (level ? axes.least * (axes.most / axes.least) ** ((level - 1) / (LEVELS - 1)) : 0));
  return axes.rewards;
}
// What a cell shows for each pull of its column: the number of parts, or what they paid.
function cellValue(log, by, shows, column, row) {
  const axes = log.heats[by], layers = axes.layers, arm = state.arm === null || layers === 1 ? -1 : log.arms.indexOf(state.arm);
  const cells = log.array(`${by}.${shows === "parts" ? "counts" : "sums"}`), made = log.array(`${by}.pulls`), rewards = rewardsOf(axes);
  let sum = 0, pulls = 0;
  for (let layer = arm < 0 ? 0 : arm; layer < (arm < 0 ? layers : arm + 1); layer++) {
    const cell = cells[(layer * axes.rows + row) * axes.columns + column];
    sum += shows === "parts" ? cell : rewards[cell];
    pulls += made[layer * axes.columns + column];
  }
  return pulls ? sum / pulls : NaN;
}
// A value of a cell in words; rewards are known to two digits.
function cellText(log, value, shows) {
  return shows === "parts" ? `${short(value)} parts per pull` : `${value ? "about " : ""}${short(Number(value.toPrecision(2)))} ${log.reward} per pull`;
}
// All cells of a heat map, the value from which on the colour is full, and the rows in which there is something.
function heatCells(log, by) {
  const { shows } = heatChoice, axes = log.heats[by], key = `${shows} ${state.arm}`;
  if (axes.key !== key) {
    const cells = new Float64Array(axes.columns * axes.rows);
    let first = axes.rows;
    for (let row = 0; row < axes.rows; row++) {
      for (let column = 0; column < axes.columns; column++) {
        const found = cellValue(log, by, shows, column, row), value = log.sampled && column && Number.isNaN(found) ? cells[row * axes.columns + column - 1] : found; // no sample there: as before
        cells[row * axes.columns + column] = value;
        if (value > 0) first = Math.min(first, row);
      }
    }
    const some = cells.filter((value) => value > 0).sort();
    const most = some.length ? some[Math.min(Math.floor(some.length * FULL_COLOUR), some.length - 1)] : 0;
    Object.assign(axes, { key, cells, mostShown: most, beyond: some.length > 0 && some[some.length - 1] > most, first: first === axes.rows ? 0 : first });
  }
  return axes;
}
function mostOf(by) {
  return Math.max(...page.logs.map((log) => (log.heats[by] ? heatCells(log, by).mostShown : 0))) || 1;
}
// The parts that can be drawn one by one: of the sampled pulls in view, if they are few enough.
function dots(log) {
  const pulled = log.array("parts.pulled"), starts = log.array("parts.start"), first = lowerBound(pulled, state.from), last = lowerBound(pulled, state.to);
  const narrow = state.to - state.from < (state.end - state.begin) / 5 || log.pulls <= FEW_PULLS;
  return narrow && starts[last] - starts[first] <= MOST_DOTS ? [first, last] : null;
}
function drawDots(panel, by, [first, last]) {
  const { log, ink } = panel, starts = log.array("parts.start"), [kinds, ages, parts, arms, pulled] = ["kind", "age", "part", "arm", "pulled"].map((name) => log.array(`parts.${name}`));
  const size = last - first < 80 ? 4 : 2.5, { height } = log.heats[by], middle = height >= 1 ? height / 2 : 0; // whole ages: in the middle of their cells
  for (let place = first; place < last; place++) {
    const name = log.arms[arms[place]];
    if (state.arm !== null && state.arm !== name) continue;
    const x = panel.x(pulled[place]), colour = colourOf(name, panel.colours.dark);
    for (let i = starts[place]; i < starts[place + 1]; i++) {
      if (!isPaid(kinds[i])) continue;
      const age = by === "age" ? ages[i] : Math.max(0, ages[i] - log.due[Math.max(parts[i], 1) - 1]);
      ink.fillStyle = kinds[i] === KIND.late ? panel.colours.late : colour;
      ink.fillRect(x - size / 2, panel.y(age + middle) - size / 2, size, size);
    }
  }
}
function drawHeat(panel, by) {
  const { log, ink } = panel, axes = log.heats[by];
  if (!axes) { panel.say(by === "age" ? "no part arrived" : "no part was delayed"); return; }
  const { cells } = heatCells(log, by), most = mostOf(by), image = document.createElement("canvas");
  image.width = axes.columns; image.height = axes.rows;
  const pen = image.getContext("2d"), pixels = pen.createImageData(axes.columns, axes.rows);
  for (let row = 0; row < axes.rows; row++) {
    for (let column = 0; column < axes.columns; column++) {
      const value = cells[row * axes.columns + column], place = 4 * ((axes.rows - 1 - row) * axes.columns + column);
      if (value > 0) pixels.data.set([...shade(Math.sqrt(value / most), panel.colours.dark), 255], place); // NaN: no pull
    }
  }
  pen.putImageData(pixels, 0, 0);
  const points = dots(log), top = panel.y(axes.rows * axes.height), left = panel.x(axes.origin);
  ink.imageSmoothingEnabled = false;
  ink.globalAlpha = points ? 0.3 : 1;
  ink.drawImage(image, left, top, panel.x(axes.origin + axes.columns * axes.width) - left, panel.y(0) - top);
  ink.globalAlpha = 1;
  if (points) drawDots(panel, by, points);
  drawScale(panel, axes, most);
}
// What the colours mean, below the figure: 0 at the left, the full colour at the right; in the middle is a quarter of its value.
function drawScale(panel, axes, most) {
  const { ink, colours } = panel, width = Math.min(130, panel.width / 3), left = panel.left, top = panel.spec.height - 12;
  ink.restore(); // what is drawn from here on may be outside of the axes
  ink.save();
  for (let x = 0; x < width; x++) { ink.fillStyle = `rgb(${shade(x / width, colours.dark).join()})`; ink.fillRect(left + 16 + x, top, 1, 9); }
  ink.fillStyle = colours.quiet; ink.font = "11px system-ui, 'DejaVu Sans', sans-serif"; ink.textBaseline = "middle";
  ink.fillText("0", left + 4, top + 5);
  ink.fillText(`${cellText(panel.log, most, heatChoice.shows)}${axes.beyond ? " or more" : ""}`, left + 22 + width, top + 5, Math.max(panel.width - width - 22, 40));
  ink.beginPath();
  ink.rect(panel.left, panel.top, panel.width, panel.height);
  ink.clip();
}

const HEAT_TITLES = { age: "Age at arrival", delay: "Delay after the due time" };
function heatSpec(by, height) {
  return {
    title: HEAT_TITLES[by], height, foot: 16,
    name: (log) => `${HEAT_TITLES[by]}${log.unit ? `, in ${plural(log.unit)}` : ""}, over the time of the pull`,
    range: () => {
      const found = page.logs.filter((log) => log.heats[by]).map((log) => heatCells(log, by));
      const high = Math.max(...found.map((axes) => axes.rows * axes.height)), low = Math.min(...found.map((axes) => axes.first * axes.height));
      return found.length ? [low > high / 4 ? low - (high - low) / 10 : 0, high] : [0, 1];
    },
    draw: (panel) => drawHeat(panel, by),
    tip: (panel, time, age) => {
      const { log } = panel, axes = log.heats[by];
      if (!axes) return [["no part arrived"]];
      const column = Math.floor((time - axes.origin) / axes.width), row = Math.floor(age / axes.height);
      if (column < 0 || row < 0 || column >= axes.columns || row >= axes.rows) return [["no pull here"]];
      const made = axes.origin + column * axes.width;
      return [
        [`pulls of ${stretchText(log, made, made + axes.width)}`], [`${by} ${short(row * axes.height)} to ${short((row + 1) * axes.height)}`],
        ...["parts", "reward"].map((shows) => [cellText(log, cellValue(log, by, shows, column, row), shows)]),
      ];
    },
    label: () => "Each cell shows how many parts arrived for a pull at this age.",
  };
}
const heat = {
  id: "heat", title: "When the parts of a pull arrive",
  about: (log) => {
    const delays = log.heats.delay ? "; in the lower figure, how much later than they were due" : "";
    const refunds = heatChoice.shows === "reward" && log.heats.age?.refunds ? " Where more was paid back than paid, nothing is drawn." : "";
    const together = log.heats.age?.layers === 1 && log.arms.length > 1 ? " With this many arms, all arms are shown together." : "";
    return [
      `Across: when a pull was made. Up: how long after that its parts arrived${delays}.`,
      `The darker a cell (brighter on a dark page), the more ${heatChoice.shows === "parts" ? "parts" : log.reward} arrived for each pull.`,
      `Zoomed in, single parts of the sampled pulls are drawn, late ones in red.${refunds}${together}`,
    ].join(" ");
  },
  missing: (log) => (log.only_pulls ? "The log holds only the pulls: when parts arrived is not known." : log.heats.age ? null : "No part arrived in this log."),
  choices: () => [["shows", "parts", "parts per pull"], ["shows", "reward", "reward per pull"]],
  panels: () => [heatSpec("age", 290), ...(page.logs.some((log) => log.heats.delay) ? [heatSpec("delay", 220)] : [])],
  // Ages at which parts arrived, over all pulls in view.
  table: (log) => {
    const axes = log.heats.age, place = (time) => (time - axes.origin) / axes.width, step = Math.ceil(axes.rows / 12);
    const first = Math.max(0, Math.floor(place(state.from))), last = Math.min(axes.columns, Math.ceil(place(state.to)));
    const counts = log.array("age.counts"), names = axes.layers === 1 ? ["all arms"] : log.arms, rows = [];
    for (let low = 0; low < axes.rows; low += step) {
      const cells = [`${short(low * axes.height)} to ${short(Math.min(low + step, axes.rows) * axes.height)}`];
      names.forEach((_, layer) => {
        let sum = 0;
        for (let row = low; row < Math.min(low + step, axes.rows); row++) for (let column = first; column < last; column++) sum += counts[(layer * axes.rows + row) * axes.columns + column];
        cells.push(sum.toLocaleString("en"));
      });
      rows.push(cells);
    }
    return { head: [`age${log.unit ? ` in ${plural(log.unit)}` : ""}`, ...names.map((name) => `${name}: parts`)], rows };
  },
};
