// A user reads eval-runs and their items, compares and checks them, and cancels and deletes one; a viewer only reads.
import { createAccount, invite, otherBrowser } from "./colleague.mjs";
import { inspect } from "./inspect.mjs";
import { check, retry, same, scenario, until } from "./scenario.mjs";

await scenario(async (page, { base, projectId, baseline, candidate, running, email, password }, context) => {
  const list = `/p/${projectId}/eval-runs`;
  const rows = page.getByTestId("eval-run-row");
  const row = (id) => page.locator(`[data-eval-run="${id}"]`);
  const items = page.getByTestId("eval-run-item");
  const detail = page.getByTestId("item-detail");

  // The list, and its filters.
  await page.goto(list);
  await until("three eval-runs", async () => (await rows.count()) === 3);
  await row(running).getByText("20 of 80 outputs").waitFor();
  await inspect(page, "eval-runs");
  await page.getByRole("textbox", { name: "Branch" }).fill("main");
  await page.getByRole("textbox", { name: "Branch" }).press("Enter");
  await until("one eval-run of main", async () => (await rows.count()) === 1);
  await page.getByRole("textbox", { name: "Name" }).fill("other");
  await page.getByRole("textbox", { name: "Name" }).press("Enter");
  await page.getByText("No eval-runs match these filters.").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await until("all eval-runs", async () => (await rows.count()) === 3);

  // Two are compared, the older one as A. One that runs can't be.
  await row(candidate).getByRole("checkbox").check();
  await row(running).getByRole("checkbox").check();
  await page.getByText("has no result yet.").waitFor();
  check(await page.getByRole("button", { name: "Compare", exact: true }).isDisabled(), "one that runs can't be compared");
  await row(running).getByRole("checkbox").uncheck();
  await row(baseline).getByRole("checkbox").check();
  await inspect(page, "eval-runs-selected");
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.waitForURL(/\/comparisons\/[0-9a-f-]{36}/);
  await page.getByTestId("sentence").waitFor();
  await page.getByRole("tab", { name: "Configuration" }).click();
  await page.getByTestId("side").first().getByRole("link", { name: "an eval-run" }).click();
  await page.waitForURL(new RegExp(baseline));

  // Both on one page, by any of their metrics.
  await page.goto(`${list}/compare?run=${baseline}&run=${candidate}`);
  await page.getByTestId("sentence").waitFor();
  check((await page.getByTestId("ranked-side").count()) === 2, "two sides");
  check((await page.getByTestId("ranked-difference").count()) === 1, "one difference");
  await page.getByText(/hold together/).first().waitFor();
  await inspect(page, "eval-runs-compared");
  await page.getByRole("combobox", { name: "Metric" }).or(page.getByRole("textbox", { name: "Metric" })).first().click();
  await page.getByRole("option", { name: "failures" }).click();
  await page.waitForURL(/metric=failures/);
  await page.getByRole("table", { name: "Means" }).getByText("failures").first().waitFor();
  await page.goto(`${list}/compare`);
  await page.getByText("Nothing to compare.").waitFor();

  // The result adds up.
  await page.goto(`${list}/${candidate}`);
  await page.getByTestId("sentence").waitFor();
  const counts = (await page.getByTestId("accounting").locator("li [class*=count]").allTextContents()).map(Number);
  check(counts.length === 6 && counts.slice(0, 5).reduce((sum, one) => sum + one, 0) === counts[5], `the items don't add up: ${counts}`);
  check(counts[0] === 39 && counts[1] === 1, `39 scored and 1 without an output: ${counts}`);
  await page.getByTestId("reason").getByText("TimeoutError").waitFor();
  await page.getByTestId("facts").getByText("$0.08").waitFor();

  // The gate: this one is incomplete, the baseline against it is a regression.
  const gate = page.getByTestId("gate");
  const choose = async (label, option) => {
    await page.getByRole("combobox", { name: label }).or(page.getByRole("textbox", { name: label })).first().click();
    await page.getByRole("option", { name: option }).click();
  };
  await choose("Baseline", /main/);
  await gate.getByRole("button", { name: "Check" }).click();
  await same("the decision", "incomplete", () => page.getByTestId("decision").getAttribute("data-decision"));
  await inspect(page, "eval-run");
  await page.getByTestId("decision").scrollIntoViewIfNeeded();
  await page.screenshot({ path: `${process.env.OUTPUT}/eval-run-gate.png` });
  await page.goto(`${list}/${baseline}`);
  await choose("Baseline", /faster-triage/);
  await gate.getByLabel(/^Margin/).fill("2");
  await page.getByTestId("gate-plan").getByText(/^A margin of 2.0 points needs .* you have/).waitFor();
  await gate.getByRole("button", { name: "Check" }).click();
  await same("the other decision", "regression", () => page.getByTestId("decision").getAttribute("data-decision"));

  // The items.
  await page.goto(`${list}/${candidate}`);
  await page.getByTestId("accounting").getByRole("link", { name: "without an output" }).click();
  await until("one item without an output", async () => (await items.count()) === 1);
  await detail.getByText("The search tool did not answer.").waitFor();
  await inspect(page, "eval-run-item-failed");
  await page.goto(`${list}/${candidate}?tab=items`);
  await detail.getByText("It is no number.").waitFor();
  await detail.getByRole("link", { name: "Run", exact: true }).waitFor();
  await detail.getByText("2", { exact: true }).click();
  await until("the repeat is in the address", () => /repeat=2/.test(page.url()));
  const second = await items.nth(1).getAttribute("data-item");
  await page.keyboard.press("j");
  await same("the next item", second, () => detail.getAttribute("data-item"));
  await inspect(page, "eval-run-items");

  // Another one of the dataset, from the page.
  await page.getByRole("button", { name: "Compare…" }).click();
  await choose("Other eval-run of this dataset", /main/);
  await inspect(page, "eval-run-compare");
  await page.getByRole("dialog").getByRole("button", { name: "Compare", exact: true }).click();
  await page.waitForURL(/\/comparisons\/[0-9a-f-]{36}/);

  // Cancelled, then deleted.
  await page.goto(`${list}/${running}`);
  await page.getByTestId("progress").getByText("20 of 80 outputs").waitFor();
  await inspect(page, "eval-run-running");
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("button", { name: "Cancel eval-run" }).click();
  await page.getByTestId("sentence").waitFor();
  await page.getByText("It was cancelled before all results were in").waitFor();
  await page.getByRole("button", { name: /^Actions for/ }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByRole("button", { name: "Delete eval-run" }).click();
  await until("two eval-runs are left", async () => (await rows.count()) === 2);
  // A comparison uses this one, so it stays.
  await page.goto(`${list}/${baseline}`);
  await page.getByRole("button", { name: /^Actions for/ }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByRole("button", { name: "Delete eval-run" }).click();
  await page.getByRole("dialog").getByTestId("problem").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();

  // Down.
  await page.route("**/v1/eval-runs?*", (route) => route.abort());
  await page.goto(list);
  await page.getByTestId("problem").getByText("The server didn't respond").waitFor();
  await page.unroute("**/v1/eval-runs?*");
  await retry(page);
  await rows.first().waitFor();
  await page.goto(`${list}/00000000-0000-4000-8000-000000000000`);
  await page.getByTestId("problem").waitFor();
  await page.getByRole("heading", { level: 1, name: "Eval-run not found" }).waitFor();
  await inspect(page, "eval-run-missing");
  await page.keyboard.press("Escape");
  await rows.first().waitFor();

  // A viewer.
  await page.goto(`/p/${projectId}/settings/members`);
  const link = await invite(page, "Viewer");
  const guest = await otherBrowser(context, base);
  await createAccount(guest, link, email, password);
  await guest.goto(list);
  await guest.getByTestId("eval-run-row").first().waitFor();
  for (const id of [baseline, candidate]) await guest.locator(`[data-eval-run="${id}"]`).getByRole("checkbox").check();
  await guest.getByTestId("rank").click();
  await guest.getByTestId("ranked-difference").waitFor();
  await guest.goto(`${list}/${candidate}`);
  await guest.getByTestId("sentence").waitFor();
  check((await guest.getByRole("button", { name: /Compare…|Cancel…/ }).count()) === 0, "a viewer changes nothing");
  await guest.getByRole("button", { name: /^Actions for/ }).click();
  await guest.getByRole("menuitem", { name: /JSONL/ }).waitFor();
  check((await guest.getByRole("menuitem", { name: /…/ }).count()) === 0, "a viewer only exports");
  await guest.keyboard.press("Escape");
  await guest.getByTestId("gate").getByRole("button", { name: "Check" }).waitFor();
});
