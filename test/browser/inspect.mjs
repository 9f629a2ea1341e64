// Looks at a page as it stands: screenshots at three widths and axe at two, both in light and in dark.
import axe from "axe-core";
import { env, find } from "./scenario.mjs";

// The middle width shows the parts of the widest in less room: axe has nothing new to say there.
const SIZES = [
  { width: 1440, height: 900, examined: true },
  { width: 1024, height: 768, examined: false },
  { width: 390, height: 844, examined: true },
];
const SEVERE = ["serious", "critical"];

/** Takes the page's screenshots and finds what keeps people out. The page is left at the first width, in light. */
export async function inspect(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const { width, height, examined } of SIZES) {
      await page.setViewportSize({ width, height });
      await settle(page);
      await page.screenshot({ path: `${env.output}/${name}-${width}-${colorScheme}.png` });
      if (examined) await examine(page, `${name}, ${width} px, ${colorScheme}`);
    }
  }
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await page.setViewportSize({ width: SIZES[0].width, height: SIZES[0].height });
  await settle(page);
}

/** Waits until nothing is loading and two frames have been drawn. */
async function settle(page) {
  await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
  await page.evaluate(async () => {
    await document.fonts.ready;
    const passing = document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity);
    await Promise.all(passing.map((animation) => animation.finished.catch(() => {})));
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
