// One pull's life: its parts on a line of time, and what was known when it was decided.

const WORDS = { [KIND.partial]: "arrived", [KIND.closed]: "closed", [KIND.late]: "too late", [KIND.dropped]: "lost" };

function partsOf(log, place) {
  const starts = log.array("parts.start"), found = [];
  for (let i = starts[place]; i < starts[place + 1]; i++) {
    const [kind, part, age, value] = ["kind", "part", "age", "value"].map((name) => log.array(`parts.${name}`)[i]);
    found.push({ kind, part, age, value });
  }
  return found;
}
function indicesOf(log, place) {
  const all = log.array("parts.indices");
  if (!all) return null;
  const arms = all.length / log.array("parts.pull").length;
  return Array.from(all.subarray(place * arms, (place + 1) * arms));
}
function current() {
  return state.pull ? { ...state.pull, log: page.logs[state.pull.log] } : null;
}

// Bars of parts, [left, width, [[part, from, to], ...]]: what arrives at the same time, or within the width of a bar, is stacked.
function stacks(panel, parts) {
  const wide = Math.max(1.5, Math.min(9, (panel.width / Math.max(parts.length, 1)) * 0.6)), found = [];
  const paid = parts.filter(({ kind }) => isPaid(kind)).sort((a, b) => a.age - b.age);
  for (const part of paid) {
    const x = panel.x(current().time + part.age), last = found[found.length - 1];
    const bar = last && x - last.middle < wide ? last : { middle: x, up: 0, down: 0, pieces: [] };
    if (bar !== last) found.push(bar);
    const side = part.value < 0 ? "down" : "up", from = bar[side];
    bar[side] += part.value;
    bar.pieces.push([part, from, bar[side]]);
  }
  return { wide, bars: found };
}
function drawStacks(panel, parts, colour) {
  const { ink, colours } = panel, { wide, bars } = stacks(panel, parts);
  for (const { middle, pieces } of bars) {
    for (const [{ kind }, from, to] of pieces) {
      const top = Math.min(panel.y(from), panel.y(to)), tall = Math.abs(panel.y(from) - panel.y(to)), gap = tall > 4 && pieces.length > 1 ? 1 : 0;
      ink.fillStyle = kind === KIND.partial ? colour : colours.late;
      ink.fillRect(middle - wide / 2, from === to ? top - 1 : top, wide, Math.max(tall - gap, from === to || pieces.length === 1 ? 2 : 0));
    }
  }
}

const life = {
  title: "A pull's parts over time", height: 190, fixed: true,
  name: (log) => `A pull's parts over time (${log.reward})`,
  times: () => {
    const one = current();
    if (!one || one.place === undefined) return [0, 1];
    const last = Math.max(...partsOf(one.log, one.place).map((part) => part.age), one.log.span > 1 ? 1 : 0.5);
    return [one.time - last * 0.02, one.time + last * 1.04];
  },
  range: (panel) => {
    const one = current();
    if (!one || one.place === undefined) return [0, 1];
    return extent(stacks(panel, partsOf(one.log, one.place)).bars.map(({ up, down }) => [down, up]));
  },
  draw: (panel) => {
    const one = current();
    if (!one || one.place === undefined) { panel.say(one && one.known ? "its parts are not in this page" : "no pull is chosen"); return; }
    const { ink, colours } = panel, colour = colourOf(one.log.arms[one.arm], colours.dark), parts = partsOf(one.log, one.place);
    drawStacks(panel, parts, colour);
    for (const { kind, age } of parts.filter((part) => !isPaid(part.kind))) {
      const x = panel.x(one.time + age), zero = panel.y(0);
      if (kind === KIND.dropped) {
        ink.strokeStyle = colours.late; ink.lineWidth = 1.5;
        ink.beginPath(); ink.moveTo(x - 4, zero - 12); ink.lineTo(x + 4, zero - 4); ink.moveTo(x + 4, zero - 12); ink.lineTo(x - 4, zero - 4); ink.stroke();
      } else {
        panel.line([[one.time + age, panel.low], [one.time + age, panel.high]], colours.quiet, { dash: [4, 3], width: 1.2 });
        ink.font = "11px system-ui, 'DejaVu Sans', sans-serif"; ink.textAlign = "right"; ink.textBaseline = "top";
        ink.fillStyle = colours.back; ink.fillRect(x - 8 - ink.measureText("closed").width, panel.top + 1, ink.measureText("closed").width + 6, 15);
        ink.fillStyle = colours.quiet;
        ink.fillText("closed", x - 4, panel.top + 3);
        ink.textAlign = "left";
      }
    }
    panel.line([[one.time, panel.low], [one.time, panel.high]], colours.text, { width: 1.4 });
  },
  label: () => (state.pull ? `Pull ${state.pull.pull}.` : ""),
};

function amount(log, value) {
  return log.reward === "reward" ? `a reward of ${short(value)}` : `${short(value)} ${log.reward}`;
}
// The story in sentences.
function story(one) {
  const { log } = one, time = timeText(log, one.time), name = log.arms[one.arm];
  const found = [`Pull ${one.pull.toLocaleString("en")}${page.logs.length > 1 ? ` of “${log.label}”` : ""}, made at ${time}: arm “${name}”.`];
  if (one.place === undefined) {
    const late = one.late ? `; ${counted(one.late, "part")} came too late` : "";
    const credited = `It was credited with ${amount(log, one.paid)} in ${counted(one.parts, "part")}, the last ${short(one.last)} after the pull${late}.`;
    if (!log.only_pulls) found.push(`${credited} Its parts are not in this page: make the page again with --pull ${one.pull}.`);
    return found;
  }
  const parts = partsOf(log, one.place), of = (kind) => parts.filter((part) => part.kind === kind), paid = of(KIND.partial);
  const sum = (list) => list.reduce((total, part) => total + part.value, 0);
  if (!log.only_pulls) {
    const last = paid.length ? `, the last ${short(paid[paid.length - 1].age)}${log.unit ? ` ${plural(log.unit)}` : ""} after the pull` : "";
    found.push(`It was credited with ${amount(log, sum(paid))} in ${paid.length} of ${log.span} parts${last}.`);
    if (of(KIND.late).length) found.push(`${counted(of(KIND.late).length, "part")} came too late, with ${amount(log, sum(of(KIND.late)))}.`);
    if (of(KIND.dropped).length) found.push(`${counted(of(KIND.dropped).length, "part")} ${of(KIND.dropped).length === 1 ? "is" : "are"} lost.`);
    found.push(of(KIND.closed).length ? "It is closed." : page.live ? "It is still open." : "It was still open when the log ended.");
  }
  const open = log.array("parts.open");
  if (open) found.push(`When it was decided, ${counted(open[one.place], "other pull")} ${open[one.place] === 1 ? "was" : "were"} open.`);
  const indices = indicesOf(log, one.place);
  if (indices) {
    const finite = indices.filter((value) => !Number.isNaN(value)).sort((a, b) => b - a);
    if (finite.length > 1) {
      const margin = finite[0] - finite[1];
      found.push(Number.isNaN(margin) || finite[0] === Infinity ? "An arm had not been tried yet: its index is infinite." : `The margin between the two largest indices was ${short(margin)}.`);
    }
  }
  return found;
}
function decisionTable(one) {
  const indices = one.place === undefined ? null : indicesOf(one.log, one.place);
  if (!indices) return null;
  const order = indices.map((_, arm) => arm).sort((a, b) => indices[b] - indices[a]);
  return { head: ["arm at the decision", "index", ""], rows: order.map((arm) => [one.log.arms[arm], short(indices[arm]), arm === one.arm ? "pulled" : ""]) };
}
function partTable(one) {
  if (one.place === undefined) return { head: [], rows: [] };
  const row = (part) => [part.part || "–", WORDS[part.kind], short(one.time + part.age), short(part.age), part.kind === KIND.dropped ? "–" : short(part.value)];
  return { head: ["part", "what happened", "time", "age", one.log.reward], rows: partsOf(one.log, one.place).map(row) };
}
