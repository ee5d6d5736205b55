// Drives the built page in Chromium: `npm run build && npm run e2e`. Times are printed, never
// judged. Screenshots are in e2e/screenshots. WEIR_CHROMIUM names another browser.
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { serve } from "./server.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const browserPath = process.env.WEIR_CHROMIUM ?? "/usr/bin/chromium";
if (!existsSync(browserPath)) {
  console.log(`skipped: ${browserPath} is not there; WEIR_CHROMIUM names another Chromium`);
  process.exit(0);
}
if (!existsSync(here("../dist/index.html"))) {
  console.error("dist/index.html is not there: npm run build makes it");
  process.exit(2);
}
mkdirSync(here("screenshots"), { recursive: true });

const PATIENCE = 60_000;
const server = await serve(here("../dist"));
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
const complaints = [];

async function open(hash, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1000 }, ...options });
  page.setDefaultTimeout(PATIENCE);
  page.on("pageerror", (error) => complaints.push(`${hash}: ${error.message}`));
  page.on("console", (message) => {
    // The page asks whether `weir lab` serves it, which a static server does not know.
    const asks = message.location().url.endsWith("/api/hello");
    if (message.type() === "error" && !asks) complaints.push(`${hash}: ${message.text()}`);
  });
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    const own = new URL(server.url).origin === origin || ["data:", "blob:"].includes(protocol);
    if (!own) complaints.push(`${hash}: asks for ${request.url()}`);
  });
  await page.goto(server.url + hash);
  return page;
}

/**
 * Waits until the workbench has drawn the results of its present settings: the last variant has
 * `sets` settings, and the current one another summary than `not`.
 */
const drawn = (page, { sets, not } = {}) =>
  page.waitForFunction(
    ({ sets, not }) => {
      const { session } = window.weir;
      const isDone = (v) => (v.run || v.error) && !v.waiting && v.progress === null;
      if (!session?.variants.every(isDone)) return false;
      if (sets !== undefined && session.variants.at(-1).sets.length !== sets) return false;
      if (not !== undefined && session.current.run?.summaryJson === not) return false;
      return Number(document.querySelector(".workbench")?.dataset.runs) > 0;
    },
    { sets, not },
  );

/** A drawn curve: its points of time and value. */
const curve = (page, figure, layer = 0, column = 0) =>
  page.evaluate(
    ([figure, layer, column]) => {
      const figures = window.weir.stack.columns[column].figures;
      const { curve } = figures.find(({ id }) => id === figure).layers[layer];
      return { x: [...curve.x], y: [...curve.y] };
    },
    [figure, layer, column],
  );

const highest = ({ x, y }) =>
  y.reduce((best, value, index) => (value >= best.y ? { x: x[index], y: value } : best), {
    x: NaN,
    y: -Infinity,
  });
const picture = (page, name, fullPage = false) =>
  page.screenshot({ path: here(`screenshots/${name}.png`), fullPage });

/** Moves a slider as a finger does. */
async function slide(page, key, position) {
  await page.$eval(
    `input[data-key="${key}"]`,
    (slider, position) => {
      slider.focus();
      slider.value = String(position);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    },
    position,
  );
}

const RTT_MIN = "flow.stream.transport.tfrc.rtt_min";
const tests = {
  async "the gallery shows its cards"() {
    const page = await open("#/");
    await page.waitForSelector(".card");
    assert.ok((await page.locator(".card").count()) > 60);
    await picture(page, "gallery");
    await page.fill('input[type="search"]', "loopback");
    assert.equal((await page.locator(".card:visible").count()) < 5, true);
    await page.close();
  },

  async "loopback runs, and its drawn data have the peak of the document"() {
    const page = await open("#/");
    await page.click('a[href="#/lab/loopback"] >> nth=-1');
    await drawn(page);
    const peak = highest(await curve(page, "rate"));
    assert.ok(Math.abs(peak.x / 2.391 - 1) < 0.01, `peak at ${peak.x} s`);
    assert.ok(Math.abs(peak.y / 234.7e6 - 1) < 0.01, `peak of ${peak.y} bit/s`);
    const marks = await page.evaluate(() => window.weir.stack.figures[0].marks.length);
    assert.ok(marks >= 3, "published points are marked");
    assert.match(await page.textContent(".published"), /234\.7/);
    await picture(page, "loopback");
    await picture(page, "loopback-whole", true);
    await page.close();
  },

  async "the clamp slider makes the collapse vanish"() {
    const page = await open("#/lab/loopback");
    await drawn(page);
    const last = async () => (await curve(page, "rate")).y.at(-1);
    assert.ok((await last()) < 10, "the rate has collapsed");
    // The slider goes from 1 µs to 1 s, zero at its left end.
    const at = (microseconds) => Math.ceil((1000 * Math.log10(microseconds)) / 6) + 1;
    const shown = async (position) => {
      const before = await page.evaluate(() => window.weir.session.current.run.summaryJson);
      await slide(page, RTT_MIN, position);
      await drawn(page, { not: before });
      return last();
    };
    assert.ok((await shown(at(4))) > 1e6, "with 4 µs the rate stays");
    assert.ok((await shown(at(100))) > 1e5, "and with more");
    assert.match(await page.textContent(".chips"), /rtt_min/);
    await picture(page, "clamp");
    await page.close();
  },

  async "a link opens the same scenario, settings and variants again"() {
    const page = await open("#/lab/loopback");
    await drawn(page);
    await page.click("text=+ Variant");
    await slide(page, RTT_MIN, 120);
    await drawn(page, { sets: 1 });
    await page.click("text=Copy link");
    const link = page.url();
    assert.match(link, /#\/lab\?s=[\w-]+$/);
    const state = (page) =>
      page.evaluate(() =>
        window.weir.session.variants.map(({ text, sets, run }) => ({
          text,
          sets,
          summary: run.summaryJson,
        })),
      );
    const before = await state(page);
    const other = await open(link.slice(link.indexOf("#")));
    await drawn(other);
    assert.deepEqual(await state(other), before);
    assert.notEqual(before[0].summary, before[1].summary);
    console.log(`    the link has ${link.length} characters`);
    await other.close();
    await page.close();
  },

  async "two variants are compared, and their difference is drawn"() {
    const page = await open("#/lab/example-cubic-newreno");
    await drawn(page);
    await page.click("text=+ Variant");
    await page.selectOption('select[data-key="link.bottleneck.queue.kind"]', "codel");
    await drawn(page, { sets: 1 });
    assert.equal(await page.locator(".column").count(), 2);
    assert.ok((await page.locator(".change").count()) > 2, "the table has differences");
    await picture(page, "variants");
    await page.click('.modes >> text="Difference"');
    await page.waitForFunction(() => window.weir.stack.figures[0]?.signed);
    const [rtt, first, second] = [
      await curve(page, "rtt"),
      ...(await page.evaluate(() =>
        window.weir.session.variants.map(({ run }) => {
          const table = run.tables.find(({ name }) => name === "flows/cubic").numbers;
          return { x: [...table.time_s], y: [...table.smoothed_rtt_s] };
        }),
      )),
    ];
    const holds = ({ x, y }, time) => y[x.findLastIndex((at) => at <= time)];
    for (const time of [15, 30, 45]) {
      const expected = holds(second, time) - holds(first, time);
      assert.ok(
        Math.abs(holds(rtt, time) - expected) < 0.02,
        `${holds(rtt, time)} for ${expected} at ${time} s`,
      );
    }
    await picture(page, "difference");
    await page.click('.modes >> text="Together"');
    await page.waitForFunction(
      () => window.weir.stack.columns.length === 1 && !window.weir.stack.figures[0]?.signed,
    );
    await picture(page, "together");
    await page.close();
  },

  async "a remedy of a finding makes a variant without it"() {
    const page = await open("#/lab/loopback");
    await drawn(page);
    await page.waitForSelector(".finding .remedy");
    await page.click(".finding .remedy >> nth=0");
    await page.waitForFunction(() => window.weir.session.variants.length === 2);
    await drawn(page);
    const kinds = await page.evaluate(() =>
      window.weir.session.variants.map(({ run }) =>
        run.explanation.findings.map(({ kind }) => kind),
      ),
    );
    assert.ok(!kinds[1].includes(kinds[0][0]), `${kinds[0][0]} is gone`);
    await picture(page, "remedy");
    await page.close();
  },

  async "the editor completes keys, and shows the reader's error at its place"() {
    const page = await open("#/lab/example-cubic-newreno");
    await drawn(page);
    await page.click('role=tab[name="Scenario"]');
    await page.click(".cm-content >> text=duration");
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.keyboard.type("warm");
    await page.waitForSelector(".cm-tooltip-autocomplete >> text=warmup");
    await picture(page, "completion");
    await page.keyboard.press("Escape");
    for (let count = 0; count < 5; count++) await page.keyboard.press("Backspace");
    await page.click(".cm-content >> text=20Mbit");
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Backspace");
    await page.keyboard.type("x");
    await page.waitForSelector(".problem:visible");
    await page.waitForSelector(".cm-lintRange-error");
    assert.match(await page.textContent(".problem"), /Line \d+.*Mbix|rate/s);
    await picture(page, "error");
    await page.close();
  },

  async "a scenario with a hostile name is only text"() {
    const name = "<img src=x onerror=window.hacked=1>";
    const page = await open("#/lab/loopback");
    await drawn(page);
    await page.evaluate(
      (name) =>
        window.weir.session.open({
          title: name,
          variants: [{ text: `[run]\n# ${name}\nduration = "${name}"\n`, sets: [[name, name]] }],
          files: { [name]: name },
          mode: name,
          span: null,
          card: null,
        }),
      name,
    );
    await page.waitForSelector(".problem:visible");
    assert.equal(await page.locator("img").count(), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    await page.close();
  },

  async "a lesson's figure reacts to its slider"() {
    const page = await open("#/lessons/06-tfrc");
    const figure = page.locator(".lesson-figure");
    await figure.scrollIntoViewIfNeeded();
    await page.waitForFunction(() => window.weir.lesson.figures[0].session.variants[0]?.run);
    const rate = () =>
      page.evaluate(() =>
        window.weir.lesson.figures[0].session.current.run.tables
          .find(({ name }) => name === "flows/stream")
          .numbers.allowed_rate_bps.at(-1),
      );
    assert.ok((await rate()) < 100);
    await slide(page, RTT_MIN, 5);
    await page.waitForFunction(
      () =>
        window.weir.lesson.figures[0].session.current.run.tables
          .find(({ name }) => name === "flows/stream")
          .numbers.allowed_rate_bps.at(-1) > 1e5,
    );
    await picture(page, "lesson", true);
    await page.click(".question summary >> nth=0");
    assert.ok(await page.locator(".question details[open]").count());
    await page.emulateMedia({ media: "print" });
    await picture(page, "lesson-print", true);
    await page.close();
  },

  async "the keyboard moves the cursor and zooms"() {
    const page = await open("#/lab/loopback");
    await drawn(page);
    await page.click('role=button[name="Show the whole run"]');
    await page.focus(".plot-host >> nth=0");
    await page.keyboard.press("ArrowRight");
    assert.match(await page.textContent("#live"), /s: .*bit\/s/);
    const length = () =>
      page.evaluate(() => window.weir.session.view.span[1] - window.weir.session.view.span[0]);
    const before = await length();
    await page.keyboard.press("+");
    assert.ok(Math.abs((await length()) - before / 2) < 1e-6);
    await page.keyboard.press("0");
    assert.equal(await length(), before);
    await page.close();
  },

  async "narrow and dark screens"() {
    for (const colorScheme of ["light", "dark"]) {
      for (const [name, hash] of [
        ["gallery", "#/"],
        ["loopback", "#/lab/loopback"],
        ["call", "#/lab/example-video-call"],
        ["lesson", "#/lessons/01-aimd"],
      ]) {
        for (const width of [390, 1280]) {
          if (width === 1280 && colorScheme === "light" && name !== "call") continue;
          const page = await open(hash, {
            viewport: { width, height: width === 390 ? 844 : 1000 },
            colorScheme,
            hasTouch: width === 390,
          });
          if (hash.startsWith("#/lab")) await drawn(page);
          else if (name === "lesson")
            await page.waitForFunction(
              () => window.weir?.lesson?.figures[0]?.element.dataset.runs > 0,
            );
          else await page.waitForSelector(".card");
          await picture(page, `${name}-${width}-${colorScheme}`);
          const wide = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
          );
          assert.equal(wide, 0, `${name} at ${width} px is ${wide} px too wide`);
          await page.close();
        }
      }
    }
  },

  async "from slider to picture (printed)"() {
    for (const [name, hash, key, first] of [
      ["loopback", "#/lab/loopback", RTT_MIN, 400],
      ["lossy-link", "#/lab/lossy-link", "link.wire.delay", 480],
    ]) {
      const page = await open(hash);
      await drawn(page);
      const times = await page.evaluate(
        async ([key, first]) => {
          const times = [];
          for (let round = 0; round < 8; round++) {
            const slider = document.querySelector(`input[data-key="${key}"]`);
            const before = window.weir.session.current.run;
            const began = performance.now();
            slider.value = String(first + round * 3);
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            // A run is drawn in the frame after it, and on the screen in the next.
            await new Promise((resolve) => {
              const look = () => {
                const isDone = window.weir.session.current.run !== before;
                requestAnimationFrame(isDone ? () => requestAnimationFrame(resolve) : look);
              };
              look();
            });
            times.push(performance.now() - began);
          }
          return {
            times,
            wall: window.weir.session.current.run.wallMs,
            points: window.weir.session.current.run.tables.reduce((sum, { rows }) => sum + rows, 0),
          };
        },
        [key, first],
      );
      const sorted = times.times.sort((a, b) => a - b);
      console.log(
        `    ${name}: median ${sorted[4].toFixed(0)} ms, least ${sorted[0].toFixed(0)} ms, most ${sorted[7].toFixed(0)} ms; of these ${times.wall.toFixed(0)} ms in the worker; ${times.points} rows`,
      );
      await page.close();
    }
  },

  async "a million points pan (printed)"() {
    const page = await open("#/lab/loopback");
    await drawn(page);
    const found = await page.evaluate(async () => {
      const { session, stack } = window.weir;
      const count = 1_000_000;
      const numbers = {
        time_s: Float64Array.from({ length: count }, (_, index) => (index * 400) / count),
        allowed_rate_bps: Float64Array.from(
          { length: count },
          (_, index) => 1e6 * (2 + Math.sin(index / 3000) + 0.3 * Math.sin(index * 1.7)),
        ),
      };
      const { run } = session.current;
      session.current.run = {
        ...run,
        tables: [{ name: "flows/stream", rows: count, numbers, words: {} }],
      };
      session.setMode("together");
      await new Promise((resolve) => setTimeout(resolve, 500));
      session.view.show([0, 200]);
      let frames = 0;
      let drawing = 0;
      const began = performance.now();
      while (performance.now() - began < 2000) {
        session.view.pan(frames % 200 < 100 ? 0.01 : -0.01);
        await new Promise(requestAnimationFrame);
        await new Promise((resolve) => setTimeout(resolve));
        drawing += stack.drawMs;
        frames++;
      }
      return {
        rate: (1000 * frames) / (performance.now() - began),
        drawing: drawing / frames,
        points: stack.figures[0].layers[0].curve.length,
      };
    });
    assert.equal(found.points, 1_000_000);
    console.log(
      `    ${found.rate.toFixed(0)} frames a second, ${found.drawing.toFixed(1)} ms of drawing a frame`,
    );
    await page.close();
  },
};

let failures = 0;
const wanted = process.argv.slice(2).join(" ");
for (const [name, test] of Object.entries(tests)) {
  if (!name.includes(wanted)) continue;
  try {
    await test();
    console.log(`ok  ${name}`);
  } catch (error) {
    failures++;
    console.log(
      `FAILED  ${name}\n    ${String(error.stack ?? error)
        .split("\n")
        .slice(0, 6)
        .join("\n    ")}`,
    );
  }
}
for (const complaint of new Set(complaints)) {
  failures++;
  console.log(`FAILED  the console says: ${complaint}`);
}
await browser.close();
server.close();
process.exit(failures ? 1 : 0);
