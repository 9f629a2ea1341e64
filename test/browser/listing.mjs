// Measures scrolling and filtering of a very long list: the time until rows appear, and how long the main thread is blocked.
import { setTimeout as pause } from "node:timers/promises";
import { scenario } from "./scenario.mjs";

await scenario(async (page, { projectId, email, password, pages, rare }, context) => {
  await context.addInitScript(() => {
    globalThis.longTasks = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) globalThis.longTasks.push(entry.duration);
    }).observe({ type: "longtask" });
  });
  await page.goto("/login");
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.waitForURL("**/p/**");

  const figures = [];
  // Measures from an action until a frame with the expected rows is rendered.
  const step = async (name, act, shown) => {
    await page.evaluate(() => globalThis.longTasks.splice(0));
    const begin = Date.now();
    await act();
    await page.waitForFunction(shown.test, shown.arg, { polling: "raf" });
    const ms = Date.now() - begin;
    await pause(300);
    const tasks = await page.evaluate(() => globalThis.longTasks.splice(0));
    figures.push({ name, ms, longTasks: tasks.length, longest: Math.max(0, ...tasks) });
  };
  const first = () => page.getByTestId("run-row").first().locator("[data-run]").getAttribute("data-run");
  const other = (run) => ({
    test: (before) => {
      const row = document.querySelector('[data-testid="run-row"] [data-run]');
      const stale = document.querySelector("[data-stale]");
      return row !== null && stale === null && row.dataset.run !== before;
    },
    arg: run,
  });

  await step("open the list", () => page.goto(`/p/${projectId}/runs?range=30d`), other(""));
  await step(`scroll down ${pages} pages, as they come`, async () => {
    const scroller = page.getByTestId("run-list").locator("xpath=..");
    for (let loaded = 0; loaded < pages; loaded++) {
      await scroller.evaluate(async (element) => {
        const before = element.scrollHeight;
        for (let n = 1; n <= 10; n++) {
          element.scrollTop += (element.scrollHeight - element.clientHeight - element.scrollTop) / (11 - n);
          await new Promise((drawn) => requestAnimationFrame(drawn));
        }
        while (element.scrollHeight === before) await new Promise((drawn) => requestAnimationFrame(drawn));
      });
    }
  }, other(await first()));
  await page.keyboard.press("Home");
  const failed = (all) => {
    const rows = [...document.querySelectorAll('[data-testid="run-row"]')];
    return rows.length > 10 && rows.every((row) => row.dataset.outcome === "failed") === all;
  };
  await step("only failed runs", () => page.keyboard.press("e"), { test: failed, arg: true });
  await step("all again", () => page.keyboard.press("e"), { test: failed, arg: false });
  const before = await first();
  await step("a rare search", () => page.getByLabel("Search runs").fill(rare), other(before));
  return figures;
});
