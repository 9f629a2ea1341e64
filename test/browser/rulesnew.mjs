// A user makes a rule that scores runs like those of the Runs page, after a preview and a try of its judges. Returns its id.
import { inspect } from "./inspect.mjs";
import { check, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId }) => {
  const project = `/p/${projectId}`;
  const preview = page.getByTestId("preview");
  await page.goto(`${project}/rules`);
  await page.getByText("No rules yet.").waitFor();
  await inspect(page, "rules-empty");

  // From the filter of the Runs page, without its times.
  await page.goto(`${project}/runs?environment=rules&range=24h`);
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Score runs like these…" }).click();
  await page.getByTestId("prefilled").getByText("environment: rules").waitFor();
  await preview.getByText(/^4 runs in the last .* match\.$/).waitFor();
  check((await preview.getByTestId("example").count()) === 4, "four examples");
  await preview.getByText(/Can't be scored: .*has no output/).waitFor();

  // What is missing is said at the fields.
  await page.getByRole("button", { name: "Create rule" }).click();
  await page.getByText("Enter a name.").waitFor();
  await page.getByText("Add a grader, or a panel of judges below.").waitFor();
  await page.getByRole("button", { name: "Outcome" }).click();
  await page.getByRole("menuitemcheckbox", { name: "failed" }).click();
  await page.keyboard.press("Escape");
  await preview.getByText("No run of the last 7 days matches.").waitFor();
  await page.getByRole("button", { name: "Remove filter failed" }).click();

  // A grader, and judges of two families.
  await page.getByRole("button", { name: "Grader", exact: true }).click();
  check((await page.getByRole("menuitem", { name: /reference/ }).count()) === 0, "there is no reference output");
  await page.getByRole("menuitem", { name: /^Contains a text/ }).click();
  await page.getByRole("button", { name: "Panel of judges" }).click();
  check((await page.getByRole("menuitem", { name: /^Correctness/ }).count()) === 0, "no judge that needs a reference output");
  await page.getByRole("menuitem", { name: /^Helpfulness/ }).click();
  const typeModel = async (of, name) => {
    const field = page.getByRole("combobox", { name: `Model of ${of}`, exact: true });
    await field.fill(name);
    await field.press("Escape");
    await field.blur();
  };
  await typeModel("judge 1 of helpfulness", "gpt-judge");
  await page.getByRole("button", { name: "Add a judge of another family" }).click();
  await typeModel("judge 2 of helpfulness", "qwen-judge");
  await page.getByLabel("Daily budget ($)").fill("2");
  await page.getByLabel("Name", { exact: true }).fill("Numbers are helpful");
  await page.getByLabel("Sample (%)").fill("101");
  await page.getByText("A number from 0.01 to 100.").waitFor();
  await page.getByLabel("Sample (%)").fill("100");
  await preview.getByText(/\$.* a day/).waitFor();
  await page.getByText("Try on the newest runs").click();
  await page.getByRole("button", { name: "Judge 3 runs" }).click();
  await page.getByTestId("try-results").getByText("Canary: held.").waitFor();
  await inspect(page, "rule-new");
  await page.getByRole("button", { name: "Create rule" }).click();
  await page.getByTestId("no-runs").waitFor();
  check((await page.getByTestId("rule-status").getAttribute("data-status")) === "active", "the rule is active");
  return await until("the id of the rule", () => page.url().match(/rules\/([0-9a-f-]{36})$/)?.[1]);
});
