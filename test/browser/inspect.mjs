// Inspects the current page: screenshots at three widths in light and dark, and axe at two widths in light and at the first in the dark.
// SCREENSHOTS=one takes only the first: they are for people, and no test reads them.
import axe from "axe-core";
import { env, report } from "./scenario.mjs";

// axe finds nothing new at the middle width.
const SIZES = [
  { width: 1440, height: 900, examined: true },
  { width: 1024, height: 768, examined: false },
  { width: 390, height: 844, examined: true },
];
const one = process.env.SCREENSHOTS === "one";
// Dark differs from light in colors only: these are the rules about them.
const RULES = { light: {}, dark: { runOnly: ["color-contrast", "link-in-text-block"] } };
const SEVERE = ["serious", "critical"];

/** Takes screenshots and reports accessibility violations. Leaves the page at the first width, in light. */
export async function inspect(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const { width, height, examined } of SIZES) {
      const first = colorScheme === "light" && width === SIZES[0].width;
      // The colors are the same at each width.
      const isExamined = examined && (colorScheme === "light" || width === SIZES[0].width);
      if (one && !isExamined) continue;
      await page.setViewportSize({ width, height });
      await settle(page);
      if (first || !one) await page.screenshot({ path: `${env.output}/${name}-${width}-${colorScheme}.png` });
      if (isExamined) await examine(page, `${name}, ${width} px, ${colorScheme}`, RULES[colorScheme]);
    }
  }
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await page.setViewportSize({ width: SIZES[0].width, height: SIZES[0].height });
  await settle(page);
}

/** Waits until nothing is loading, and what a change of the colors or the width animates is at its end. */
async function settle(page) {
  await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
  await page.evaluate(async () => {
    await document.fonts.ready;
    const frames = () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    await frames();
    const finite = document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity);
    await Promise.all(finite.map((animation) => animation.finished.catch(() => {})));
    await frames();
  });
}

async function examine(page, where, rules) {
  const squeezed = await page.locator("h1").evaluateAll((all) => all.filter((heading) => heading.clientWidth < 16).length);
  if (squeezed > 0) report(where, "the heading has no room");
  // Once a document, for it is large. The page's content security policy doesn't apply to scripts from the debugger.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    (rules) => globalThis.axe.run(document, { resultTypes: ["violations"], ...rules }),
    rules,
  );
  for (const { id, impact, help, nodes } of violations) {
    if (!SEVERE.includes(impact)) continue;
    const examples = nodes.slice(0, 3).map((node) => `${node.target.join(" ")} ${firstReason(node)}`);
    report(where, `axe ${id} (${impact}): ${help}; ${nodes.length} elements, e.g. ${examples.join(" | ")}`);
  }
}

function firstReason(node) {
  const reason = [...node.any, ...node.all, ...node.none][0]?.message ?? "";
  return reason && `(${reason})`;
}
