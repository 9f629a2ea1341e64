// A user sets a project price for a model, changes it and deletes it.
import { inspect } from "./inspect.mjs";
import { check, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, model }) => {
  await page.goto(`/p/${projectId}/settings`);
  await page.getByRole("navigation", { name: "Project" }).getByRole("link", { name: "Prices" }).click();
  const unpriced = page.getByTestId("unpriced-models").getByRole("row").filter({ hasText: model });
  await unpriced.waitFor();
  await inspect(page, "prices");

  // Search the prices.
  const search = page.getByLabel("Search prices");
  const rows = page.getByTestId("price-row");
  await search.fill("claude-haiku-4-5");
  await until("found prices", async () => (await rows.count()) > 0 && (await rows.count()) < 20);
  await search.fill("no such model xyzzy");
  await page.getByText("No prices match these filters.").waitFor();
  await search.fill("");

  // Set the price of a model without one. Errors appear at their fields.
  const dialog = page.getByRole("dialog");
  await unpriced.getByRole("button", { name: "Set a price" }).click();
  await dialog.getByLabel("Input").fill("2000000");
  // A negative price is refused, not made positive.
  await dialog.getByLabel("Output").fill("-4");
  await dialog.getByText("must not be negative").waitFor();
  check(await dialog.getByRole("button", { name: "Save price" }).isDisabled(), "a negative price can't be saved");
  await dialog.getByLabel("Output").fill("4");
  await dialog.getByRole("button", { name: "Save price" }).click();
  await dialog.getByText("1000000").first().waitFor();
  await inspect(page, "prices-refused");
  await dialog.getByLabel("Input").fill("2");
  await dialog.getByRole("button", { name: "Save price" }).click();
  await dialog.waitFor({ state: "hidden" });
  await unpriced.waitFor({ state: "hidden" });
  const own = rows.filter({ hasText: model });
  await own.getByText("this project").waitFor();
  await inspect(page, "prices-own");

  await page.getByRole("button", { name: `Actions for ${model}` }).click();
  await page.getByRole("menuitem", { name: "Edit…" }).click();
  await dialog.getByLabel("Output").fill("0.25");
  await dialog.getByRole("button", { name: "Save price" }).click();
  await own.getByText("$0.25").waitFor();

  await page.getByRole("button", { name: `Actions for ${model}` }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await inspect(page, "prices-delete");
  await dialog.getByRole("button", { name: "Delete price" }).click();
  await unpriced.waitFor();
  await own.waitFor({ state: "hidden" });
});
