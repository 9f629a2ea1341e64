// A user keeps what a batch of replays showed about a failure, changes it, promotes it and deletes it.
import { inspect } from "./inspect.mjs";
import { check, scenario } from "./scenario.mjs";

await scenario(async (page, { projectId, runId, fingerprint, batch }) => {
  const project = `/p/${projectId}`;
  const failure = `${project}/failures/${encodeURIComponent(fingerprint)}?range=90d`;
  const dialog = page.getByRole("dialog");
  const menu = async (item) => {
    await page.getByTestId("finding").getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { name: item }).click();
  };

  // Nothing is known of the cause yet.
  await page.goto(failure);
  await page.getByText("Nothing is kept yet.").waitFor();

  // The batch showed that the edit repairs the runs: it is kept with its edits and its verdict.
  await page.goto(`${project}/replay-batches/${batch}`);
  await page.getByRole("button", { name: "Keep as finding…" }).click();
  check((await dialog.getByLabel("Cause").inputValue()) === "The system message is the cause", "the cause is named after the edit");
  await dialog.getByLabel("Cause").fill("The prompt does not say to ask first");
  await inspect(page, "finding-keep");
  await dialog.getByRole("button", { name: "Keep finding" }).click();
  await page.getByTestId("finding-status").getByText("Finding:").waitFor();

  // The list of failures, the run and the failure show it.
  await page.goto(`${project}/failures?range=90d`);
  await page.getByTestId("failure-group").getByTestId("finding-status").waitFor();
  await page.goto(failure);
  const finding = page.getByTestId("finding");
  await finding.getByText("The prompt does not say to ask first").waitFor();
  await finding.getByText(/^Whether the edit repairs failed runs|^The edit repairs failed runs/).waitFor();
  await menu("Change with a note…");
  await dialog.getByLabel("Note").fill("Seen in three more runs.");
  await dialog.getByRole("combobox", { name: "Status" }).click();
  await page.getByRole("option", { name: "Confirmed" }).click();
  await dialog.getByRole("button", { name: "Save" }).click();
  await finding.getByText("“Seen in three more runs.”").waitFor();
  await finding.getByText("Confirmed", { exact: true }).waitFor();
  await inspect(page, "finding-confirmed");
  await page.goto(`${project}/runs/${runId}`);
  await page.getByTestId("run-findings").getByRole("link", { name: "The prompt does not say to ask first" }).click();

  // It becomes a version of a prompt, and the runs become a dataset with a gate.
  await menu("Promote…");
  await dialog.getByRole("combobox", { name: "Prompt to edit" }).click();
  await page.getByRole("option", { name: "orders" }).click();
  await dialog.getByTestId("promotion-plan").getByText("The system message is the text that was tested.").waitFor();
  await dialog.getByLabel("Dataset", { exact: true }).fill("asks first");
  await page.getByRole("option", { name: "Create dataset “asks first”" }).click();
  await dialog.getByTestId("promotion-plan").getByText("2 items of 2 failed runs").waitFor();
  await inspect(page, "finding-promote");
  await dialog.getByRole("button", { name: "Promote" }).click();
  await dialog.getByTestId("promoted").getByText("Version 2 of orders").waitFor();
  await dialog.getByText("looptrace gate --name 'asks first' --metric 'asked'").waitFor();
  await inspect(page, "finding-promoted");
  await dialog.getByRole("button", { name: "Close", exact: true }).last().click();
  await finding.getByRole("link", { name: "Promoted to version 2 of a prompt" }).waitFor();

  // One that nobody tested is added by hand, and deleted after a question.
  await page.getByRole("button", { name: "Add a finding…" }).click();
  await dialog.getByLabel("Cause").fill("The tool is slow");
  await dialog.getByRole("button", { name: "Keep finding" }).click();
  const other = finding.filter({ hasText: "The tool is slow" });
  await other.getByText("No batch of replays has tested it.").waitFor();
  await other.getByRole("button", { name: /^Actions for/ }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await dialog.getByText("Delete the finding “The tool is slow”?").waitFor();
  await dialog.getByRole("button", { name: "Delete finding" }).click();
  await other.waitFor({ state: "detached" });
});
