"use strict";
// A pipeline as a flow: a row a stage, sources first, and on the left what runs down from each to the one that reads it,
// as thick as its rate. Texts are set as text alone: names come from other programs.

const LANE = 18; // from one branch to the next
const EDGE = 14; // from the border to the first
const THINNEST = 1.5;
const THICKEST = 13;

function made(kind, classes, ...children) {
  const element = document.createElement(kind);
  if (classes) element.className = classes;
  element.append(...children.filter((child) => child !== null));
  return element;
}

function drawn(kind, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function quantity(value) {
  if (value === null) return "–";
  if (value === 0) return "0";
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}

function duration(seconds) {
  if (seconds === null) return "–";
  for (const [unit, name] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]])
    if (seconds >= unit * 0.9995) return seconds >= 1000 ? `${Math.round(seconds).toLocaleString("en")} s` : `${(seconds / unit).toPrecision(3)} ${name}`;
  return `${Math.round(seconds * 1e9)} ns`;
}

const share = (value) => (value === null ? "–" : `${Math.round(value * 100)} %`);

// Returns the branch on which each stage stands: the first that a stage reads goes straight on into it, the others have one each.
function lanesOf(shapes) {
  const lanes = shapes.map(() => null);
  let used = 0;
  for (let number = shapes.length - 1; number >= 0; number--) {
    if (lanes[number] === null) lanes[number] = number === shapes.length - 1 ? 0 : ++used;
    shapes[number].reads.forEach((read, order) => {
      if (lanes[read] === null) lanes[read] = order === 0 ? lanes[number] : ++used;
    });
  }
  return lanes.map((lane) => Math.min(lane, 6));
}

function meter(part, kind) {
  const width = Math.max(0, Math.min(1, part || 0)) * 100;
  return drawn("svg", { class: `meter ${kind}`, viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    drawn("rect", { x: 0, y: 0, width, height: 6 }));
}

function figure(text, label, gauge) {
  return made("div", "figure", text, made("small", "", label), gauge ?? null);
}

// "map 'decode' (train.py:41)" → its name, and below it its place and what it waits for.
function named(stage, isLit) {
  const found = /^(.*?) \(([^()]*:\d+)\)$/.exec(stage.name);
  const waits = [["input", stage.input_wait_share], ["room", stage.room_wait_share]].filter(([, part]) => part >= 0.05)
    .map(([what, part]) => `${what} ${share(Math.min(1, part))}`);
  const below = [...(isLit ? ["bottleneck"] : []), ...(found ? [found[2]] : []), ...(waits.length ? [`waits: ${waits.join(", ")}`] : [])];
  const name = made("div", "name", found ? found[1] : stage.name, below.length ? made("small", "", below.join(" · ")) : null);
  name.title = stage.name;
  return name;
}

function stageRow(stage, shape, isLit) {
  const room = shape.room || stage.buffered_high;
  const holds = stage.buffered_high > 0 || stage.buffered > 0;
  const row = made("div", isLit ? "stage lit" : "stage", named(stage, isLit),
    figure(quantity(stage.elements_per_s), "per s"),
    figure(stage.service.count ? duration(stage.service.p50_s) : "", stage.service.count ? "an element" : ""),
    figure(`${stage.parallelism.toFixed(1)} of ${stage.max_parallelism}`, "at work",
      meter(stage.parallelism / stage.max_parallelism, isLit ? "lit" : "")),
    holds ? figure(stage.buffered.toLocaleString("en"), "held", meter(stage.buffered / room, "held"))
      : stage.failed ? figure(stage.failed.toLocaleString("en"), "left out") : figure("", ""));
  return row;
}

function stepRow(step, waits) {
  const isSlower = waits < 0.05;
  return made("div", "stage step", made("div", "name", "your step", made("small", "", isSlower ? "the slower side" : "waits for its input")),
    figure(quantity(step.steps_per_s), "per s"),
    figure(step.computed.count ? duration(step.computed.p50_s) : "", step.computed.count ? "computes" : ""),
    figure(share(1 - waits), "computing", meter(1 - waits, "")),
    figure(share(waits), "waiting", meter(waits, waits >= 0.05 ? "lit" : "")));
}

// Draws what flows, once the rows have their places.
function drawFlow(flow, run, lanes) {
  const rows = [...flow.querySelectorAll(".stage")];
  const stages = run.stats.stages;
  const rates = stages.map((stage) => stage.elements_per_s);
  const most = Math.max(...rates, 1e-9);
  const at = (number) => [EDGE + LANE * (lanes[number] ?? 0), rows[number].offsetTop + rows[number].offsetHeight / 2];
  const width = (rate) => Math.max(THINNEST, THICKEST * Math.sqrt(rate / most));
  const canvas = drawn("svg", { width: EDGE * 2 + LANE * Math.max(...lanes), height: flow.offsetHeight, "aria-hidden": "true" });
  const edge = (from, to, rate) => {
    const [x, y] = at(from), [u, v] = at(to);
    const bend = Math.min(26, (v - y) / 2);
    const line = x === u ? `M${x} ${y}V${v}` : `M${x} ${y}V${v - bend}C${x} ${v} ${u} ${v - bend} ${u} ${v}`;
    canvas.append(drawn("path", { d: line, "stroke-width": width(rate).toFixed(2) }));
  };
  run.stages.forEach((shape, number) => shape.reads.forEach((read) => edge(read, number, rates[read])));
  edge(stages.length - 1, stages.length, rates[stages.length - 1]);
  rows.forEach((_, number) => {
    const [x, y] = at(number);
    canvas.append(drawn("circle", { cx: x, cy: y, r: 5, class: number === run.bottleneck ? "lit" : "" }));
  });
  flow.prepend(canvas);
}

function notesOf(run) {
  const notes = [];
  for (const failures of run.stats.failures.slice(0, 4)) {
    const counts = ["raised", "skipped", "replaced"].filter((kind) => failures[kind]).map((kind) => `${failures[kind].toLocaleString("en")} ${kind}`);
    const first = failures.first[0];
    notes.push(made("li", "bad", `${failures.stage} failed: ${counts.join(", ")}${first ? `; the first: ${first.origin ?? ""} ${first.message}` : ""}`));
  }
  for (const stall of run.stalls.filter((one) => one.held_s >= 1).slice(0, 4))
    notes.push(made("li", "held", `${stall.stage} ${stall.origin ? `has held ${stall.origin}` : "has worked"} for ${duration(stall.held_s)}, in ${stall.thread}`));
  for (const one of run.stats.decisions.slice(-4))
    notes.push(made("li", "decided", `after ${duration(one.at_s)}: ${one.stage}: ${one.what} ${one.before} → ${one.after}: ${one.reason}`));
  return notes.length ? made("ul", "notes", ...notes) : null;
}

function runView(run) {
  if (run.error) return made("div", "run", made("p", "failed", run.error));
  const { stats } = run;
  const isSlower = run.waits < 0.05;
  const flow = made("div", "flow");
  const lanes = lanesOf(run.stages);
  const shown = stats.stages.slice(0, run.stages.length).map((stage, number) => stageRow(stage, run.stages[number], number === run.bottleneck));
  const indent = `${EDGE * 2 + LANE * Math.max(...lanes, 0)}px`;
  flow.append(...shown, stepRow(stats.step, run.waits));
  for (const row of flow.children) row.style.paddingLeft = indent;
  const view = made("div", "run", made("p", isSlower ? "verdict fine" : "verdict slow", run.verdict || "it has just begun"),
    made("p", "summary", `${stats.elements.toLocaleString("en")} elements in ${duration(stats.elapsed_s)}`), flow, notesOf(run));
  view.settle = () => drawFlow(flow, { ...run, stats: { ...stats, stages: stats.stages.slice(0, run.stages.length) } }, [...lanes, 0]);
  return view;
}
