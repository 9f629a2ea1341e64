// A user reads what a rule did, from its counts to the scores of a run; changes, pauses and resumes it; mends one that stopped; deletes one.
import { inspect } from "./inspect.mjs";
import { check, same, scenario, sessionHeaders, until } from "./scenario.mjs";

await scenario(async (page, { projectId, rule, stopped, connection, key, run, late }) => {
  const project = `/p/${projectId}`;
  const runs = page.getByTestId("rule-run");
  const detail = page.getByTestId("rule-run-detail");
  const status = page.getByTestId("rule-status");
  /** The counts of a sum, which must add up to the runs that were taken. */
  const sum = async (name) => {
    const counts = (await page.getByTestId(name).locator("[class*=count]").allTextContents()).map(Number);
    check(counts.slice(0, -1).reduce((total, one) => total + one, 0) === counts.at(-1), `the runs don't add up: ${counts}`);
    return counts.at(-1);
  };

  // The list, and from it by keyboard.
  await page.goto(`${project}/rules`);
  await page.locator(`[data-rule="${stopped}"]`).getByText("The provider refused the API key").waitFor();
  await page.locator(`[data-rule="${rule}"]`).getByText("8 of 9 runs scored, 1 skipped").waitFor();
  await inspect(page, "rules");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");

  // What it did, as a sum that adds up.
  await page.getByTestId("score-trend").waitFor();
  check(page.url().endsWith(rule), "the first rule opens");
  check((await sum("sum-today")) === 9, "nine runs today");
  check((await sum("sum-all")) === 9, "nine runs in all");
  await page.getByTestId("score-trend").getByRole("switch", { name: "Table" }).click();
  await page.getByTestId("score-trend").getByRole("cell", { name: "8", exact: true }).waitFor();
  await page.getByTestId("score-trend").getByRole("switch", { name: "Table" }).click();
  await inspect(page, "rule-scores");

  // Its runs: by status, with the votes beside each other.
  await page.getByTestId("sum-today").getByRole("link", { name: "skipped" }).click();
  await detail.getByText("The run has no output").waitFor();
  check((await runs.count()) === 1, "one run was skipped");
  await page.goto(`${project}/rules/${rule}?tab=runs`);
  await same("nine runs", 9, () => runs.count());
  await page.locator(`[data-testid="rule-run"][data-run="${run}"]`).click();
  await detail.getByRole("heading", { name: "<b>answer 5</b>" }).waitFor();
  await detail.getByText("judges differ").waitFor();
  check((await detail.getByTestId("vote").count()) === 2, "two votes");
  await inspect(page, "rule-runs");
  await runs.first().click();
  const ids = await Promise.all([0, 1].map((index) => runs.nth(index).getAttribute("data-run")));
  await same("the first run", ids[0], () => detail.getAttribute("data-run"));
  await page.keyboard.press("j");
  await same("the next run", ids[1], () => detail.getAttribute("data-run"));
  await page.keyboard.press("k");
  await same("the run before", ids[0], () => detail.getAttribute("data-run"));

  // On the run, its author is the rule.
  await page.locator(`[data-testid="rule-run"][data-run="${run}"]`).click();
  await same("the run", run, () => detail.getAttribute("data-run"));
  await detail.getByRole("link", { name: "Open the run" }).click();
  await page.getByRole("button", { name: /^Scores/ }).click();
  const scores = page.getByRole("dialog", { name: "Scores of this run" });
  await same("two scores", 2, () => scores.getByTestId("score").count());
  await scores.getByRole("link", { name: "Numbers are helpful" }).first().click();
  await page.getByTestId("score-trend").waitFor();
  await page.getByRole("tab", { name: "Configuration" }).click();
  await page.getByRole("link", { name: "environment: rules" }).last().waitFor();
  await inspect(page, "rule-configuration");

  // A change of what is scored is a version.
  await page.getByRole("link", { name: "Edit" }).click();
  const save = page.getByRole("button", { name: "Save" });
  await page.getByTestId("preview").getByText(/a day/).first().waitFor();
  check(await save.isDisabled(), "there is nothing to save");
  await page.getByLabel("Daily budget ($)").fill("3");
  check((await page.getByTestId("new-version").count()) === 0, "a budget is no version");
  await page.getByLabel("Name of grader 1").fill("apology");
  await page.getByText("It becomes version 2").waitFor();
  await inspect(page, "rule-edit");
  await save.click();
  await page.getByTestId("sum-today").getByText(/of \$3\.00/).waitFor();

  // Paused, and active again.
  await page.getByRole("button", { name: "Pause" }).click();
  await same("paused", "paused", () => status.getAttribute("data-status"));
  await page.getByRole("button", { name: "Resume…" }).click();
  await page.getByRole("radio", { name: "Leave them out" }).click();
  await inspect(page, "rule-resume");
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await same("active", "active", () => status.getAttribute("data-status"));

  // One that stopped says why and what to do, and goes on when that is done.
  await page.goto(`${project}/rules/${stopped}`);
  const stop = page.getByTestId("rule-stop");
  await stop.getByText("Stopped: The provider refused the API key").waitFor();
  await stop.getByText(/^What to do: Enter a valid API key/).waitFor();
  await page.getByTestId("rule-errors").getByText("The provider refused the API key").waitFor();
  check((await sum("sum-today")) === 12, "12 runs of the rule that stopped");
  await inspect(page, "rule-stopped");
  await stop.getByRole("link", { name: "Open providers" }).waitFor();
  const mended = await page.evaluate(
    ([path, headers, body]) => fetch(path, { method: "PATCH", headers, body }).then(({ ok }) => ok),
    [
      `/v1/providers/${connection}`,
      { ...(await sessionHeaders(page)), "Content-Type": "application/json" },
      JSON.stringify({ api_key: key }),
    ],
  );
  check(mended, "the connection has a valid key");
  await stop.getByRole("button", { name: "Resume…" }).click();
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await same("it goes on", "active", () => status.getAttribute("data-status"));
  // Two runs ended while it was stopped. They must have been quiet for half a minute.
  await page.getByTestId("sum-today").getByRole("link", { name: "scored", exact: true }).waitFor({ timeout: 90_000 });
  await until("two runs are scored", async () => (await sum("sum-today")) === 14);

  // Without it, the scores stay.
  await page.getByRole("button", { name: "Actions for Refused" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByText("Scores that it gave stay on the runs.").waitFor();
  await page.getByRole("button", { name: "Delete rule" }).click();
  await page.locator(`[data-rule="${rule}"]`).waitFor();
  check((await page.locator(`[data-rule="${stopped}"]`).count()) === 0, "the rule is gone");
  await page.goto(`${project}/runs/${late}`);
  await page.getByRole("button", { name: "Scores 1" }).waitFor();

  // While the server doesn't answer.
  await page.route(/\/v1\/eval-rules/, (route) => route.abort("connectionrefused"));
  for (const path of ["rules", `rules/${rule}`]) {
    await page.goto(`${project}/${path}`);
    await page.getByTestId("problem").getByText("The server didn't respond").waitFor();
  }
});
