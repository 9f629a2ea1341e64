// A user adds a run, a span, selected runs and all matching runs to a dataset.
import { inspect } from "./inspect.mjs";
import { check, same, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, runIds }) => {
  const runs = `/p/${projectId}/runs`;
  const dialog = page.getByRole("dialog");
  const plan = dialog.getByTestId("add-plan");
  const items = dialog.getByTestId("item-preview");

  // The whole run, into a new dataset.
  await page.goto(`${runs}/${runIds[0]}`);
  await page.getByRole("button", { name: "Add to dataset…", exact: true }).click();
  await dialog.getByText("Choose a dataset to see the items.").waitFor();
  await inspect(page, "add-to-dataset-empty");
  await dialog.getByRole("textbox", { name: "Dataset" }).fill("faq");
  await page.getByRole("option", { name: "Create dataset “faq”" }).click();
  await plan.getByText("1 run: 1 new.").waitFor();
  await same("one item", 1, () => items.count());
  await items.getByText("Question 0").waitFor();
  await inspect(page, "add-to-dataset-run");
  await choose(page, dialog, "What becomes the item", "Messages and tools of the last model call");
  await items.getByText("You know capitals.").waitFor();
  await items.getByText("look_up").waitFor();
  await inspect(page, "add-to-dataset-call");

  // Paths of the user's own, with an error that names the place.
  await dialog.getByLabel("Input", { exact: true }).fill("$.messages[");
  await dialog.getByText("This is not a JSON path (RFC 9535): unexpected eof at position 12").waitFor();
  check(await dialog.getByRole("button", { name: "Add items" }).isDisabled(), "a path with an error adds nothing");
  await inspect(page, "add-to-dataset-path-error");
  await dialog.getByLabel("Input", { exact: true }).fill("$.nothing");
  await items.getByText("Skipped: $.nothing finds nothing: there is no such member").waitFor();
  await plan.getByText("1 run: 0 new, 1 skipped.").waitFor();
  await dialog.getByLabel("Input", { exact: true }).fill("$.messages[?@.role == 'user'].content");
  await dialog.getByLabel("Metadata").fill("$.metadata");
  await items.getByText("tier").waitFor();
  check((await dialog.getByLabel("What becomes the item").inputValue()) === "Custom", "the preset is none");
  await dialog.getByLabel("Split").fill("test");
  await dialog.getByLabel("Tags").fill("capitals");
  await page.keyboard.press("Enter");
  await dialog.getByLabel("Note").fill("From the run page");
  await plan.getByText("1 run: 1 new.").waitFor();
  await dialog.getByRole("button", { name: "Add 1 item" }).click();
  await dialog.getByText("Added 1 item to faq, in revision 1.").waitFor();
  await inspect(page, "add-to-dataset-added");
  await dialog.getByRole("button", { name: "Close", exact: true }).last().click();

  // The run says where it is, with a link to the item.
  await page.getByTestId("run-datasets").getByRole("link", { name: "faq" }).click();
  await page.getByTestId("source-run").getByText("Items from one run.").waitFor();
  const rows = page.getByTestId("item-row");
  await same("the item of the run", 1, () => rows.count());
  check((await rows.innerText()).includes("Question 0"), "the item has the question");
  await inspect(page, "dataset-of-run");
  await page.getByRole("button", { name: "Show all items" }).click();
  await page.getByTestId("source-run").waitFor({ state: "detached" });

  // A span, by keyboard.
  await page.goto(`${runs}/${runIds[0]}?span=00000000000000c1`);
  const addSpan = page.getByRole("button", { name: "Add span to dataset…" });
  await addSpan.click();
  await dialog.getByText("Choose a dataset to see the items.").waitFor();
  await inspect(page, "add-to-dataset-span-empty");
  await page.keyboard.press("Escape"); // closes the list of datasets
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await addSpan.focus();
  await page.keyboard.press("Enter");
  await dialog.getByRole("textbox", { name: "Dataset" }).pressSequentially("fa");
  await page.getByRole("option", { name: /^faq/ }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await plan.getByText("1 run: 1 new.").waitFor();
  await same("the preset", "Messages and tools", () => dialog.getByLabel("What becomes the item").inputValue());
  await dialog.getByRole("button", { name: "Add 1 item" }).press("Enter");
  await dialog.getByText("Added 1 item to faq, in revision 2.").waitFor();
  await page.keyboard.press("Escape");
  await until("the focus returns", () =>
    page.evaluate(() => document.activeElement?.textContent?.includes("Add span to dataset")),
  );

  // Selected runs.
  await page.goto(runs);
  await page.getByTestId("run-row").first().waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.getByTestId("selection").getByRole("button", { name: "Add to dataset…" }).click();
  await dialog.getByRole("textbox", { name: "Dataset" }).fill("faq");
  await page.getByRole("option", { name: /^faq/ }).click();
  await plan.getByText("2 runs: 2 new.").waitFor();
  await inspect(page, "add-to-dataset-selected");
  await dialog.getByRole("button", { name: "Add 2 items" }).click();
  await dialog.getByText("Added 2 items to faq, in revision 3.").waitFor();
  await dialog.getByRole("button", { name: "Close", exact: true }).last().click();

  // All that match: counted first. Those that are there already, and one that has not ended, are left out.
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Add all matching runs to a dataset…" }).click();
  await dialog.getByRole("textbox", { name: "Dataset" }).fill("faq");
  await page.getByRole("option", { name: /^faq/ }).click();
  await plan.getByText(`${runIds.length + 1} runs: ${runIds.length - 2} new, 2 in the dataset already, 1 skipped.`).waitFor();
  await plan.getByText("1 run: has not ended").waitFor();
  await same("five items", 5, () => items.count());
  await inspect(page, "add-to-dataset-all");
  await dialog.getByRole("button", { name: `Add ${runIds.length - 2} items` }).click();
  await dialog.getByText("2 were in the dataset already.").waitFor();
  await inspect(page, "add-to-dataset-all-added");
  await dialog.getByRole("link", { name: "Open dataset" }).click();
  await until("all items", async () => (await rows.count()) === runIds.length + 2);
});

async function choose(page, within, label, option) {
  await within.getByLabel(label).click();
  await page.getByRole("option", { name: option, exact: true }).click();
}
