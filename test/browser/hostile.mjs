// A user opens runs in which every text is hostile: the page runs none of it and fetches none of it.
import { check, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, runIds }, context) => {
  await context.addInitScript(() => {
    globalThis.__hostile = undefined;
  });
  await page.goto(`/p/${projectId}/runs?search=hostile`);
  await until("the hostile runs", async () => (await page.getByTestId("run-row").count()) > 10);
  await harmless(page);
  for (const runId of runIds) {
    await page.goto(`/p/${projectId}/runs/${runId}`);
    const rows = page.getByTestId("span-row");
    await until("the run's three spans", async () => (await rows.count()) === 3);
    for (const row of await rows.all()) {
      await row.click();
      const detail = page.getByTestId("span-detail");
      await detail.getByText((await row.getAttribute("id")).replace("span-", "")).first().waitFor();
      const tabs = detail.getByRole("tab");
      await tabs.first().waitFor();
      for (let index = 0; index < (await tabs.count()); index++) {
        await tabs.nth(index).click();
        await detail.getByRole("tabpanel").waitFor();
        await detail.locator("details").evaluateAll((all) => {
          for (const details of all) details.open = true;
        });
        await harmless(page);
      }
    }
  }
  await page.goto("/v1/docs");
  await harmless(page);
});

async function harmless(page) {
  const harm = await page.evaluate(() => {
    const found = [];
    if (globalThis.__hostile !== undefined) found.push(`a script ran: ${globalThis.__hostile}`);
    if ({}.hostile !== undefined) found.push("the prototype of every object was changed");
    const origin = globalThis.location.origin;
    for (const element of document.querySelectorAll("iframe, object, embed, base, svg script, body script, body link, body style")) {
      const source = element.getAttribute("src") ?? element.getAttribute("href") ?? "";
      if (element.outerHTML.includes("hostile") || source.startsWith("http")) found.push(element.outerHTML.slice(0, 200));
    }
    for (const element of document.querySelectorAll("[href], [src], [xlink\\:href]")) {
      for (const name of ["href", "src", "xlink:href"]) {
        const value = element.getAttribute(name);
        if (value === null) continue;
        const url = URL.parse(value, origin);
        const isLink = element.tagName === "A";
        if (url && !["http:", "https:", "mailto:", "data:", "blob:"].includes(url.protocol)) found.push(element.outerHTML.slice(0, 200));
        else if (url && isLink && url.protocol === "data:") found.push(element.outerHTML.slice(0, 200));
        else if (url && !isLink && url.origin !== origin && url.origin !== "null") found.push(element.outerHTML.slice(0, 200));
        else if (isLink && url && url.origin !== origin && !/noopener/.test(element.rel)) found.push(element.outerHTML.slice(0, 200));
      }
    }
    for (const element of document.querySelectorAll("*")) {
      for (const { name } of element.attributes) if (name.startsWith("on")) found.push(element.outerHTML.slice(0, 200));
    }
    return found;
  });
  check(harm.length === 0, `harm on ${page.url()}:\n${harm.join("\n")}`);
}
