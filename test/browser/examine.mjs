// Examines what a page shows, as a person with a screen reader, a keyboard, a narrow screen or a dark one meets it.
import axe from "axe-core";
import { env, report } from "./scenario.mjs";

const SIZES = [
  { width: 1440, height: 900 },
  { width: 1024, height: 768 },
  { width: 390, height: 844 },
];
const LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const COLORS = ["color-contrast", "link-in-text-block"];
const rules = (ids, enabled) => Object.fromEntries(ids.map((id) => [id, { enabled }]));
const ALL = { runOnly: LEVELS, rules: rules(["target-size"], true) };
// The arrow keys of the field that has a list scroll it.
const OF_LISTS = { ...ALL, rules: { ...ALL.rules, ...rules(["scrollable-region-focusable"], false) } };
// Dark differs from light in colors only, and they are the same at each width.
const IN_DARK = { runOnly: COLORS };
const IN_NARROW = { ...ALL, rules: { ...ALL.rules, ...rules(COLORS, false) } };
const one = process.env.SCREENSHOTS === "one";

/** The requests of pages that are not answered yet. */
const running = new WeakMap();

/** Notes the requests of a page, so that settle can wait for their answers. */
export function track(page) {
  const open = new Set();
  running.set(page, open);
  page.on("request", (request) => {
    // Streams last.
    if (!/\/stream\b/.test(request.url())) open.add(request);
  });
  page.on("requestfinished", (request) => open.delete(request));
  page.on("requestfailed", (request) => open.delete(request));
}

/** Waits until the page has its title, loads nothing, and nothing moves. */
export async function settle(page) {
  await page.waitForFunction(() => document.querySelector("h1") && !document.querySelector("[aria-busy=true]"));
  for (const deadline = Date.now() + 5_000; running.get(page).size > 0 && Date.now() < deadline; ) await page.waitForTimeout(20);
  await atRest(page);
}

function atRest(page) {
  return page.evaluate(async () => {
    await document.fonts.ready;
    const frames = () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    await frames();
    const finite = document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity);
    if (finite.length === 0) return;
    await Promise.all(finite.map((animation) => animation.finished.catch(() => {})));
    await frames();
  });
}

/**
 * Reports what is wrong with the page, or with a part of it that opened: what axe finds in light and in the dark, and for a page at the smallest
 * size, too; and for a page and a dialog what is wider than the window at each size. Leaves the page at the first size, in light.
 */
export async function examine(page, name, part, kind) {
  const picture = async (what) => {
    if (!one || (what === "" && !part))
      await page.screenshot({ path: `${env.output}/${name.replaceAll(/[^\w-]+/g, "-")}${what}.png` });
  };
  const inside = await part?.evaluate((element) => (element.id ||= "examined"));
  await picture("");
  await run(page, name, inside, kind === "listbox" ? OF_LISTS : ALL);
  await page.emulateMedia({ colorScheme: "dark" });
  await atRest(page);
  await picture("-dark");
  await run(page, `${name}, dark`, inside, IN_DARK);
  await page.emulateMedia({ colorScheme: "light" });
  if (part && kind !== "dialog") return;
  for (const { width, height } of SIZES.toReversed()) {
    await page.setViewportSize({ width, height });
    await atRest(page);
    await measure(page, `${name}, ${width} px`);
    if (width !== 390) continue;
    await picture("-390");
    if (!part) await run(page, `${name}, 390 px`, inside, IN_NARROW);
  }
}

/** Reports what is wider than the window: the document, and what scrolls down in it. */
async function measure(page, where) {
  const found = await page.evaluate(() => {
    const { scrollWidth } = document.scrollingElement;
    const wide = scrollWidth > innerWidth ? [`the document, by ${scrollWidth - innerWidth} px`] : [];
    for (const element of document.querySelectorAll("main *")) {
      const over = element.scrollWidth - element.clientWidth;
      if (over <= 1 || element.clientHeight < innerHeight / 2) continue;
      const { overflowX, overflowY } = getComputedStyle(element);
      if (/auto|scroll/.test(overflowX) && /auto|scroll/.test(overflowY) && element.scrollHeight > element.clientHeight)
        wide.push(`${element.tagName.toLowerCase()}.${element.className}, by ${over} px`);
    }
    return wide;
  });
  for (const what of found) report(where, `too wide: ${what}`);
}

async function run(page, where, inside, options) {
  // Once a document, for it is large. The page's content security policy doesn't apply to scripts from the debugger.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    ([inside, options]) => globalThis.axe.run(inside ? document.getElementById(inside) : document, options),
    [inside, { resultTypes: ["violations"], preload: false, ...options }],
  );
  for (const { id, impact, help, nodes } of violations) {
    const examples = nodes.slice(0, 3).map((node) => `${node.target.join(" ")} ${reasonOf(node)}`);
    report(where, `axe ${id} (${impact}): ${help}; ${nodes.length} elements, e.g. ${examples.join(" | ")}`);
  }
}

function reasonOf(node) {
  const reason = [...node.any, ...node.all, ...node.none][0]?.message ?? "";
  return reason && `(${reason})`;
}
