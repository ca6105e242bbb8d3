"use strict";
(() => {
  // ---- Making nodes. Text only ever becomes a text node, so no name or label can turn into markup. ----

  const SVG = "http://www.w3.org/2000/svg";

  function dress(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  const html = (tag, attributes = {}, ...children) => dress(document.createElement(tag), attributes, children);
  const svg = (tag, attributes = {}, ...children) => dress(document.createElementNS(SVG, tag), attributes, children);

  // The colour goes through a custom property because the style sheet adapts it to the theme.
  function coloured(node, series) {
    node.classList.add("curve");
    node.classList.toggle("dashed", series.dashed);
    node.style.setProperty("--colour", series.colour);
    return node;
  }

  const swatch = (series) => coloured(html("span", { class: "swatch" }), series);

  // ---- Numbers as text ----

  const typeset = (text) => text.replace("-", "−");
  const power = (exponent) => "10" + String(exponent).replace(/./g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
  const exponentOf = (value) => Math.floor(Math.log10(Math.abs(value)) + 1e-9);

  function format(value) {
    const size = Math.abs(value);
    if (size >= 1e3 && size < 1e6) return typeset(Math.round(value).toLocaleString("en"));
    if (size === 0 || (size >= 1e-3 && size < 1e3)) return typeset(String(Number(value.toPrecision(3))));
    const [mantissa, exponent] = value.toExponential(2).split("e");
    return `${typeset(mantissa)}×${power(Number(exponent))}`;
  }

  const pen = document.createElement("canvas").getContext("2d");

  function widest(labels) {
    pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    return Math.max(0, ...labels.map((label) => pen.measureText(label).width));
  }

  // ---- Scales: from a range of values to pixels, with ticks as {value, label} and minor ticks as values ----

  function linearTicks(low, high, room) {
    const rough = (high - low) / room;
    const unit = 10 ** exponentOf(rough);
    const step = unit * [1, 2, 5, 10].find((factor) => factor * unit >= rough * (1 - 1e-9));
    const first = Math.ceil(low / step - 1e-9);
    const count = Math.floor(high / step + 1e-9) - first + 1;
    const values = Array.from({ length: Math.max(count, 0) }, (_, i) => (first + i) * step);
    const largest = Math.max(...values.map(Math.abs), step);
    const exponent = largest >= 1e5 || largest < 1e-2 ? exponentOf(largest) : 0;
    const decimals = Math.max(0, exponent - exponentOf(step));
    const tail = exponent ? `×${power(exponent)}` : "";
    const label = (value) => (value === 0 ? "0" : typeset((value / 10 ** exponent).toFixed(decimals)) + tail);
    return { ticks: values.map((value) => ({ value, label: label(value) })), minor: [] };
  }

  // Every 1..9 times a power of ten inside the range.
  function multiples(low, high) {
    const found = [];
    for (let e = exponentOf(low); e <= exponentOf(high); e++) {
      for (let m = 1; m < 10; m++) found.push({ value: m * 10 ** e, m, e });
    }
    return found.filter(({ value }) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
  }

  function logTicks(low, high, room) {
    const all = multiples(low, high);
    const decades = all.filter(({ m }) => m === 1);
    if (decades.length >= 2) {
      const stride = Math.ceil(decades.length / room);
      const ticks = decades.filter(({ e }) => e % stride === 0).map(({ value, e }) => ({ value, label: power(e) }));
      return { ticks, minor: (stride === 1 ? all : decades).map(({ value }) => value) };
    }
    // Less than two decades: powers of ten alone would leave the axis without a scale to read.
    const fine = all.filter(({ m }) => m === 1 || m === 2 || m === 5);
    if (fine.length < 3) return linearTicks(low, high, room);
    const ticks = fine.map(({ value }) => ({ value, label: format(value) }));
    return { ticks, minor: all.map(({ value }) => value) };
  }

  // The range of the values with a little air around it.
  function padded(values, log) {
    let low = values.reduce((a, b) => Math.min(a, b));
    const high = values.reduce((a, b) => Math.max(a, b));
    if (log) {
      const air = (high / low) ** 0.03;
      return low === high ? [low / 2, high * 2] : [low / air, high * air];
    }
    if (low > 0 && low < high / 4) low = 0;
    const air = low === high ? Math.abs(low) / 2 || 1 : (high - low) * 0.03;
    return [low === 0 ? 0 : low - air, high + air];
  }

  function scale(values, log, room) {
    const [low, high] = padded(values, log);
    const bend = log ? Math.log : (value) => value;
    const share = (value) => (bend(value) - bend(low)) / (bend(high) - bend(low));
    return { share, ...(log ? logTicks : linearTicks)(low, high, room) };
  }

  // ---- Curves as points ----

  const shows = (value, log) => value !== null && value !== undefined && (!log || value > 0);

  // One entry per row: a point, or null where the axes cannot show it and the curve breaks.
  function pointsOf(series, axes) {
    const ys = series.values[axes.y.quantity] ?? [];
    const lows = series.low[axes.y.quantity] ?? [];
    const highs = series.high[axes.y.quantity] ?? [];
    return (series.values[axes.x.quantity] ?? []).map((x, i) => {
      if (!shows(x, axes.x.log) || !shows(ys[i], axes.y.log)) return null;
      const banded = shows(lows[i], false) && shows(highs[i], axes.y.log);
      return { x, y: ys[i], low: banded ? lows[i] : null, high: banded ? highs[i] : null };
    });
  }

  function runs(points) {
    const found = [[]];
    for (const point of points) {
      if (point) found[found.length - 1].push(point);
      else if (found[found.length - 1].length) found.push([]);
    }
    return found.filter((run) => run.length);
  }

  const nearest = (points, x) => points.reduce((a, b) => (Math.abs(b.px - x) < Math.abs(a.px - x) ? b : a));

  // ---- A chart: its controls, its drawing, its tooltip ----

  const EDGE = { top: 6, right: 14, bottom: 22 };

  class ChartView {
    constructor(chart, section) {
      this.chart = chart;
      this.section = section; // which names are hidden, and in which views: shared by its charts
      this.axes = {
        x: { quantity: chart.x[0][0], log: chart.logX },
        y: { quantity: chart.y[0][0], log: chart.logY },
      };
      const figure = document.getElementById(`chart-${chart.key}`);
      for (const part of ["legend", "ylabel", "plot", "xlabel", "controls"]) {
        this[part] = figure.querySelector(`.${part}`);
      }
      this.tooltip = html("div", { class: "tooltip", role: "status" });
      this.svg = svg("svg", { role: "img", tabindex: 0 });
      this.plot.append(this.svg, this.tooltip);
      for (const series of chart.series) if (!series.shown) section.hidden.add(series.name);
      this.buildLegend();
      for (const name of ["x", "y"]) this.buildAxis(name, chart[name]);
      this.listen();
      this.width = 0;
      new ResizeObserver(() => this.plot.clientWidth !== this.width && this.draw()).observe(this.plot); // draws at once
    }

    buildLegend() {
      this.buttons = this.chart.series.map((series) => {
        const button = html("button", { type: "button" }, swatch(series), html("span", {}, series.name));
        button.addEventListener("click", () => this.toggle(series.name));
        return button;
      });
      this.legend.append(...this.buttons);
    }

    toggle(name) {
      const { hidden, views } = this.section;
      if (!hidden.delete(name)) hidden.add(name);
      for (const view of views) view.draw();
    }

    buildAxis(name, quantities) {
      const axis = this.axes[name];
      const change = (choice) => {
        Object.assign(axis, choice);
        this.draw();
      };
      const select = html("select", { "data-axis": name, "aria-label": `Quantity on the ${name} axis` });
      select.append(...quantities.map(([quantity, label]) => html("option", { value: quantity }, label)));
      select.addEventListener("change", () => change({ quantity: select.value }));
      const box = html("input", { type: "checkbox", "data-axis": name, "aria-label": `Logarithmic ${name} axis` });
      box.checked = axis.log;
      box.addEventListener("change", () => change({ log: box.checked }));
      const choices = quantities.length > 1 ? [select] : [];
      this.controls.append(html("span", { class: "axis" }, name, ...choices, html("label", {}, box, "log")));
    }

    labelOf(name) {
      return this.chart[name].find(([quantity]) => quantity === this.axes[name].quantity)[1];
    }

    draw() {
      this.hide();
      const pressed = ({ name }) => !this.section.hidden.has(name);
      this.chart.series.forEach((series, i) => this.buttons[i].setAttribute("aria-pressed", pressed(series)));
      this.xlabel.textContent = this.labelOf("x");
      this.ylabel.textContent = this.labelOf("y");
      this.svg.setAttribute("aria-label", `${this.chart.title}: ${this.labelOf("y")} against ${this.labelOf("x")}`);
      this.width = Math.max(160, this.plot.clientWidth); // narrower pictures are scaled down
      this.height = Math.round(Math.min(400, Math.max(220, this.width * 0.68)));
      this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
      // The axes fit the curves that show: hiding one gives the others its room.
      const shown = this.chart.series.filter(pressed);
      this.curves = shown.map((series) => ({ series, points: pointsOf(series, this.axes) }));
      const points = this.curves.flatMap((curve) => curve.points.filter(Boolean));
      if (points.length) this.drawPoints(points);
      else this.drawNothing();
    }

    drawNothing() {
      const log = this.axes.x.log || this.axes.y.log;
      const why = this.curves.length && log ? "Nothing positive to show: try linear axes" : "No curve to show";
      const place = { x: this.width / 2, y: this.height / 2, "text-anchor": "middle" };
      this.svg.replaceChildren(svg("text", place, why));
      this.marks = null;
    }

    drawPoints(points) {
      const { log } = this.axes.y;
      const heights = points.flatMap(({ y, low, high }) => [y, low, high].filter((value) => shows(value, log)));
      const bottom = this.height - EDGE.bottom;
      const y = scale(heights, log, Math.floor((bottom - EDGE.top) / 34));
      const left = Math.ceil(widest(y.ticks.map(({ label }) => label))) + 10;
      const right = this.width - EDGE.right;
      const x = scale(points.map((point) => point.x), this.axes.x.log, Math.max(2, Math.floor((right - left) / 62)));
      this.box = { left, right, top: EDGE.top, bottom };
      this.px = (value) => left + x.share(value) * (right - left);
      this.py = (value) => (log && value <= 0 ? bottom : bottom - y.share(value) * (bottom - EDGE.top));
      for (const point of points) Object.assign(point, { px: this.px(point.x), py: this.py(point.y) });
      const bands = this.curves.map((curve) => this.band(curve));
      const lines = this.curves.map((curve) => this.line(curve)); // above all bands, never under that of another curve
      this.marks = svg("g");
      this.svg.replaceChildren(...this.drawAxes(x, y), ...bands, ...lines, this.marks);
    }

    drawAxes(x, y) {
      const { left, right, top, bottom } = this.box;
      const down = (value, reach) => `M${this.px(value)} ${bottom}v${reach}`;
      const outwards = (value, reach) => `M${left} ${this.py(value)}h${-reach}`;
      const below = ({ value, label }) => {
        const at = Math.min(this.px(value), this.width - widest([label]) / 2); // moved inwards before it is cut off
        return svg("text", { class: "x-tick", x: at, y: bottom + 17, "text-anchor": "middle" }, label);
      };
      const beside = ({ value, label }) =>
        svg("text", { class: "y-tick", x: left - 8, y: this.py(value) + 4, "text-anchor": "end" }, label);
      const frame = svg("path", { class: "frame", d: `M${left} ${top}V${bottom}H${right}` });
      return [...this.axis(x, down, top - bottom, below), ...this.axis(y, outwards, left - right, beside), frame];
    }

    // The stroke of a tick starts on the axis and reaches outwards; the grid's reaches across the picture.
    axis({ ticks, minor }, stroke, across, text) {
      const draw = (kind, reach) => (value) => svg("path", { class: kind, d: stroke(value, reach) });
      const values = ticks.map(({ value }) => value);
      const outside = [...minor.map(draw("minor", 3)), ...values.map(draw("tick", 5))];
      return [...values.map(draw("grid", across)), ...outside, ...ticks.map(text)];
    }

    band({ series, points }) {
      const edge = (run, side) => run.map((point) => `${point.px.toFixed(1)} ${this.py(point[side]).toFixed(1)}`);
      const outline = (run) => `M${[...edge(run, "high"), ...edge(run, "low").reverse()].join("L")}Z`;
      const banded = points.map((point) => (point && point.high !== null ? point : null));
      return coloured(svg("path", { class: "band", d: runs(banded).map(outline).join("") }), series);
    }

    line({ series, points }) {
      // The line of length zero makes a point between two holes visible, as a dot.
      const trace = (run) => `M${run.map(({ px, py }) => `${px.toFixed(1)} ${py.toFixed(1)}`).join("L")}h0`;
      const path = svg("path", { class: "line", d: runs(points).map(trace).join("") });
      const group = svg("g", { "data-series": series.name }, coloured(path, series));
      const dot = ({ px, py }) => coloured(svg("circle", { class: "dot", cx: px, cy: py, r: 2.6 }), series);
      if (series.points) group.append(...points.filter(Boolean).map(dot));
      return group;
    }

    // ---- The tooltip follows the pointer, a finger, or the arrow keys ----

    listen() {
      const follow = (event) => {
        const frame = this.svg.getBoundingClientRect();
        this.show(((event.clientX - frame.left) * this.width) / frame.width);
      };
      this.svg.addEventListener("pointermove", follow);
      this.svg.addEventListener("pointerdown", follow);
      // A finger that lifts also leaves; its tooltip stays until the next touch elsewhere, or it could not be read.
      this.svg.addEventListener("pointerleave", (event) => event.pointerType === "touch" || this.hide());
      document.addEventListener("pointerdown", (event) => this.svg.contains(event.target) || this.hide());
      this.svg.addEventListener("blur", () => this.hide());
      this.svg.addEventListener("keydown", (event) => this.step(event));
    }

    step(event) {
      const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") this.hide();
      if (!way || !this.marks) return;
      event.preventDefault();
      const from = this.at ?? (way > 0 ? 0 : this.width);
      const stops = this.curves.flatMap(({ points }) => points.filter(Boolean).map(({ px }) => px));
      const ahead = stops.map((px) => (px - from) * way).filter((distance) => distance > 0.5);
      if (ahead.length) this.show(from + way * Math.min(...ahead));
    }

    show(x) {
      if (!this.marks) return;
      const drawn = this.curves.map(({ series, points }) => ({ series, points: points.filter(Boolean) }));
      const curves = drawn.filter(({ points }) => points.length);
      const guide = nearest(curves.map(({ points }) => nearest(points, x)), x);
      const found = curves.map(({ series, points }) => ({ series, point: nearest(points, guide.px) }));
      this.at = guide.px;
      const stroke = svg("path", { class: "guide", d: `M${guide.px} ${this.box.top}V${this.box.bottom}` });
      const mark = ({ series, point: { px, py } }) =>
        coloured(svg("circle", { class: "near", cx: px, cy: py, r: 4 }), series);
      this.marks.replaceChildren(stroke, ...found.map(mark));
      const caption = html("caption", {}, `${this.labelOf("x")}: ${format(guide.x)}`);
      this.tooltip.replaceChildren(html("table", {}, caption, ...found.map((entry) => this.row(entry, guide))));
      this.place(guide.px);
    }

    // A value's own x is told where it is not the guide's: curves need not share their grid, nor end together.
    row({ series, point }, guide) {
      const asides = [];
      if (point.high !== null) asides.push(`${format(point.low)} to ${format(point.high)}`);
      if (Math.abs(point.px - guide.px) > 6) asides.push(`at ${format(point.x)}`);
      const name = html("td", {}, swatch(series), series.name);
      const value = html("td", { class: "value" }, format(point.y));
      return html("tr", {}, name, value, html("td", { class: "aside" }, asides.join(", ")));
    }

    // Beside the guide where there is room for that. In a small picture it would hide the curves: there it lies below,
    // or above where the window ends.
    place(x) {
      this.tooltip.hidden = false;
      this.tooltip.style.left = "0"; // measured where nothing squeezes it
      const { offsetWidth: width, offsetHeight: height } = this.tooltip;
      const small = this.width < 520;
      const fits = this.plot.getBoundingClientRect().bottom + height < window.innerHeight;
      const left = small ? x - width / 2 : x < this.width / 2 ? x + 14 : x - 14 - width;
      this.tooltip.style.left = `${Math.max(0, Math.min(left, this.plot.clientWidth - width))}px`;
      this.tooltip.style.top = `${!small ? EDGE.top : fits ? this.height : -height}px`;
    }

    hide() {
      this.at = null;
      this.tooltip.hidden = true;
      if (this.marks) this.marks.replaceChildren();
    }
  }

  // ---- Start ----

  const sections = [];
  for (const chart of JSON.parse(document.getElementById("charts").textContent)) {
    const section = (sections[chart.section] ??= { hidden: new Set(), views: [] });
    section.views.push(new ChartView(chart, section));
  }
})();
