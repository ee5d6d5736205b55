// Adds to a page of pictures: the values under the pointer, and a zoom in time that all pictures
// share. Everything is read from the pictures: `data-x` and `data-y` of an <svg> say which pixels
// stand for which values, `data-n` of a path is its name.
"use strict";
(() => {
  const PREFIXES = {
    "bit/s": [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]],
    s: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]],
    bytes: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
  };
  const digits = (value) => Number(value.toPrecision(4)).toString();
  const withUnit = (value, unit) => {
    const prefixes = PREFIXES[unit];
    if (!prefixes) return (digits(value) + " " + unit).trim();
    const last = prefixes[prefixes.length - 1];
    const [scale, name] = prefixes.find(([scale]) => Math.abs(value) >= scale) || last;
    if (value === 0) return "0 " + prefixes.find(([scale]) => scale === 1)[1];
    return digits(value / scale) + " " + name;
  };
  // The unit of an axis of time, as the drawn axes have it: by the span shown, then by the values.
  const timeUnit = ([from, to]) => {
    if (to - from >= 10800) return [3600, "h"];
    if (to - from >= 600) return [60, "min"];
    const largest = Math.max(Math.abs(from), Math.abs(to));
    const short = largest < 2 ? largest / 2 : largest;
    const prefixes = PREFIXES.s;
    return prefixes.find(([scale]) => short >= scale * 0.999995) || prefixes[prefixes.length - 1];
  };
  // A time in that unit, as exactly as a pixel of the span shown stands for.
  const timeWords = (value, span, width) => {
    const [factor, unit] = timeUnit(span);
    const pixel = (span[1] - span[0]) / width / factor;
    const decimals = Math.min(12, Math.max(0, Math.ceil(-Math.log10(pixel))));
    return Number((value / factor).toFixed(decimals)) + " " + unit;
  };
  const axisOf = (text) => {
    const [from, to, low, high, scale, unit] = text.split(" ");
    const log = scale === "log";
    const [p, q] = [Number(from), Number(to)];
    const [a, b] = log ? [Math.log10(low), Math.log10(high)] : [Number(low), Number(high)];
    // Paths have tenths of pixels: what is nearer to zero is zero.
    const least = log ? 0 : Math.abs((b - a) / (q - p)) / 20;
    return {
      p, q, unit: unit || "",
      value: (pixel) => {
        const at = a + ((pixel - p) / (q - p)) * (b - a);
        if (log) return Math.pow(10, at);
        return Math.abs(at) < least ? 0 : at;
      },
      pixel: (value) => p + (((log ? Math.log10(value) : value) - a) / (b - a)) * (q - p),
      whole: [Number(low), Number(high)],
    };
  };
  // The corners of a path that has only M, l, h, v and Z.
  const corners = (path) => {
    if (path.corners) return path.corners;
    const points = [];
    let [x, y] = [0, 0];
    for (const [, letter, rest] of path.getAttribute("d").matchAll(/([MlhvZ])([^MlhvZ]*)/g)) {
      const numbers = (rest.match(/-?(?:\d+\.?\d*|\.\d+)/g) || []).map(Number);
      if (letter === "M") [x, y] = numbers;
      if (letter === "l") (x += numbers[0]), (y += numbers[1]);
      if (letter === "h") x += numbers[0];
      if (letter === "v") y += numbers[0];
      if (letter !== "Z") points.push([x, y, letter === "M"]);
    }
    return (path.corners = points);
  };
  // The least and greatest height of a line in the pixel column at x.
  const heights = (path, x, reach) => {
    let [low, high] = [Infinity, -Infinity];
    let before = null;
    const kind = path.dataset.k;
    for (const point of corners(path)) {
      const near = Math.abs(point[0] - x) <= reach;
      if (near) (low = Math.min(low, point[1])), (high = Math.max(high, point[1]));
      const joins = before && !point[2] && kind !== "dots" && kind !== "rug";
      // The outline of an area goes to the right and back.
      const spans = joins && (before[0] - x) * (point[0] - x) <= 0 && point[0] !== before[0];
      if (spans) {
        const share = (x - before[0]) / (point[0] - before[0]);
        const y = before[1] + share * (point[1] - before[1]);
        (low = Math.min(low, y)), (high = Math.max(high, y));
      }
      before = point;
    }
    return low <= high ? [low, high] : null;
  };
  const colourOf = (path) => {
    const style = getComputedStyle(path);
    return style.fill !== "none" ? style.fill : style.stroke;
  };
  const readout = (picture, x, y) => {
    const { svg, axisX, axisY, scale } = picture;
    const at = picture.toWhole(x);
    const rows = [];
    for (const path of svg.querySelectorAll(".data [data-n]")) {
      const kind = path.dataset.k;
      const reach = (kind === "dots" || kind === "rug" ? 2 : 0.6) / scale;
      const found = heights(path, at, reach);
      if (!found) continue;
      let words = "";
      if (kind !== "strip" && kind !== "rug") {
        const [low, high] = [axisY.value(found[1]), axisY.value(found[0])];
        words = withUnit(high, axisY.unit);
        const least = withUnit(low, axisY.unit);
        if (least !== words) words = least + " to " + words;
      }
      rows.push([colourOf(path), path.dataset.n, words]);
    }
    const box = picture.box;
    box.textContent = "";
    const head = document.createElement("b");
    const value = axisX.value(at);
    head.textContent = svg.dataset.time
      ? "t = " + timeWords(value, picture.shown, axisX.q - axisX.p)
      : "x = " + withUnit(value, axisX.unit);
    box.append(head);
    if (!rows.length && !svg.dataset.time) {
      box.append(", y = " + withUnit(axisY.value(y), axisY.unit));
    }
    for (const [colour, name, words] of rows) {
      const line = document.createElement("div");
      const swatch = document.createElement("i");
      swatch.style.background = colour;
      line.append(swatch, words ? name + ": " + words : name);
      box.append(line);
    }
    box.hidden = false;
    const client = svg.getBoundingClientRect();
    const figure = box.parentElement.getBoundingClientRect();
    const left = client.left - figure.left + (x / picture.width) * client.width;
    const flip = left + box.offsetWidth + 20 > figure.width;
    box.style.left = Math.max(0, flip ? left - box.offsetWidth - 14 : left + 14) + "px";
    box.style.top = client.top - figure.top + 8 + "px";
  };
  const element = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    return made;
  };
  // Minutes and hours have steps of their own; days go on as numbers do.
  const LONG_STEPS = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];
  // Ticks at 1, 2 or 5 times a power of ten, of the unit where that is not seconds; at least two.
  const ticks = (from, to, width) => {
    const raw = (to - from) / Math.max(5, width / 90);
    const long = timeUnit([from, to])[0] >= 60;
    const base = long ? 86400 : 1;
    const power = base * Math.pow(10, Math.floor(Math.log10(raw / base)));
    const decimal = [1, 2, 5, 10].map((f) => f * power);
    const steps = long ? [...LONG_STEPS, ...decimal.filter((s) => s >= base)] : decimal;
    const step = steps.find((s) => s >= raw * 0.999);
    const found = [];
    for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9; k++) {
      found.push(Number((k * step).toPrecision(12)));
    }
    return found;
  };
  const show = (picture, span) => {
    const { axisX, group, marks, ticksGroup, original } = picture;
    const [from, to] = (picture.shown = span || axisX.whole);
    const [a, b] = [axisX.pixel(from), axisX.pixel(to)];
    const scale = (axisX.q - axisX.p) / (b - a);
    const shift = axisX.p - a * scale;
    picture.scale = scale;
    picture.toWhole = (x) => (x - shift) / scale;
    group.setAttribute("transform", `matrix(${scale} 0 0 1 ${shift} 0)`);
    marks.querySelectorAll("text").forEach((text) => (text.style.display = span ? "none" : ""));
    marks.querySelectorAll("path").forEach((mark) => {
      mark.at = mark.at || mark.getAttribute("transform").match(/-?[\d.]+/g).map(Number);
      const x = mark.at[0] * scale + shift;
      mark.setAttribute("transform", `translate(${x} ${mark.at[1]})`);
      mark.style.display = x < axisX.p - 1 || x > axisX.q + 1 ? "none" : "";
    });
    const [factor, unit] = timeUnit(picture.shown);
    if (picture.label) picture.label.textContent = span ? "time, " + unit : picture.labelled;
    if (!span) return void (ticksGroup.innerHTML = original);
    const { top, floor } = picture;
    ticksGroup.textContent = "";
    let free = 0;
    for (const value of ticks(from, to, axisX.q - axisX.p)) {
      const x = axisX.pixel(value) * scale + shift;
      ticksGroup.append(element("path", { class: "grid", d: `M${x} ${top}V${floor}` }));
      const words = Number((value / factor).toPrecision(9)).toString();
      if (x - words.length * 3.5 < free) continue;
      const text = element("text", { class: "ts", x, y: floor + 17, "text-anchor": "middle" });
      text.textContent = words;
      ticksGroup.append(text);
      free = x + words.length * 3.5 + 6;
    }
  };
  const pictures = [];
  const bar = document.createElement("div");
  bar.className = "zoom";
  bar.hidden = true;
  let zoomed = null;
  const zoomAll = (span) => {
    zoomed = span;
    for (const picture of pictures) {
      if (!picture.svg.dataset.time) continue;
      show(picture, span);
      // The pointer has stayed, and what lies under it has moved.
      if (!picture.box.hidden) readout(picture, ...picture.pointer);
    }
    bar.hidden = !span;
    if (!span) return;
    const words = document.createElement("span");
    const [from, to] = span.map((value) => timeWords(value, span, 1000));
    words.textContent = `Shown: ${from} to ${to} of all pictures over time`;
    const back = document.createElement("button");
    back.textContent = "whole time";
    back.onclick = () => zoomAll(null);
    bar.replaceChildren(words, back);
  };
  const prepare = (svg) => {
    const axisX = axisOf(svg.dataset.x);
    const axisY = axisOf(svg.dataset.y);
    const view = svg.viewBox.baseVal;
    const box = document.createElement("div");
    box.className = "readout";
    box.hidden = true;
    svg.closest("figure").append(box);
    const cursor = element("path", { class: "cursor" });
    const brush = element("rect", { class: "brush", width: 0, height: axisY.p - axisY.q });
    brush.setAttribute("y", axisY.q);
    svg.append(brush, cursor);
    const ticksGroup = svg.querySelector(".xt");
    const line = ticksGroup.querySelector(".grid");
    const down = line && corners(line)[1];
    const texts = [...svg.querySelectorAll("text.t")];
    const label = texts.find((text) => /^time, (ns|µs|ms|s|min|h)$/.test(text.textContent));
    const picture = {
      svg, axisX, axisY, box, ticksGroup, scale: 1, shown: axisX.whole,
      label, labelled: label && label.textContent,
      width: view.width, top: axisY.q, floor: down ? down[1] : axisY.p,
      group: svg.querySelector(".data"), marks: svg.querySelector(".marks"),
      original: ticksGroup.innerHTML, toWhole: (x) => x, pointer: [0, 0],
    };
    pictures.push(picture);
    const place = (event) => {
      const client = svg.getBoundingClientRect();
      const ratio = view.width / client.width;
      return [(event.clientX - client.left) * ratio, (event.clientY - client.top) * ratio];
    };
    let start = null;
    const leave = () => {
      box.hidden = true;
      cursor.removeAttribute("d");
    };
    const point = (event) => {
      const [x, y] = place(event);
      if (x < axisX.p || x > axisX.q || y > picture.floor || y < axisY.q) return leave();
      cursor.setAttribute("d", `M${x} ${axisY.q}V${picture.floor}`);
      picture.pointer = [x, y];
      readout(picture, x, y);
      if (start === null) return;
      brush.setAttribute("x", Math.min(x, start));
      brush.setAttribute("width", Math.abs(x - start));
    };
    svg.addEventListener("pointermove", point);
    // A finger that taps does not move, and the values stay when it has left.
    svg.addEventListener("pointerdown", (event) => event.pointerType === "touch" && point(event));
    svg.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && leave());
    if (!svg.dataset.time) return;
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button) return;
      event.preventDefault();
      start = Math.max(axisX.p, Math.min(axisX.q, place(event)[0]));
    });
    addEventListener("pointerup", (event) => {
      if (start === null) return;
      const end = Math.max(axisX.p, Math.min(axisX.q, place(event)[0]));
      const [from, to] = [Math.min(start, end), Math.max(start, end)].map(picture.toWhole);
      brush.setAttribute("width", 0);
      // Paths have tenths of pixels: there is nothing more to see in less.
      const seen = Math.abs(end - start) > 4 && to - from >= 0.1;
      if (seen) zoomAll([axisX.value(from), axisX.value(to)]);
      start = null;
    });
    svg.addEventListener("dblclick", () => zoomAll(null));
  };
  const prepareAll = (element) => element.querySelectorAll("svg[data-x]").forEach(prepare);
  document.querySelectorAll("figure").forEach(prepareAll);
  // Pictures that are packed: both texts in raw DEFLATE and base64, with a zero between them.
  const unpack = async (figure) => {
    const packed = figure.dataset.packed;
    if (!packed) return;
    delete figure.dataset.packed;
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const unpacked = new DecompressionStream("deflate-raw");
    const stream = new Blob([bytes]).stream().pipeThrough(unpacked);
    const texts = (await new Response(stream).text()).split("\0");
    figure.querySelector(".wide").innerHTML = texts[0];
    figure.querySelector(".narrow").innerHTML = texts[1];
    const before = pictures.length;
    prepareAll(figure);
    if (zoomed) pictures.slice(before).forEach((one) => one.svg.dataset.time && show(one, zoomed));
  };
  const waiting = [...document.querySelectorAll("figure[data-packed]")];
  if (waiting.length && typeof DecompressionStream === "undefined") {
    for (const figure of waiting) {
      const image = document.createElement("img");
      image.src = figure.id + ".svg";
      image.loading = "lazy";
      figure.querySelector(".wide").replaceChildren(image);
      figure.querySelector(".narrow").replaceChildren(image.cloneNode());
    }
  } else if (waiting.length) {
    const near = (entries) => entries.forEach((one) => one.isIntersecting && unpack(one.target));
    const observer = new IntersectionObserver(near, { rootMargin: "1000px" });
    waiting.forEach((figure) => observer.observe(figure));
    // Paper and searches need all of them.
    const idle = window.requestIdleCallback || ((next) => setTimeout(next, 50));
    const next = async () => {
      const figure = waiting.shift();
      if (!figure) return;
      await unpack(figure);
      idle(next);
    };
    idle(next);
  }
  document.querySelectorAll(".how").forEach((words) => (words.hidden = false));
  const first = document.querySelector("figure");
  if (first) first.parentElement.insertBefore(bar, first.parentElement.firstChild);
})();
