// Looks at a page as it stands: screenshots at three widths and axe, both in light and in dark.
import axe from "axe-core";
import { env, find } from "./scenario.mjs";

const WIDTHS = [
  [1440, 900],
  [1024, 768],
  [390, 844],
];
const SEVERE = ["serious", "critical"];

/** Takes the page's screenshots and finds what keeps people out. The page is left at the first width, in light. */
export async function inspect(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const [width, height] of WIDTHS) {
      await page.setViewportSize({ width, height });
      await settle(page);
      await page.screenshot({ path: `${env.output}/${name}-${width}-${colorScheme}.png` });
      await examine(page, `${name}, ${width} px, ${colorScheme}`);
    }
  }
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await page.setViewportSize({ width: WIDTHS[0][0], height: WIDTHS[0][1] });
  await settle(page);
}

/** Waits until nothing is loading and two frames have been drawn. */
async function settle(page) {
  await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
  await page.evaluate(async () => {
    await document.fonts.ready;
    await Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => {})));
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  });
}

async function examine(page, where) {
  // The page's policy keeps scripts of others out; the debugger's door is not subject to it.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, impact, help, nodes } of violations) {
    if (!SEVERE.includes(impact)) continue;
    const places = nodes.slice(0, 3).map((node) => `${node.target.join(" ")} ${firstReason(node)}`);
    find(where, `axe ${id} (${impact}): ${help}; ${nodes.length} places, e.g. ${places.join(" | ")}`);
  }
}

function firstReason(node) {
  const reason = [...node.any, ...node.all, ...node.none][0]?.message ?? "";
  return reason && `(${reason})`;
}
