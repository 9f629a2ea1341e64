// A user reads a dataset of 10,000 items, of all kinds of JSON and scripts.
import { inspect } from "./inspect.mjs";
import { check, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, large, runId }) => {
  const datasets = `/p/${projectId}/datasets`;
  const dialog = page.getByRole("dialog");
  const rows = page.getByTestId("item-row");

  // A large dataset: pages, filters, keys.
  await page.goto(`${datasets}/${large}`);
  await until("a page", async () => (await rows.count()) === 100);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await until("the second row has the focus", () =>
    page.evaluate(() => document.activeElement?.closest("[data-testid=item-row]")?.rowIndex === 2),
  );
  await inspect(page, "dataset-large");
  await page.getByRole("button", { name: "Load more items" }).click();
  await until("two pages", async () => (await rows.count()) === 200);
  await page.getByRole("combobox", { name: "Split" }).fill("dev");
  await page.keyboard.press("Enter");
  await until("the split dev", async () => new URL(page.url()).searchParams.get("split") === "dev");
  await until("items of the split dev", async () => (await rows.first().textContent()).includes("dev"));
  await page.getByLabel("Search items").fill("كلمة");
  await until("only items in Arabic", async () =>
    (await rows.allTextContents()).every((text) => text.includes("المرور")),
  );
  await inspect(page, "dataset-filtered");
  await rows.first().getByRole("link").first().click();
  await dialog.getByTestId("item-input").getByText("كيف").waitFor();
  await inspect(page, "item-rtl");
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByLabel("Search items").fill("no item has these words");
  await page.getByText("No items match these filters.").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await rows.getByRole("link", { name: "faq-00001" }).click();
  await dialog.getByTestId("item-metadata").getByText("1234567890123456789").waitFor();
  await inspect(page, "item-long");
  await page.getByRole("button", { name: "Close" }).click();
  const source = rows.filter({ hasText: "no key" }).first().getByRole("link", { name: "run", exact: true });
  check((await source.getAttribute("href")).includes(`/runs/${runId}`), "an item links to the run that it came from");
  await page.goto(`${datasets}/${large}?tab=revisions&compare=9...10`);
  await page.getByTestId("diff-summary").getByText("1,000 added").waitFor();
  await inspect(page, "dataset-diff-large");

  // An address of what is not there.
  await page.goto(`${datasets}/00000000-0000-4000-8000-000000000000`);
  await page.getByTestId("problem").waitFor();
  await page.getByRole("heading", { level: 1, name: "Dataset not found" }).waitFor();
  await inspect(page, "dataset-missing");
  await page.goto(`${datasets}/${large}?item=00000000-0000-4000-8000-000000000000`);
  await dialog.getByTestId("problem").waitFor();
});
