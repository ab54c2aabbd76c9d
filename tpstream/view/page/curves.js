// Figures of curves over time: reward, allocation, belief, regret. Each is { id, title, about, panels(log), table(log) }.

// The edges of bins that are in view, with one more on either side.
function edges(log) {
  const first = Math.max(0, log.bin(state.from) - 1), last = Math.min(log.time.bins, log.bin(state.to) + 2);
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, i) => first + i);
}
function extent(rows) {
  let low = 0, high = 0;
  for (const row of rows) for (const value of row) { if (value < low) low = value; if (value > high) high = value; }
  return [low, high > low ? high + (high - low) * 0.05 : low + 1];
}
function ofAll(find) {
  const found = page.logs.map(find);
  return [Math.min(...found.map((one) => one[0])), Math.max(...found.map((one) => one[1]))];
}
function moment(log, time) {
  const b = log.bin(time);
  return stretchText(log, log.edge(b), log.edge(b + 1));
}
function sampleEdges(log, count = 11) {
  const first = log.bin(state.from), last = Math.min(log.bin(state.to) + 1, log.time.bins), step = Math.max(1, Math.ceil((last - first) / (count - 1)));
  const found = [];
  for (let b = last; b > first; b -= step) found.unshift(b);
  return found;
}

// Where the arms are at a time, for clicks: [arm, low, high] of each. Of lines between the edges of bins, and of areas upon each other.
function linesAt(panel, time, valueAt) {
  const { log } = panel, b = log.bin(time), share = (time - log.edge(b)) / log.time.width;
  return chosen(log).map((arm) => valueAt(arm, b) + (valueAt(arm, b + 1) - valueAt(arm, b)) * share).map((value, i) => [chosen(log)[i], value, value]);
}
function areasOn(arms, valueOf) {
  let lower = 0;
  return arms.map((arm) => [arm, lower, (lower += Math.max(valueOf(arm) || 0, 0))]);
}

function stacked(panel, rows) {
  const { log } = panel, bins = edges(log), times = bins.map(log.edge);
  let lower = bins.map(() => 0);
  chosen(log).forEach((arm) => {
    const values = rows(arm), upper = bins.map((b, i) => lower[i] + Math.max(values[b], 0));
    panel.area(times, lower, upper, colourOf(log.arms[arm], panel.colours.dark), 0.85);
    lower = upper;
  });
}
function lines(panel, rows, options) {
  const { log } = panel, bins = edges(log);
  chosen(log).forEach((arm) => {
    const values = rows(arm), name = log.arms[arm]; // a sample is known at some times only
    const known = log.sampled ? bins.filter((b, i) => i === 0 || values[b] !== values[bins[i - 1]]) : bins;
    panel.line(known.map((b) => [log.edge(b), values[b]]), colourOf(name, panel.colours.dark), { dash: dashOf(name), ...options });
  });
}
// Name lines where they end, the highest first; a name that would lie on another one is left out (the buttons have all).
function nameLines(panel, valueAt) {
  const { log, ink } = panel, last = Math.min(log.bin(state.to) + 1, log.time.bins), right = Math.min(panel.x(log.edge(last)), panel.left + panel.width) - 4;
  if (panel.width < 420) return;
  ink.font = "12px system-ui, 'DejaVu Sans', sans-serif"; ink.textAlign = "right"; ink.textBaseline = "middle";
  let above = -Infinity;
  const ends = chosen(log).map((arm) => [panel.y(valueAt(arm, last)), log.arms[arm]]).filter(([y]) => y > panel.top && y < panel.top + panel.height).sort((a, b) => a[0] - b[0]);
  for (const [y, name] of ends) {
    const below = y - 8 < Math.max(panel.top + 8, above + 14), place = below ? y + (y - 8 < panel.top + 8 ? 16 : 10) : y - 8;
    const text = name.length > 22 ? `${name.slice(0, 21)}…` : name, size = ink.measureText(text).width;
    if (place < above + 14 || place > panel.top + panel.height - 6) continue;
    panel.labels.push({ name, left: right - size, width: size, middle: place });
    ink.fillStyle = panel.colours.back; ink.globalAlpha = 0.7; ink.fillRect(right - size - 2, place - 7, size + 4, 14); ink.globalAlpha = 1;
    ink.fillStyle = colourOf(name, panel.colours.dark);
    ink.fillText(text, right, place);
    above = place;
  }
  ink.textAlign = "left";
}
function cumulativeSpec(title, rows, { stack = false, height = 190, extra = null } = {}) {
  return {
    title, height,
    range: () => ofAll((log) => {
      const bins = edges(log), parts = chosen(log).map((arm) => bins.map((b) => rows(log, arm)[b]));
      if (extra && extra(log)) parts.push(bins.map((b) => extra(log)[b]));
      return extent(stack ? [bins.map((_, i) => parts.reduce((sum, row) => sum + Math.max(row[i], 0), 0))] : parts);
    }),
    draw: (panel) => {
      if (stack) stacked(panel, (arm) => rows(panel.log, arm)); else lines(panel, (arm) => rows(panel.log, arm));
      if (!stack) nameLines(panel, (arm, b) => rows(panel.log, arm)[b]);
      const more = extra && extra(panel.log);
      if (more) panel.line(edges(panel.log).map((b) => [panel.log.edge(b), more[b]]), panel.colours.text, { dash: [6, 4], width: 1.4 });
    },
    arms: (panel, time) => {
      const { log } = panel, found = linesAt(panel, time, (arm, b) => rows(log, arm)[b]);
      return stack ? areasOn(found.map(([arm]) => arm), (arm) => found.find(([one]) => one === arm)[1]) : found;
    },
    tip: (panel, time) => {
      const { log } = panel, b = log.bin(time) + 1;
      return [[`at the end of ${moment(log, time)}`], ...chosen(log).map((arm) => [`${log.arms[arm]}: ${short(rows(log, arm)[b])}`, colourOf(log.arms[arm])])];
    },
    label: (panel) => `At the end: ${chosen(panel.log).slice(0, 5).map((arm) => `${panel.log.arms[arm]} ${short(rows(panel.log, arm)[panel.log.time.bins])}`).join(", ")}.`,
  };
}

// What a clairvoyant policy was shown at the pulls, so far; null if the log does not know it.
function promised(log) {
  if (!log.array("sum.pulls") || !chosen(log).length) return null;
  return chosen(log).map((arm) => log.total("sum.pulls", arm)).reduce((sum, row) => sum.map((value, b) => value + row[b]));
}

const reward = {
  id: "reward", title: "Reward received, outstanding and lost",
  about: (log) => {
    const unit = log.reward === "reward" ? "" : ` (in ${log.reward})`;
    const unknown = "The arms' true means are not known, so that nothing is said about what is outstanding or about regret.";
    const estimated = "It is estimated from a sample; what is outstanding cannot be.";
    const known = "Outstanding is what open pulls are expected to pay yet: the mean of their arm minus what they have paid.";
    const outstanding = !log.means_known ? unknown : log.sampled ? estimated : known;
    const dashed = log.clairvoyant ? " The dashed line is the total that the policy was shown at its pulls: what all of them pay in the end." : "";
    return `Received is what arrived in time, added up since the beginning${unit}. ${outstanding}${dashed}`;
  },
  missing: (log) => (log.only_pulls ? "The log holds only the pulls: what they paid is not known." : null),
  panels: (log) => {
    const some = (test) => page.logs.some(test), low = { height: 130 };
    const found = [cumulativeSpec(`Received so far, by arm (${log.reward})`, (one, arm) => one.total("sum.parts", arm), { height: 230, extra: promised })];
    if (some((one) => one.means_known) && !some((one) => one.sampled)) {
      found.push(cumulativeSpec(`Outstanding, all arms stacked (expected ${log.reward})`, (one, arm) => one.outstanding(arm), { stack: true, height: 150 }));
    }
    if (some((one) => one.all("count.late"))) {
      found.push(cumulativeSpec(`Came too late and was not credited, so far (${log.reward})`, (one, arm) => one.total("sum.late", arm), low));
    }
    if (some((one) => one.all("count.lost"))) {
      found.push(cumulativeSpec("Lost parts so far (what they would have paid is not known)", (one, arm) => one.total("count.lost", arm), low));
    }
    return found;
  },
  table: (log) => ({
    head: [`until ${log.unit || "time"}`, ...log.arms.flatMap((name) => [`${name}: received`, "outstanding", "late"])],
    rows: sampleEdges(log).map((b) => [short(log.edge(b)), ...log.arms.flatMap((_, arm) => [
      short(log.total("sum.parts", arm)[b]), log.means_known ? short(log.outstanding(arm)[b]) : "–", short(log.total("sum.late", arm)[b]),
    ])]),
  }),
};

// Bins taken together so that a column is some pixels wide: [first, after the last].
function groups(log, width) {
  const first = log.bin(state.from), last = Math.min(log.bin(state.to) + 1, log.time.bins), size = Math.max(1, Math.ceil((last - first) / Math.max(width / 5, 1)));
  const found = [];
  for (let b = first - (first % size); b < last; b += size) found.push([Math.max(b, 0), Math.min(b + size, log.time.bins)]);
  return found;
}
// The end of the last bin of time in which there was a decision.
function lastDecision(log) {
  const made = log.arms.map((_, arm) => log.total("count.pulls", arm));
  let b = log.time.bins;
  while (b > 0 && made.every((one) => one[b] === one[b - 1])) b--;
  return log.edge(b);
}
function groupAt(log, width, time) {
  return groups(log, width).find((one) => time < log.edge(one[1])) || [0, 1];
}
function shareIn(log, arm, first, last) {
  const count = (one) => log.total("count.pulls", one)[last] - log.total("count.pulls", one)[first];
  const all = log.arms.reduce((sum, _, one) => sum + count(one), 0);
  return all ? count(arm) / all : NaN;
}
const percent = (value) => (Number.isNaN(value) ? "–" : `${(100 * value).toFixed(value > 0 && value < 0.1 ? 1 : 0)} %`);

const allocation = {
  id: "allocation", title: "Allocation: which arms were pulled",
  about: (log) => {
    const looks = log.looks.length ? " Vertical lines: looks into the trial, at the time up to which they know the data, and what they decided." : "";
    const changes = log.changes.length ? " Vertical lines: from there on, decisions were made in another way." : "";
    const end = lastDecision(log), over = end < log.end - 0.05 * (log.end - log.begin) ? ` No decision was made after ${log.unit || "time"} ${short(end)}; parts came until ${short(log.end)}.` : "";
    return `The share of each arm in the decisions of a short stretch of time, from the first arm at the bottom to the last at the top.${over}${looks}${changes}`;
  },
  panels: () => [{
    title: "Share of decisions, by arm", height: 190, namesLooks: true, tickText: (value) => `${Math.round(value * 100)} %`,
    range: () => [0, 1],
    draw: (panel) => {
      const { log, ink } = panel;
      for (const [first, last] of groups(log, panel.width)) {
        let lower = 0;
        const left = Math.round(panel.x(log.edge(first))), right = Math.round(panel.x(log.edge(last)));
        log.arms.forEach((name, arm) => {
          const share = shareIn(log, arm, first, last);
          if (!share) return;
          ink.fillStyle = colourOf(name, panel.colours.dark);
          ink.globalAlpha = state.arm === null || state.arm === name ? 0.9 : 0.13;
          ink.fillRect(left, panel.y(lower + share), Math.max(right - left, 1), panel.y(lower) - panel.y(lower + share));
          lower += share;
        });
      }
      ink.globalAlpha = 1;
    },
    arms: (panel, time) => {
      const { log } = panel, pair = groupAt(log, panel.width, time);
      return areasOn(log.arms.map((_, arm) => arm), (arm) => shareIn(log, arm, ...pair));
    },
    tip: (panel, time) => {
      const { log } = panel, pair = groupAt(log, panel.width, time);
      const names = chosen(log).filter((arm) => shareIn(log, arm, ...pair) > 0);
      return [[stretchText(log, log.edge(pair[0]), log.edge(pair[1]))], ...names.map((arm) => [`${log.arms[arm]}: ${percent(shareIn(log, arm, ...pair))}`, colourOf(log.arms[arm])])];
    },
    label: ({ log }) => {
      const shares = log.arms.slice(0, 5).map((name, arm) => `${name} ${percent(shareIn(log, arm, 0, log.time.bins))}`);
      const looks = log.looks.filter((look) => look.closed.length).map((look) => ` Look ${look.number}: ${look.text}.`);
      return `Over the whole log: ${shares.join(", ")}.${looks.join("")}${log.changes.map((one) => ` ${one.text}.`).join("")}`;
    },
  }, ...(page.logs.some((log) => log.probabilities) ? [{
    ...perArmSpec("Probability with which each arm was chosen, averaged over each step of time", "probabilities", "this log has no probabilities", () => [0, 1]),
    tickText: (value) => `${Math.round(value * 100)} %`,
  }] : [])],
  extra: (log) => (log.looks.length ? ["Table of the looks", {
    head: ["look", log.unit || "time", ...log.look_arms.flatMap((name) => [`${name}: counted`, "estimate"]), "decision"],
    rows: log.looks.map((look) => [look.number, short(look.time), ...look.counted.flatMap((number, arm) => [short(number), short(look.estimate[arm])]), look.text]),
  }] : null),
  table: (log) => ({
    head: [`until ${log.unit || "time"}`, ...log.arms.flatMap((name) => [`${name}: pulls so far`, "share since the row above"])],
    rows: sampleEdges(log).map((b, i, all) => [short(log.edge(b)), ...log.arms.flatMap((_, arm) => [
      short(log.total("count.pulls", arm)[b]), percent(shareIn(log, arm, i ? all[i - 1] : log.bin(state.from), b)),
    ])]),
  }),
};

// The mean of what closed pulls of an arm paid so far, and how far the 95 % interval reaches from it.
function closedMean(log, arm, b) {
  const place = arm * log.time.bins + b - 1;
  return b ? [log.array("closed.mean")[place], log.array("closed.reach")[place]] : [NaN, NaN];
}
// An index or a probability of an arm in a bin of time; the arms that are taken together have none.
function valueAt(log, name, arm, b) {
  return b < log.time.bins && arm < log.array(name).length / log.time.bins ? log.array(name)[arm * log.time.bins + b] : NaN;
}
function perArmSpec(title, name, none, range) {
  return {
    title, height: 210,
    range: () => ofAll((log) => (log[name] ? range(chosen(log).flatMap((arm) => edges(log).map((b) => valueAt(log, name, arm, b)))) : [Infinity, -Infinity])),
    draw: (panel) => {
      const { log } = panel;
      if (!log[name]) { panel.say(none); return; }
      for (const arm of chosen(log)) {
        const unknown = (b) => log.sampled || !log.arms.some((_, one) => log.total("count.pulls", one)[b + 1] > log.total("count.pulls", one)[b]); // no decision there
        const points = edges(log).map((b) => [b, valueAt(log, name, arm, b)]).filter(([b, value]) => Number.isFinite(value) || !unknown(b)); // NaN at decisions interrupts the line
        panel.line(points.map(([b, value]) => [log.edge(b) + log.time.width / 2, value]), colourOf(log.arms[arm], panel.colours.dark), { dash: dashOf(log.arms[arm]) });
      }
    },
    arms: ({ log }, time) => (log[name] ? chosen(log).map((arm) => [arm, valueAt(log, name, arm, log.bin(time)), valueAt(log, name, arm, log.bin(time))]) : []),
    tip: ({ log }, time) => {
      const row = (arm) => [`${log.arms[arm]}: ${short(valueAt(log, name, arm, log.bin(time)))}`, colourOf(log.arms[arm])];
      return [[moment(log, time)], ...(log[name] ? chosen(log).map(row) : [])];
    },
  };
}
function middleRange(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (!sorted.length) return [0, 1];
  const low = sorted[Math.floor(sorted.length * 0.005)], high = sorted[Math.min(Math.floor(sorted.length * 0.98), sorted.length - 1)], room = (high - low || Math.abs(high) || 1) * 0.12;
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}
const meanSpec = (log) => ({
  title: `Mean of what closed pulls paid so far (${log.reward}), with 95\u00a0% interval`, height: 210,
  range: () => ofAll((one) => middleRange(chosen(one).flatMap((arm) => edges(one).flatMap((b) => {
    const [mean, reach] = closedMean(one, arm, b);
    return Number.isFinite(reach) ? [mean - reach, mean + reach] : [mean];
  })))),
  draw: (panel) => {
    const { log: one } = panel, bins = edges(one);
    for (const arm of chosen(one)) {
      const name = one.arms[arm], colour = colourOf(name, panel.colours.dark);
      const known = bins.filter((b) => Number.isFinite(closedMean(one, arm, b)[1])), found = known.map((b) => closedMean(one, arm, b));
      panel.area(known.map(one.edge), found.map(([mean, reach]) => mean - reach), found.map(([mean, reach]) => mean + reach), colour, 0.18);
      panel.line(bins.map((b) => [one.edge(b), closedMean(one, arm, b)[0]]), colour, { dash: dashOf(name) });
      if (one.means[arm] !== null) panel.line([[state.from, one.means[arm]], [state.to, one.means[arm]]], colour, { width: 1, dash: [2, 4] });
    }
    nameLines(panel, (arm, b) => closedMean(one, arm, b)[0]);
  },
  arms: (panel, time) => linesAt(panel, time, (arm, b) => closedMean(panel.log, arm, b)[0]),
  tip: ({ log }, time) => [[`at the end of ${moment(log, time)}`], ...chosen(log).map((arm) => {
    const [mean, reach] = closedMean(log, arm, log.bin(time) + 1);
    return [`${log.arms[arm]}: ${short(mean)} ± ${short(reach)}`, colourOf(log.arms[arm])];
  })],
});

// Why closed pulls pay less than the true means say, where parts are lost or come too late.
function belowMeans(log) {
  const gone = [["count.lost", "are lost"], ["count.late", "came too late"]].map(([name, words]) => [log.all(name), words]).filter(([number]) => number);
  if (!gone.length || !log.means_known || log.sampled) return "";
  const told = gone.map(([number, words]) => `${counted(number, "part")} ${words}`).join(" and ");
  return ` The true means are of pulls of which every part arrives in time. Here ${told}, and closed pulls were not credited with them: so their mean may stay below.`;
}
const belief = {
  id: "belief", title: "Belief: what the policy went by",
  about: (log) => {
    const dotted = log.means_known ? "; the dotted lines are the arms' true means from the log's header" : "";
    const indices = "The index by which the policy ranks each arm, averaged over the decisions of a step of time; it pulls the arm with the largest. Below: what closed pulls paid on average";
    const none = `The log has no indices of the policy${log.simulated ? " (log with --log-detail indices to see them)" : ""}. Shown instead: what closed pulls paid on average`;
    return `${log.indices ? indices : none}${dotted}.${belowMeans(log)}`;
  },
  missing: (log) => (log.only_pulls && !log.indices ? "The log holds only the pulls, without indices: nothing is known about what the policy believed." : null),
  panels: (log) => {
    const found = [];
    if (page.logs.some((one) => one.indices)) {
      found.push(perArmSpec(`Index of each arm (${log.index_unit})`, "indices", "this log has no indices", middleRange));
    }
    return log.only_pulls ? found : [...found, meanSpec(log)];
  },
  table: (log) => ({
    head: [`until ${log.unit || "time"}`, ...log.arms.flatMap((name) => [`${name}: closed pulls`, "mean", "±", ...(log.indices ? ["index"] : [])])],
    rows: sampleEdges(log).map((b) => [short(log.edge(b)), ...log.arms.flatMap((_, arm) => {
      const [mean, reach] = closedMean(log, arm, b), index = log.indices ? [short(valueAt(log, "indices", arm, b - 1))] : [];
      return [short(log.total("count.closed", arm)[b]), short(mean), short(reach), ...index];
    })]),
  }),
};

const logColour = (number, dark = theme().dark) => lighter(page.colours[number % page.colours.length], dark);
// Where a log first decides otherwise than the first one; on a live page the first one may be another run by now.
function parting(log) {
  const found = log.divergence, first = page.logs[0];
  return found && (!page.live || (first.policy === found.policy && first.run === found.run)) ? found : null;
}
function partingWords(log) {
  const found = parting(log), first = `“${page.logs[0].label}”`;
  if (found) return `“${log.label}” first decides otherwise than ${first} in pull ${found.pull.toLocaleString("en")}.`;
  if (page.live) return "";
  return log.arms.join() === page.logs[0].arms.join() ? `“${log.label}” decides as ${first} as far as both go.` : `“${log.label}” has other arms than ${first}.`;
}
const regretFigure = {
  id: "regret", title: "The logs compared: pseudo-regret of each", single: true,
  about: () => `What was lost in expectation by pulling other arms than the best one, from the means in the headers. ${page.logs.slice(1).map(partingWords).join(" ")}`,
  panels: () => [{
    title: "Pseudo-regret so far", single: true, name: () => `Pseudo-regret so far${page.logs.some(parting) ? "; vertical lines: the first decision that differs from the first log's" : ""}`, height: 230,
    range: () => extent(page.logs.map((log) => edges(log).map((b) => log.regret()[b]))),
    legend: (panel) => page.logs.forEach((log, number) => {
      const { ink, colours } = panel, top = panel.top + 28 + 17 * number, text = `${log.label}: ${short(log.regret()[log.time.bins])}`;
      ink.font = "13px system-ui, 'DejaVu Sans', sans-serif"; ink.textBaseline = "middle";
      ink.fillStyle = colours.back; ink.globalAlpha = 0.85;
      ink.fillRect(panel.left + 7, top - 9, Math.min(ink.measureText(text).width, panel.width / 2) + 30, 18);
      ink.globalAlpha = 1; ink.fillStyle = logColour(number, colours.dark);
      ink.fillRect(panel.left + 10, top - 2, 18, 4);
      ink.fillStyle = colours.text;
      ink.fillText(text, panel.left + 34, top, panel.width / 2);
    }),
    draw: (panel) => page.logs.forEach((log, number) => {
      const colour = logColour(number, panel.colours.dark);
      panel.line(edges(log).map((b) => [log.edge(b), log.regret()[b]]), colour, { width: 2.2 });
      const found = parting(log);
      if (found) panel.line([[found.time, panel.low], [found.time, panel.high]], colour, { dash: [4, 3], width: 1.2 });
    }),
    tip: (panel, time) => [[`at ${timeText(panel.log, time)}`], ...page.logs.map((log, number) => [`${log.label}: ${short(log.regret()[log.bin(time) + 1])}`, logColour(number)])],
    label: () => page.logs.map((log) => `${log.label}: ${short(log.regret()[log.time.bins])}`).join(", "),
  }],
  table: () => ({
    head: ["log", "decisions", "pseudo-regret", "first decision that differs"],
    rows: page.logs.map((log) => [log.label, short(log.pulls), short(log.regret()[log.time.bins]), parting(log) ? `pull ${parting(log).pull.toLocaleString("en")}` : "–"]),
  }),
};
