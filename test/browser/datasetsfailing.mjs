// The pages of datasets while the server is slow, and while it doesn't answer.
import { inspect } from "./inspect.mjs";
import { retry, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, large }) => {
  const dataset = `/p/${projectId}/datasets/${large}`;
  let answer = (route) => route.fallback();
  let held = [];
  await page.route(/\/v1\/(datasets|imports)/, (route) => answer(route));
  const hold = (route) => {
    held.push(route);
  };
  const places = [
    ["list", `/p/${projectId}/datasets`],
    ["items", dataset],
    ["revisions", `${dataset}?tab=revisions`],
    ["diff", `${dataset}?tab=revisions&compare=1...2`],
    ["imports", `${dataset}?tab=imports`],
    ["near-duplicates", `${dataset}?tab=near-duplicates`],
    ["import", `${dataset}/import`],
  ];
  for (const [name, path] of places) {
    answer = hold;
    await page.goto(path);
    await page.locator("[aria-busy=true] .mantine-Skeleton-root").first().waitFor();
    await page.screenshot({ path: `${process.env.OUTPUT}/datasets-slow-${name}.png` });
    answer = (route) => route.abort("connectionrefused");
    for (const route of held.splice(0)) await route.abort("connectionrefused").catch(() => {});
    await page.getByTestId("problem").getByText("The server didn't respond").first().waitFor();
    await inspect(page, `datasets-down-${name}`);
    answer = (route) => route.fallback();
    await retry(page);
    await until(`${name} recovers`, async () => (await page.getByTestId("problem").count()) === 0);
  }
  held = [];

  // A save that fails keeps the text.
  await page.goto(dataset);
  await page.getByTestId("item-row").getByRole("link", { name: "faq-00000" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Edit" }).click();
  await dialog.getByLabel("Key").fill("renamed");
  answer = (route) => route.abort("connectionrefused");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("The server didn't respond").waitFor();
  await inspect(page, "item-down");
  answer = (route) => route.fallback();
  await dialog.getByLabel("Key").fill("renamed-twice");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText(/^Saved in revision/).waitFor();
});
