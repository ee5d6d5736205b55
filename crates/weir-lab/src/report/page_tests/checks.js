// What a reader does with a page: pointing, dragging, going back. Stands at the end of the page of
// `page_tests.rs`, whose lines it knows, and writes what is not as it should be into the title.
"use strict";
(() => {
  const wrong = [];
  const is = (what, found, expected) => {
    if (found !== expected) wrong.push(`${what}: found "${found}", expected "${expected}"`);
  };
  const seen = [...document.querySelectorAll("figure svg[data-x]")];
  const [rate, late, other] = seen.filter((svg) => svg.getBoundingClientRect().width > 0);
  // The pointer at this share of the axis to the right, at half the height.
  const point = (svg, type, share, pointerType) => {
    const [left, right] = svg.dataset.x.split(" ").map(Number);
    const [bottom, top] = svg.dataset.y.split(" ").map(Number);
    const area = svg.getBoundingClientRect();
    const ratio = area.width / svg.viewBox.baseVal.width;
    const clientX = area.left + (left + share * (right - left)) * ratio;
    const clientY = area.top + ((bottom + top) / 2) * ratio;
    const how = { bubbles: true, clientX, clientY, button: 0, pointerType };
    svg.dispatchEvent(new PointerEvent(type, how));
  };
  const move = (svg, share) => point(svg, "pointermove", share, "mouse");
  const drag = (svg, from, to) => {
    point(svg, "pointerdown", from, "mouse");
    move(svg, to);
    point(svg, "pointerup", to, "mouse");
  };
  const boxes = (svg) => [...svg.closest("figure").querySelectorAll(".readout")];
  const values = (svg) => {
    const box = boxes(svg).find((box) => !box.hidden);
    if (!box) return "nothing";
    return [...box.childNodes].map((line) => line.textContent).join("; ");
  };
  const ticks = (svg) => {
    const words = [...svg.querySelectorAll(".xt text")].map((text) => text.textContent);
    const label = [...svg.querySelectorAll("text")].map((text) => text.textContent);
    return words.join(" ") + " " + label.find((words) => words.startsWith("time, "));
  };
  const shape = (svg) => svg.querySelector(".data").getAttribute("transform");
  // At which share of its axis a picture draws what stands at this share of the whole.
  const drawn = (svg, share) => {
    const [left, right] = svg.dataset.x.split(" ").map(Number);
    const [scale, , , , shift] = shape(svg).match(/-?[\d.]+/g).map(Number);
    const x = (left + share * (right - left)) * scale + shift;
    return Math.abs((x - left) / (right - left)).toFixed(4);
  };

  is("overflow", document.documentElement.scrollWidth > innerWidth, false);
  is("words on the use of the page", document.querySelector(".how").hidden, false);
  for (const link of document.querySelectorAll("nav a")) {
    const target = document.querySelectorAll(link.getAttribute("href"));
    is("targets of " + link.textContent, target.length, 1);
  }

  // The line without a name goes from 0 at 0 s to 10 Mbit/s at 4 h, the limit stands at 8 Mbit/s.
  is("before any pointer", values(rate), "nothing");
  move(rate, 0.5);
  is("in the middle", values(rate), "t = 2 h; rate: 5 Mbit/s; limit: 8 Mbit/s");
  move(late, 0.5);
  is("from 2 h to 2 h 2 min", values(late), "t = 7260 s; queue: 60 kB");
  move(other, 0.5);
  is("an axis without time", values(other), "x = 100 ms; share: 0.5");
  point(other, "pointerleave", 0.5, "mouse");
  is("after the pointer", values(other), "nothing");

  // A quarter of an hour of the first picture is shown by both, and not by the third.
  const whole = ticks(rate);
  const untouched = shape(other);
  drag(rate, 2 / 4, 2.25 / 4);
  is("zoomed", ticks(late), ticks(rate));
  is("zoomed line, begin", drawn(rate, 2 / 4), "0.0000");
  is("zoomed line, end", drawn(rate, 2.25 / 4), "1.0000");
  // Two minutes of fifteen.
  is("zoomed line of the other", drawn(late, 1), "0.1333");
  is("zoomed axis", /min$/.test(ticks(rate)) && ticks(rate).split(" ").length >= 4, true);
  is("an axis without time when zoomed", shape(other), untouched);
  move(rate, 0.4);
  is("zoomed values", values(rate), "t = 126 min; rate: 5.25 Mbit/s; limit: 8 Mbit/s");
  const bar = document.querySelector(".zoom");
  is("bar", bar.hidden, false);
  const shown = bar.querySelector("span").textContent;
  is("bar", shown, "Shown: 120 min to 135 min of all pictures over time");
  // A part of the part.
  drag(rate, 0, 0.2);
  move(rate, 1 / 3);
  is("zoomed twice", values(rate), "t = 7260 s; rate: 5.042 Mbit/s; limit: 8 Mbit/s");
  bar.querySelector("button").click();
  is("after going back", bar.hidden, true);
  is("ticks after going back", ticks(rate), whole);
  is("lines after going back", drawn(rate, 1), "1.0000");
  move(rate, 0.5);
  is("values after going back", values(rate), "t = 2 h; rate: 5 Mbit/s; limit: 8 Mbit/s");
  drag(late, 0.25, 0.5);
  is("zoomed in the other picture", bar.hidden, false);
  rate.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  is("after a double click", bar.hidden, true);
  is("ticks after a double click", ticks(rate), whole);

  // A tap reads values, and they stay; a finger that goes on scrolls, and does not zoom.
  point(late, "pointerdown", 0.5, "touch");
  point(late, "pointerup", 0.5, "touch");
  point(late, "pointerleave", 0.5, "touch");
  is("tapped", values(late), "t = 7260 s; queue: 60 kB");
  is("tapped", bar.hidden, true);

  is("refused by the policy", refused.join(", "), "");
  document.title = wrong.length ? "wrong: " + wrong.join(" | ") : "as it should be";
})();
