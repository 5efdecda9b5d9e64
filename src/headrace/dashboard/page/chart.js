"use strict";
// What every pipeline's caller waited, and how busy each GPU was, over the last minutes on one axis.

const KEPT = 600; // looks; as many as the server keeps
const HEIGHT = 170;
const HUES = { light: ["#c2410c", "#7c3aed", "#be185d", "#0369a1", "#4d7c0f", "#92400e"], dark: ["#fb923c", "#a78bfa", "#f472b6", "#38bdf8", "#a3e635", "#fcd34d"] };
const GPU = { light: "#15803d", dark: "#4ade80" };

class Chart {
  constructor(place, legend) {
    this.place = place;
    this.legend = legend;
    this.points = [];
    this.names = new Map(); // of each pipeline, in the order in which they came
    this.plot = null;
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => this.renew());
    new ResizeObserver(() => this.plot?.setSize({ width: this.place.clientWidth, height: HEIGHT })).observe(place);
  }

  add(points, names) {
    const before = this.keys().join();
    this.points = [...this.points, ...points].slice(-KEPT);
    if (names.size) this.names = new Map([...names, ...[...this.names].filter(([key]) => !names.has(key))]);
    const seen = new Set(this.points.flatMap((point) => Object.keys(point.waits)));
    for (const key of this.names.keys()) if (!seen.has(key)) this.names.delete(key);
    for (const key of seen) if (!this.names.has(key)) this.names.set(key, `process ${key.slice(0, key.indexOf(":"))}, ${key.slice(key.indexOf(":") + 1, key.lastIndexOf(":"))}`);
    if (this.plot === null || this.keys().join() !== before || names.size) this.renew();
    else this.plot.setData(this.data());
  }

  gpus() { return Math.max(0, ...this.points.map((point) => point.gpus.length)); }

  keys() { return [...this.names.keys(), ...Array.from({ length: this.gpus() }, (_, number) => `GPU ${number}`)]; }

  data() {
    const per = (value) => (value === null || value === undefined ? null : 100 * value);
    return [
      this.points.map((point) => point.at_s),
      ...[...this.names.keys()].map((key) => this.points.map((point) => per(point.waits[key]))),
      ...Array.from({ length: this.gpus() }, (_, number) => this.points.map((point) => per(point.gpus[number]))),
    ];
  }

  renew() {
    const shade = this.dark.matches ? "dark" : "light";
    const style = getComputedStyle(document.documentElement);
    const faint = style.getPropertyValue("--faint").trim(), line = style.getPropertyValue("--line").trim();
    const series = this.keys().map((key, number) => {
      const isGpu = number >= this.names.size;
      return { label: isGpu ? `${key} busy` : `${this.names.get(key)} waits`, stroke: isGpu ? GPU[shade] : HUES[shade][number % HUES[shade].length],
        width: 2, spanGaps: true, dash: isGpu ? [6, 4] : [], points: { show: this.points.length < 2 } };
    });
    const axis = { stroke: faint, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    this.plot?.destroy();
    this.plot = new uPlot({
      width: this.place.clientWidth, height: HEIGHT, legend: { show: false }, cursor: { y: false, drag: { x: false, y: false } },
      scales: { x: { time: true, range: (_, low, high) => [Math.min(low, high - 60), high] }, y: { range: [0, 100] } },
      axes: [{ ...axis, size: 26, space: 90, values: (_, ticks) => ticks.map((tick) => new Date(tick * 1000).toLocaleTimeString("en-GB")) }, { ...axis, size: 38, splits: [0, 25, 50, 75, 100] }],
      series: [{}, ...series],
    }, this.data(), this.place);
    this.legend.replaceChildren(...series.map((one) => made("li", "",
      drawn("svg", { width: 20, height: 4 }, drawn("path", { d: "M0 2H20", stroke: one.stroke, "stroke-width": 3, "stroke-dasharray": one.dash.join(" ") || "none" })), one.label)));
    document.getElementById("and-gpus").hidden = this.gpus() === 0;
  }
}
