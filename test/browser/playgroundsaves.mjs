// A user works with versions of prompts in the playground: one whose parameter the model refuses, another in its own column, and
// saves what came out as a version, an item of a dataset and a scenario.
import { inspect } from "./inspect.mjs";
import { playgroundOf, read } from "./playgroundpage.mjs";
import { check, same, scenario, until } from "./scenario.mjs";

const LISTED = /^(Load|No scenario saved yet)$/;

await scenario(async (page, { projectId, promptId, datasetId }) => {
  const { dialog, columns, column, answer, model, variable, choose, run, action, choosePrompt, chooseDataset } = playgroundOf(page);
  const removed = column(1).getByTestId("removed-parameter");
  await page.goto(`/p/${projectId}/playground`);
  // The list is there before anything is typed.
  await page.getByRole("combobox", { name: "Prompt for all columns", exact: true }).click();
  await page.getByRole("option", { name: "support/triage", exact: true }).click();
  await page.getByRole("combobox", { name: "Version, Prompt for all columns" }).waitFor();
  await variable("ticket").fill("I was charged twice.");
  await same("the model of the prompt", "no-temperature", () => model(1).getAttribute("placeholder"));

  // The model refuses a parameter of the version.
  await run(1);
  const problem = column(1).getByTestId("problem");
  await problem.getByText("The model refuses temperature").waitFor();
  await problem.getByText(/^Request/).waitFor();
  check((await problem.getByText("Only the default (1) value is supported.").count()) === 1, "the provider's words stand once");
  await column(1).getByRole("button", { name: "Remove temperature" }).click();
  await column(1).getByText("This column no longer sends temperature. Retry sends the request without it.").waitFor();
  await removed.getByText("The prompt's temperature isn't sent.").waitFor();
  await inspect(page, "playground-fixed");
  await problem.getByRole("button", { name: "Retry" }).click();
  await answer(1).getByText("The capital of France is Paris.").waitFor();
  await removed.getByRole("button", { name: "Send it: temperature in column 1" }).click();
  await removed.waitFor({ state: "detached" });
  await run(1);
  await problem.waitFor();
  await column(1).getByRole("button", { name: "Remove temperature" }).click();
  await page.reload();
  await removed.waitFor();
  await run(1);
  await answer(1).getByText("The capital of France is Paris.").waitFor();

  // Another prompt in a column of its own.
  await page.getByRole("button", { name: "Column", exact: true }).click();
  await choose(2, "echo");
  await page.getByRole("button", { name: /parameters of column 2$/ }).click();
  await choosePrompt("Prompt of column 2", "greet", "support/greet");
  await variable("name").fill("Ada");
  await until("it is ready", () => column(2).getByText(/About \d+ input tokens/).isVisible());
  await page.getByRole("button", { name: "Run all" }).click();
  await answer(2).getByText("Greet Ada.").waitFor();
  await answer(1).getByText("The capital of France is Paris.").waitFor();
  await page.getByRole("button", { name: /parameters of column 2$/ }).click();
  await column(2).getByText("Prompt support/greet v1").waitFor();
  await inspect(page, "playground-override");

  // What a column sends becomes the next version, and the alias moves to it.
  await action(1, "Save as prompt version…");
  await same("the prompt", "support/triage", () => dialog.getByLabel("Prompt").inputValue());
  await dialog.getByText("Its latest version is v1.").waitFor();
  await dialog.getByLabel("Note").fill("Without a temperature");
  await dialog.getByRole("combobox", { name: "Alias" }).click();
  await page.getByRole("option", { name: "Move production to it" }).click();
  await inspect(page, "playground-version");
  await dialog.getByRole("button", { name: "Save v2" }).click();
  await same("saved", "Saved as v2 of support/triage. production is now v2.", () => dialog.getByTestId("saved-version").textContent());
  await page.keyboard.press("Escape");
  const { prompt_version: moved } = await read(page, `/v1/prompts/${promptId}/aliases/production`);
  const { version, note, model_config: config } = moved;
  check(version === 2 && note === "Without a temperature", `the alias is at version ${version}`);
  check(config.model === "no-temperature" && !("temperature" in config), `the version has ${JSON.stringify(config)}`);
  await action(1, "Save as prompt version…");
  await dialog.getByRole("button", { name: "Save v3" }).click();
  await same("nothing new", "v2 of support/triage has the same content.", () => dialog.getByTestId("saved-version").textContent());
  await page.keyboard.press("Escape");

  // The answer becomes an item.
  await action(1, "Add to dataset…");
  await chooseDataset("tickets");
  await dialog.getByRole("textbox", { name: "Reference output" }).fill('{ "team": ');
  await dialog.getByText("This isn't valid JSON.").waitFor();
  check(await dialog.getByRole("button", { name: "Add item" }).isDisabled(), "broken JSON is not saved");
  await dialog.getByRole("textbox", { name: "Reference output" }).fill('{ "team": "billing" }');
  await dialog.getByLabel("Split").fill("test");
  await dialog.getByRole("button", { name: "Add item" }).click();
  await dialog.getByText("The item is in tickets.").waitFor();
  await page.keyboard.press("Escape");
  const { data } = await read(page, `/v1/datasets/${datasetId}/items?limit=50`);
  const added = data.find(({ split }) => split === "test");
  check(added?.input.ticket === "I was charged twice." && added.reference_output.team === "billing", `added: ${JSON.stringify(added)}`);
  check(added.source_run_id !== null, "the item names its run");

  // A scenario is saved, saved again, renamed, loaded and deleted.
  const scenarios = (name) => page.getByRole("button", { name, exact: true });
  const choice = async (button, name) => {
    await scenarios(button).click();
    await page.getByRole("menuitem", { name, exact: true }).click();
  };
  await page.getByRole("button", { name: "Edit here" }).click();
  await choice("Scenarios", "Save as new scenario…");
  await dialog.getByLabel("Name").fill("Billing");
  await dialog.getByRole("button", { name: "Save scenario" }).click();
  await dialog.waitFor({ state: "detached" });
  await variable("ticket").fill("I can't log in.");
  await choice("Billing", "Save “Billing”");
  await page.getByText("Scenario saved").waitFor();
  await choice("Billing", "Save as new scenario…");
  await dialog.getByLabel("Name").fill("Billing");
  await dialog.getByRole("button", { name: "Save scenario" }).click();
  await dialog.getByText("This project already has a scenario with this name.").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await choice("Billing", "Rename…");
  await dialog.getByLabel("Name").fill("Login");
  await dialog.getByRole("button", { name: "Rename" }).click();
  await dialog.waitFor({ state: "detached" });
  await variable("ticket").fill("Something else");
  await choice("Login", "Login");
  await same("the saved value", "I can't log in.", () => variable("ticket").inputValue());
  await choice("Login", "Delete…");
  await dialog.getByText("It's deleted for everyone in the project.").waitFor();
  await dialog.getByRole("button", { name: "Delete scenario" }).click();
  await scenarios("Scenarios").click();
  await until("it is gone", async () => (await page.getByText(LISTED).isVisible()) && (await page.getByRole("menuitem", { name: "Login" }).count()) === 0);
  await page.keyboard.press("Escape");
  check((await columns.count()) === 2, "the columns stay");
});
