"use strict";
// What runs, as the server sees it once a second.

const LATE_S = 3; // for so long a process is shown that does not answer any more
const state = document.getElementById("state");
const chart = new Chart(document.getElementById("chart"), document.getElementById("legend"));

function processView(process) {
  const of = process.world_size > 1 ? `rank ${process.rank} of ${process.world_size}` : null;
  const view = made("article", process.late ? "late" : "", made("div", "process", made("h3", "", process.program || "a process"),
    made("span", "", `pid ${process.pid}`), of ? made("span", "", of) : null));
  if (process.error) view.append(made("p", "failed", process.error));
  else if (!process.runs.length) view.append(made("p", "summary", "between two runs"));
  view.append(...process.runs.map(runView));
  return view;
}

let shown = null; // what was shown last, to be drawn again where the page has another width

function show(told) {
  shown = told;
  const views = told.processes.map(processView);
  document.getElementById("processes").replaceChildren(...views);
  document.getElementById("nothing").hidden = views.length > 0;
  for (const view of document.querySelectorAll(".run")) view.settle?.();
}

function namesOf(processes) {
  const names = new Map();
  for (const process of processes)
    for (const run of process.runs) {
      const rank = process.world_size > 1 ? `rank ${process.rank}` : `${process.program} (${process.pid})`;
      names.set(run.curve, `${rank}, ${run.name ?? run.number}`);
    }
  return names;
}

let known = "";
const seen = new Map(); // of each process what it told last: between two epochs it may be closed

function withLate(told) {
  for (const process of told.processes) seen.set(process.pid, { process, at_s: told.at_s });
  for (const [pid, { process, at_s }] of seen) {
    if (told.at_s - at_s > LATE_S) seen.delete(pid);
    else if (at_s < told.at_s) told.processes.push({ ...process, late: true });
  }
}

function hear(told) {
  withLate(told);
  told.processes.sort((one, other) => (one.rank ?? Infinity) - (other.rank ?? Infinity) || one.pid - other.pid);
  const names = namesOf(told.processes);
  const fresh = JSON.stringify([...names]);
  chart.add([{ at_s: told.at_s, waits: told.waits, gpus: told.gpus }], fresh === known ? new Map() : names);
  known = fresh;
  show(told);
  const count = told.processes.filter((process) => !process.late).length;
  state.className = told.error ? "lost" : "";
  state.textContent = told.error ?? `${count} ${count === 1 ? "program" : "programs"}, ${new Date(told.at_s * 1000).toLocaleTimeString("en-GB")}`;
  document.body.dataset.ready = "yes";
}

const events = new EventSource("events");
events.addEventListener("history", (event) => { chart.points = []; chart.add(JSON.parse(event.data), new Map()); });
events.addEventListener("now", (event) => hear(JSON.parse(event.data)));
events.addEventListener("error", () => {
  state.className = "lost";
  state.textContent = "headrace dashboard does not answer: is it still running?";
});
addEventListener("resize", () => shown && show(shown));
