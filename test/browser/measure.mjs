// Measures the time from the click until a long run is readable, and how long scrolling blocks the main thread.
import { setTimeout as pause } from "node:timers/promises";
import { scenario } from "./scenario.mjs";

await scenario(async (page, { projectId, runs, rounds }, context) => {
  // The browser reports tasks over 50 ms.
  await context.addInitScript(() => {
    globalThis.longTasks = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) globalThis.longTasks.push(entry.duration);
    }).observe({ type: "longtask" });
  });
  const taken = async () => page.evaluate(() => globalThis.longTasks.splice(0));
  const figures = [];
  for (const { id, spans } of runs) {
    for (let round = 0; round < rounds; round++) {
      await page.goto(`/p/${projectId}/runs?range=30d`);
      const link = page.locator(`[data-run="${id}"]`);
      await link.waitFor();
      await pause(500);
      await taken();
      // Readable: the tree shows the selected span, and a frame with it is rendered.
      const openMs = await link.evaluate(
        (element) =>
          new Promise((resolve) => {
            const begin = performance.now();
            const look = () => {
              const row = document.querySelector('[data-testid="span-row"][aria-selected="true"]');
              if (row) requestAnimationFrame(() => resolve(performance.now() - begin));
              else requestAnimationFrame(look);
            };
            element.click();
            look();
          }),
      );
      const whileOpening = await taken();
      await pause(1000);
      await taken();
      const box = await page.getByTestId("span-tree").boundingBox();
      await page.mouse.move(box.x + 60, box.y + box.height / 2);
      for (let step = 0; step < 60; step++) {
        await page.mouse.wheel(0, step % 2 === 0 ? 900 : 2400);
        await pause(16);
      }
      // The whole list, as with the scroll bar.
      await page.getByTestId("span-tree").evaluate(async (element) => {
        for (let step = 0; step <= 60; step++) {
          element.scrollTop = (element.scrollHeight * step) / 60;
          await new Promise((drawn) => requestAnimationFrame(drawn));
        }
      });
      await pause(200);
      const whileScrolling = await taken();
      figures.push({
        spans,
        openMs,
        longestOpening: Math.max(0, ...whileOpening),
        longTasksScrolling: whileScrolling.length,
        longestScrolling: Math.max(0, ...whileScrolling),
      });
    }
  }
  return figures;
});
