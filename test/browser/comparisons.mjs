// A user starts a comparison from a dataset, reads its result and its items, and cancels and resumes a slow one.
import { inspect } from "./inspect.mjs";
import { check, same, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, dataset, prompt, release, key }) => {
  const project = `/p/${projectId}`;
  const dialog = page.getByRole("dialog");
  const rows = page.getByTestId("comparison-row");
  const status = page.getByTestId("evaluation-status");
  const items = page.getByTestId("comparison-item");
  const detail = page.getByTestId("item-detail");
  const estimate = page.getByTestId("estimate");
  const choose = async (label, option) => {
    await page.getByRole("combobox", { name: label }).click();
    await page.getByRole("option", { name: option }).click();
  };
  const typeModel = async (letter, name) => {
    const field = page.getByRole("combobox", { name: `Model of ${letter}` });
    await field.fill(name);
    await field.press("Escape");
    await field.blur();
  };
  const write = async (side, number, role, text) =>
    page.getByTestId(`side-${side}`).getByRole("textbox", { name: `Message ${number}, ${role}` }).fill(text);
  const menu = async (name) => {
    await page.getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { name }).click();
  };

  await page.goto(`${project}/comparisons`);
  await page.getByText("No comparisons yet.").waitFor();
  await inspect(page, "comparisons-empty");

  // From a dataset.
  await page.goto(`${project}/datasets/${dataset}`);
  await page.getByRole("link", { name: "Compare", exact: true }).click();
  await same("the dataset", "numbers", () => page.getByRole("textbox", { name: "Dataset", exact: true }).inputValue());
  await page.getByRole("button", { name: "Start comparison" }).click();
  await page.getByText("Choose a model.").first().waitFor();
  await write("a", 1, "system", "You answer with a number.");
  await write("a", 2, "user", "{{question}}");
  await typeModel("A", "model-a");
  await page.getByTestId("side-a").getByText("Parameters, tools and response format").click();
  await page.getByTestId("side-a").getByLabel("Max. output tokens").fill("20");
  await page.getByTestId("side-a").getByTestId("variable-value").getByText("number 0").waitFor();
  await page.getByRole("button", { name: "Copy A to B" }).click();
  await typeModel("B", "model-b");
  await estimate.getByText("2 of 62 items can't be rendered").waitFor();
  await estimate.getByText("q60, q61").first().waitFor();
  await estimate.getByText(/^\$.* to \$/).waitFor();

  // A grader, its mistakes, and a try.
  await page.getByRole("button", { name: "Grader", exact: true }).click();
  await page.getByRole("menuitem", { name: /Equals the reference output/ }).click();
  const operation = page.getByTestId("grader").getByRole("combobox", { name: "The output" });
  await same("the operation", "equals the reference", () => operation.inputValue());
  await page.getByTestId("grader").getByRole("tab", { name: "JSON" }).click();
  const definition = page.getByRole("textbox", { name: "Definition of grader 1" });
  await definition.fill('{ "type": "string_check", "operation": "same" }');
  await page.getByTestId("grader").getByText(/operation: must be/).waitFor();
  await definition.fill('{ "type": "string_check", "operation": "eq" }');
  await page.getByTestId("grader").getByRole("tab", { name: "Form" }).click();
  await page.getByText("Try the graders on an output").click();
  await page.getByRole("button", { name: "Grade", exact: true }).click();
  await page.getByTestId("try-graders").getByText(/pass/).waitFor();
  await until("the estimate is that of the form", async () => (await page.locator("[aria-busy=true]").count()) === 0);
  await inspect(page, "comparison-new");

  // Items that don't fit are refused, then skipped.
  await page.getByRole("button", { name: "Start comparison" }).click();
  await page.getByText(/2 of 62 items cannot be rendered/).waitFor();
  await page.getByLabel("Skip items that can't be rendered").check();
  await page.getByLabel("Repeats").fill("2");
  await page.getByLabel("Cost cap ($)").fill("1");
  await page.getByLabel("Name", { exact: true }).fill("B against A");
  await page.getByRole("button", { name: "Start comparison" }).click();
  await page.getByTestId("sentence").waitFor();
  await page.getByTestId("sentence").getByText("B is better", { exact: true }).waitFor();

  // The result adds up.
  await same("the verdict", "b_better", () => page.locator("[data-testid=metric-row][data-metric=correct]").getAttribute("data-verdict"));
  const counts = await page.getByTestId("accounting").locator("li [class*=count]").allTextContents();
  const numbers = counts.map(Number);
  check(numbers.length === 6 && numbers.slice(0, 5).reduce((sum, one) => sum + one, 0) === numbers[5], `the items don't add up: ${counts}`);
  check(numbers[0] === 60 && numbers[3] === 2, `60 scored and 2 skipped: ${counts}`);
  await page.getByTestId("reason").getByText(/Skipped: .*question/).first().waitFor();
  await page.getByTestId("drift").first().waitFor();
  await inspect(page, "comparison-result");

  // The items that got worse, by keyboard.
  await page.locator("[data-metric=correct]").getByRole("link", { name: /regressed/ }).click();
  await until("the items that regressed", async () => (await items.count()) > 1);
  check((await items.getByText("Improved", { exact: true }).count()) === 0, "only regressed items are listed");
  await detail.waitFor();
  const [first, second] = await Promise.all([0, 1].map((index) => items.nth(index).getAttribute("data-item")));
  await page.keyboard.press("j");
  await same("the next item", second, () => detail.getAttribute("data-item"));
  await page.keyboard.press("ArrowLeft");
  await same("the first item", first, () => detail.getAttribute("data-item"));
  await page.keyboard.press("?");
  await page.getByText("open the run of A, of B").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await detail.getByText("I don't know the number.", { exact: true }).waitFor();
  await detail.getByText("Reference to B").click();
  await page.getByTestId("word-diff").locator("del").first().waitFor();
  await detail.getByText("2", { exact: true }).click();
  await until("the place is in the address", () => /outcome=regressed.*item=.*view=rb.*repeat=2/.test(page.url()));
  await inspect(page, "comparison-items");
  const place = page.url();
  await page.keyboard.press("b");
  await page.waitForURL(/\/runs\//);
  await page.getByTestId("span-tree").waitFor();
  await page.goBack();
  await same("the same place", place, () => page.url());
  await choose("Status of the item", "Skipped");
  await page.getByText("No items match these filters.").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await choose("Status of the item", "Skipped");
  await detail.getByText(/Skipped: .*question/).waitFor();

  await page.getByRole("tab", { name: "Configuration" }).click();
  await page.getByTestId("change").getByText("model", { exact: true }).waitFor();
  await inspect(page, "comparison-configuration");

  // The report and the exports.
  await page.getByRole("button", { name: "Report" }).click();
  await dialog.getByText(/62 items: 60 scored/).waitFor();
  const [junit] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("button", { name: "Download JUnit" }).click()]);
  check(junit.suggestedFilename() === "B against A.xml", junit.suggestedFilename());
  await inspect(page, "comparison-report");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  for (const [name, file] of [
    ["Export outputs as JSONL", "B against A.jsonl"],
    ["Export outputs as CSV", "B against A.csv"],
  ]) {
    const [saved] = await Promise.all([page.waitForEvent("download"), menu(name)]);
    check(saved.suggestedFilename() === file, saved.suggestedFilename());
  }
  await menu("Rename…");
  await dialog.getByLabel("Name").fill("Numbers, B against A");
  await dialog.getByRole("button", { name: "Rename" }).click();
  await page.getByRole("heading", { name: "Numbers, B against A" }).waitFor();

  // One like it whose model answers no more is cancelled, and resumed when it answers again.
  await menu("New comparison like this…");
  await typeModel("B", "model-held");
  await page.getByLabel("Name", { exact: true }).fill("Held");
  if (!(await page.getByLabel("Split").isVisible())) await page.getByText(/^More options/).click();
  await page.getByLabel("Split").fill("odd");
  await page.getByRole("button", { name: "Start comparison" }).click();
  await page.getByTestId("progress").getByText(/[1-9]\d* of 124 outputs/).waitFor();
  await inspect(page, "comparison-running");
  await page.getByRole("button", { name: "Back to the comparisons" }).click();
  await rows.first().getByText("Running").waitFor();
  await rows.first().getByText(/of 124 outputs/).waitFor();
  await rows.first().getByRole("link").first().click();
  await page.getByRole("button", { name: "Cancel…" }).click();
  await dialog.getByText(/can resume it later/).waitFor();
  await dialog.getByRole("button", { name: "Cancel comparison" }).click();
  await dialog.waitFor({ state: "detached" });
  check((await fetch(release, { headers: { Authorization: `Bearer ${key}` } })).ok, "the model answers again");
  await same("the status", "cancelled", () => status.first().getAttribute("data-status"));
  await page.getByText("It ended before all outputs were in").waitFor();
  await page.getByRole("button", { name: "Resume…" }).click();
  await dialog.getByLabel("Cost cap ($)").fill("3");
  await dialog.getByRole("button", { name: /^Run \d+ outputs$/ }).click();
  await dialog.waitFor({ state: "detached" });
  await until("it runs again", async () => ["queued", "running", "succeeded"].includes(await status.first().getAttribute("data-status")));
  await until("it is done", async () => (await status.first().getAttribute("data-status")) === "succeeded");

  // Run again, and delete what came of it.
  await page.goto(`${project}/comparisons`);
  await rows.filter({ hasText: "Numbers, B against A" }).getByRole("link").click();
  await page.getByTestId("sentence").waitFor();
  const before = page.url();
  await menu("Run again…");
  await dialog.getByRole("button", { name: "Run again" }).click();
  await until("the new one", () => page.url() !== before);
  await page.getByTestId("sentence").waitFor();
  await menu("Delete…");
  await dialog.getByText(/for good/).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();

  // The filters of the list.
  await page.goto(`${project}/comparisons`);
  await choose("Dataset", "numbers");
  await inspect(page, "comparisons");
  await page.keyboard.press("j");
  await choose("Status", "Failed");
  await page.getByText("No comparisons match these filters.").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();

  await rows.first().getByRole("link").click();
  await page.getByTestId("sentence").waitFor();
  const deleted = page.url();
  await menu("Delete…");
  await dialog.getByRole("button", { name: "Delete comparison" }).click();
  await page.waitForURL(`**${project}/comparisons`);
  await rows.first().waitFor();
  await until("the deleted one is gone", async () => (await page.locator(`[data-comparison="${deleted.split("/").at(-1)}"]`).count()) === 0);

  // From two versions of a prompt.
  await page.goto(`${project}/prompts/${prompt}?tab=versions&compare=1...2`);
  await page.getByRole("link", { name: "Compare on a dataset" }).click();
  await same("A", "v1", () => page.getByRole("combobox", { name: "Version, Prompt of A" }).inputValue());
  await same("B", "v2", () => page.getByRole("combobox", { name: "Version, Prompt of B" }).inputValue());
  await same("the connection of the prompt", "Scripted", () => page.getByRole("combobox", { name: "Connection of B" }).inputValue());

  // From two columns of the playground.
  await page.goto(`${project}/playground`);
  await page.getByRole("textbox", { name: "Message 2, user" }).fill("{{question}}");
  await page.getByRole("combobox", { name: "Model of column 1" }).fill("model-a");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Actions for column 1" }).click();
  await page.getByRole("menuitem", { name: "Duplicate column" }).click();
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await same("the model", "model-a", () => page.getByRole("combobox", { name: "Model of B" }).inputValue());
  await page.getByTestId("side-b").getByText("{{question}}").waitFor();
});
