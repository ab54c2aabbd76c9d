// The live page: the figures of the explorer, fed by server-sent events; progress, estimates so far, and the stop button.

const live = { token: new URLSearchParams(location.search).get("token") || "", logs: new Map(), shape: "", listens: false, ended: false };

function clock(seconds) {
  const whole = Math.round(seconds), two = (value) => String(value).padStart(2, "0");
  return whole >= 3600 ? `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}` : `${Math.floor(whole / 60)}:${two(whole % 60)}`;
}
function progressText(told) {
  const { done, total, seconds } = told, share = total ? Math.min(done / total, 1) : 0;
  const left = told.status === "running" && share > 0.01 ? `, about ${clock((seconds * (1 - share)) / share)} left` : "";
  const parts = total ? `${done.toLocaleString("en")} of ${counted(total, "round")} (${Math.floor(100 * share)} %)` : counted(done, "round");
  return `${parts} in ${clock(seconds)}${left}`;
}
function statusText(told) {
  if (told.follows && told.status === "running" && !told.done) return "Reading the log …";
  if (told.follows && told.status === "running") return told.quiet > 10 ? `The log is not complete, and nothing was written to it for ${clock(told.quiet)} minutes.` : "The log is being written";
  const words = {
    complete: "The log is complete: its run has ended.", running: told.stopping ? "Stopping …" : "Running",
    finished: "The run has ended: all of it is done.", stopped: "The run has ended: it was stopped from this page. What was done is kept.",
    interrupted: "The run has ended: it was interrupted.", failed: "The run has ended: it failed. The terminal says why.",
  };
  return words[told.status] || told.status;
}
// A mean with its interval, as the tables of the command print it.
function estimateText(one) {
  if (!one) return "–";
  const text = (value) => (one.share ? percent(value) : short(value));
  return one.interval ? `${text(one.mean)} (${text(one.interval[0])} to ${text(one.interval[1])})` : `${text(one.mean)} (one run: no interval)`;
}
function estimateTable(told) {
  const heading = (name) => `${name} (95 % interval)`;
  const names = [...new Set(told.estimates.flatMap((one) => Object.keys(one)))].filter((name) => !["policy", "label", "runs"].includes(name));
  if (told.estimates.some((one) => one.label !== one.policy)) {
    const rows = told.estimates.map((one) => [one.label, one.runs.toLocaleString("en"), ...names.map((name) => estimateText(one[name]))]);
    return { head: ["design, setting or policy", "finished runs", ...names.map(heading)], rows };
  }
  const policies = [...new Set([...told.runs.map((one) => one.policy), ...told.estimates.map((one) => one.policy)])];
  const rows = policies.map((policy) => {
    const finished = told.estimates.find((one) => one.policy === policy), now = told.runs.find((one) => one.policy === policy);
    const estimates = names.map((name) => estimateText(finished && finished[name]));
    const last = now ? [`${now.run}, round ${now.round.toLocaleString("en")}`, short(now.regret)] : ["–", "–"];
    return [policy, ...(told.follows ? [] : [finished ? finished.runs.toLocaleString("en") : "0"]), ...estimates, ...last];
  });
  return { head: ["policy", ...(told.follows ? [] : ["finished runs"]), ...names.map(heading), "last run heard of", "its regret so far"], rows };
}
function buildLive() {
  const bar = element("progress", { max: "1", "aria-label": "Progress" }), words = element("p", { id: "progress" });
  const status = element("p", { id: "status", role: "status" }), table = element("div", { id: "estimates" });
  const later = element("p", { class: "note", hidden: "" });
  const stop = element("button", { type: "button", id: "stop", hidden: "", onclick: () => {
    stop.disabled = true;
    fetch("/stop", { method: "POST", headers: { "X-Token": live.token }, body: "" }).catch(() => {});
  } }, "Stop");
  byId("title").parentElement.insertBefore(element("div", { id: "live" }, element("div", { class: "row" }, status, stop), bar, words, table, later), byId("about"));
  document.querySelector("footer").textContent = "Made by tpstream. This page talks to the command that printed its address, and to nobody else.";
  return (told) => {
    live.ended = told.status !== "running";
    byId("title").textContent = document.title = told.title;
    status.textContent = statusText(told);
    if (told.total) bar.value = Math.min(told.done / told.total, 1); else bar.removeAttribute("value");
    bar.hidden = live.ended;
    words.textContent = told.total === null && !told.done ? "" : progressText(told);
    stop.hidden = live.ended || told.follows;
    stop.disabled = told.stopping;
    later.textContent = laterText();
    later.hidden = live.logs.size > 0 || told.follows;
    if (told.runs.length || told.estimates.length) table.replaceChildren(fillTable(estimateTable(told)));
    document.documentElement.dataset.status = told.status;
  };
}
// Why there are no figures.
function laterText() {
  if (live.ended) return "There are no figures: the runs were over before enough of one was known. For figures of a run, keep its log and open that with tpstream view.";
  return "Figures follow when enough of a run is known; with short runs that may take half a minute, so that the page does not slow them down.";
}
// What decides which figures there are; if it changes, all are made anew.
function shapeOf(logs) {
  return JSON.stringify(logs.map((log) => [
    log.policy, log.arms, Object.keys(log.heats), log.indices, log.probabilities, log.sampled, log.only_pulls, log.pulls > 0,
    log.events > 0, log.looks.length > 0, log.changes.length > 0, log.all("count.late") > 0, log.all("count.lost") > 0,
  ]));
}
async function takePicture({ policy, run, text }) {
  const { logs: [fresh], colours } = await unpack(text), old = live.logs.get(policy);
  fresh.run = run;
  page.colours = colours;
  if (old) Object.assign(old, fresh); else live.logs.set(policy, fresh);
  page.logs = [...live.logs.values()];
  page.logs.forEach((log, number) => { log.number = number; });
  nameLogs();
  fitTimes();
  const shape = shapeOf(page.logs);
  if (shape !== live.shape) build(); else { byId("about").replaceChildren(); buildAbout(); }
  live.shape = shape;
  byId("title").textContent = document.title;
  const log = state.pull && page.logs[state.pull.log], again = log ? log.findPull(state.pull.pull) : { known: false };
  if (again.known) state.pull = { log: log.number, ...again }; else choosePull();
  if (!live.listens) { live.listens = true; listen(); }
  changed();
  document.documentElement.dataset.ready = "yes";
}
async function startLive() {
  page = { logs: [], names: [], colours: [], live: true };
  Object.assign(state, { from: 0, to: 0, begin: 0, end: 0 });
  byId("title").textContent = "Waiting for the run …";
  const show = buildLive(), stream = new EventSource(live.token ? `events?token=${encodeURIComponent(live.token)}` : "events");
  let last = Promise.resolve(); // pictures are drawn one after the other
  stream.addEventListener("log", (event) => { last = last.then(() => takePicture(JSON.parse(event.data))); });
  stream.addEventListener("state", (event) => {
    const told = JSON.parse(event.data);
    last = last.then(() => show(told));
    if (told.status !== "running") stream.close();
  });
  stream.addEventListener("error", () => {
    if (live.ended) return;
    stream.close();
    last.then(() => {
      byId("status").textContent = "The run has ended, or was killed: the command that showed it does not answer any more.";
      byId("stop").hidden = true;
      document.documentElement.dataset.status = "lost";
    });
  });
}
