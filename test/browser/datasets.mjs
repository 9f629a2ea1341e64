// A user creates a dataset, writes and edits items, meets a colleague's changes, compares revisions, checks a schema, and deletes the
// dataset.
import { inspect } from "./inspect.mjs";
import { check, same, scenario, sessionHeaders, until } from "./scenario.mjs";

await scenario(async (page, { projectId, emptyProject }) => {
  const datasets = `/p/${projectId}/datasets`;
  const dialog = page.getByRole("dialog");
  const rows = page.getByTestId("item-row");

  // A project without datasets.
  await page.goto(`/p/${emptyProject}/datasets`);
  await page.getByText("No datasets yet.").waitFor();
  await inspect(page, "datasets-empty");

  // A list without a match, and a new dataset.
  await page.goto(`/p/${projectId}/runs`);
  await page.getByRole("navigation", { name: "Project" }).getByRole("link", { name: "Datasets" }).click();
  await page.getByTestId("dataset-row").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("no dataset has this name");
  await page.getByText("No datasets match these filters.").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByTestId("dataset-row").getByText("10,000").waitFor();
  await page.getByRole("button", { name: "New dataset" }).click();
  await dialog.getByLabel("Name").fill("large");
  await dialog.getByRole("button", { name: "Create dataset" }).click();
  await dialog.getByText("This project already has a dataset with this name.").waitFor();
  await dialog.getByLabel("Name").fill("capitals");
  await dialog.getByLabel("Description").fill("Questions about capitals.");
  await dialog.getByRole("button", { name: "JSON Schema" }).click();
  await dialog.getByRole("textbox", { name: "Schema of the input" }).fill('{"type": "obj');
  await dialog.getByText("This is not valid JSON").waitFor();
  check(await dialog.getByRole("button", { name: "Create dataset" }).isDisabled(), "a schema that is no JSON is not sent");
  await inspect(page, "dataset-new");
  await dialog.getByRole("textbox", { name: "Schema of the input" }).fill("");
  await dialog.getByRole("button", { name: "Create dataset" }).click();

  // An empty dataset shows the ways to fill it.
  await page.getByText("This dataset has no items yet.").waitFor();
  const dataset = new URL(page.url()).pathname.split("/").pop();
  const api = `/v1/datasets/${dataset}`;
  await inspect(page, "dataset-empty");
  for (const [tab, text] of [
    ["Revisions", "No revisions yet."],
    ["Schema", "says what inputs and reference outputs must look like"],
  ]) {
    await page.getByRole("tab", { name: tab }).click();
    await page.getByText(text).waitFor();
    await inspect(page, `dataset-empty-${tab.toLowerCase()}`);
  }
  await page.getByRole("tab", { name: "Items" }).click();

  // A first item.
  await page.getByRole("button", { name: "Add item" }).click();
  check(await dialog.getByRole("button", { name: "Add item" }).isDisabled(), "an item needs an input");
  await dialog.getByLabel("Key").fill("capital-fr");
  await dialog.getByLabel("Split").fill("test");
  await dialog.getByRole("textbox", { name: "Input" }).fill('{"question": "What is the capital of France?", "id": 1234567890123456789');
  await dialog.getByText("This is not valid JSON").waitFor();
  await inspect(page, "item-new");
  await dialog.getByRole("textbox", { name: "Input" }).fill('{"question": "What is the capital of France?", "id": 1234567890123456789}');
  await form(dialog, "reference output", "Text");
  await dialog.getByRole("textbox", { name: "Reference output" }).fill("Lyon");
  await dialog.getByRole("textbox", { name: "Metadata" }).fill('{"source": "atlas"}');
  await dialog.getByRole("button", { name: "Add item" }).click();
  await dialog.getByTestId("item-input").getByText("1234567890123456789").waitFor();
  await dialog.getByTestId("item-reference-output").getByText("Lyon").waitFor();
  await inspect(page, "item");

  // An edit, saved with the keyboard. A long number keeps its digits.
  await dialog.getByRole("button", { name: "Edit" }).click();
  await dialog.getByRole("textbox", { name: "Reference output" }).fill("Paris");
  await dialog.getByLabel("Note").fill("The right capital");
  await inspect(page, "item-edit");
  await page.keyboard.press("Control+s");
  await dialog.getByText("Saved in revision 2.").waitFor();
  await same("the digits", true, async () =>
    (await (await page.request.get(`${api}/items`, { headers: await sessionHeaders(page) })).text()).includes("1234567890123456789"),
  );

  // Unsaved changes are not lost by a stray Escape.
  await dialog.getByRole("button", { name: "Edit" }).click();
  await dialog.getByLabel("Key").fill("capital-france");
  await page.keyboard.press("Escape");
  await page.getByText("Discard your changes?").waitFor();
  await page.getByRole("button", { name: "Keep editing" }).click();
  await until("the edit is there", async () => (await dialog.getByLabel("Key").inputValue()) === "capital-france");

  // A colleague writes another item, and then this one.
  await post(page, `${api}/items`, { key: "capital-it", input: { question: "Italy?" }, reference_output: "Rome", tags: ["easy"] });
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByTestId("conflict").getByText("This item is as you opened it").waitFor();
  await inspect(page, "item-conflict-other");
  await page.getByRole("button", { name: "Keep editing" }).click();
  await post(page, `${api}/items`, {
    mode: "upsert",
    items: [{ key: "capital-fr", input: { question: "France?" }, reference_output: "Paris", split: "train" }],
  });
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByTestId("conflict").getByText("Someone changed this item too").waitFor();
  await same("only the key would change", ["key"], () => page.getByTestId("change").locator("code").allTextContents());
  await inspect(page, "item-conflict");
  await page.getByRole("button", { name: "Save over it" }).click();
  await dialog.getByText("Saved in revision 5.").waitFor();
  await dialog.getByText("capital-france").first().waitFor();

  // A key that another item has, at its field.
  await dialog.getByRole("button", { name: "Edit" }).click();
  await dialog.getByLabel("Key").fill("capital-it");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("Key is that of another item").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Discard changes" }).click();

  // An item that is removed while it is edited becomes a new one.
  await dialog.getByRole("button", { name: "Next item" }).click();
  await dialog.getByText("Rome").waitFor();
  await dialog.getByRole("button", { name: "Edit" }).click();
  await dialog.getByRole("textbox", { name: "Reference output" }).fill("Roma");
  const itemId = new URL(page.url()).searchParams.get("item");
  await send(page, "delete", `${api}/items/${itemId}`);
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByTestId("conflict").getByText("Someone removed this item").waitFor();
  await page.getByRole("button", { name: "Add as a new item" }).click();
  await dialog.getByTestId("item-reference-output").getByText("Roma").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await until("two items", async () => (await rows.count()) === 2);
  await inspect(page, "dataset-items");

  // Removing an item.
  await rows.filter({ hasText: "capital-it" }).getByRole("link", { name: "capital-it" }).click();
  await dialog.getByRole("button", { name: "Remove…" }).click();
  await page.getByText("Earlier revisions keep it.").waitFor();
  await page.getByRole("button", { name: "Remove item" }).click();
  await until("one item", async () => (await rows.count()) === 1);

  // Revisions, and what they changed.
  await page.getByRole("tab", { name: "Revisions" }).click();
  const revisions = page.getByTestId("revision-row");
  await until("eight revisions", async () => (await revisions.count()) === 8);
  await revisions.getByText("The right capital").waitFor();
  await inspect(page, "dataset-revisions");
  await page.getByRole("button", { name: "Changes of revision 2" }).click();
  const change = page.getByTestId("item-change");
  await same("the removed words", ["Lyon"], () => change.locator("del").allTextContents());
  await same("the added words", ["Paris"], () => change.locator("ins").allTextContents());
  await page.getByRole("button", { name: "All revisions" }).click();
  await page.getByLabel("Compare revision 1").click();
  await page.getByText("Choose the revision to compare with revision 1.").waitFor();
  await page.getByLabel("Compare revision 7").click();
  await page.getByTestId("diff-summary").getByText("From revision 1 to 7: 1 added, 1 changed").waitFor();
  await inspect(page, "dataset-diff");
  await page.getByText("Unified").click();
  await inspect(page, "dataset-diff-unified");

  // An old revision is marked and can't be edited.
  await page.getByRole("link", { name: "Items of revision 1", exact: true }).click();
  await page.getByTestId("old-revision").waitFor();
  await until("its item", async () => (await rows.count()) === 1);
  check((await page.getByRole("button", { name: "Add item" }).count()) === 0, "no item is added to an old revision");
  await inspect(page, "dataset-old");
  await rows.getByRole("link", { name: "capital-fr" }).click();
  await dialog.getByTestId("item-reference-output").getByText("Lyon").waitFor();
  check((await dialog.getByRole("button", { name: "Edit" }).count()) === 0, "an old item is not edited");
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Show the newest" }).click();
  await until("the newest", async () => !new URL(page.url()).search.includes("revision"));

  // A schema that an item doesn't fit, and one that fits.
  await page.getByRole("tab", { name: "Schema" }).click();
  const schema = page.getByRole("textbox", { name: "Schema of the reference output" });
  await schema.fill('{"type": "number"}');
  await page.getByRole("button", { name: "Save schema" }).click();
  await page.getByTestId("violations").getByRole("link", { name: "capital-france" }).waitFor();
  await inspect(page, "dataset-schema-misfit");
  await page.getByRole("button", { name: "Suggest from items for schema of the reference output" }).click();
  await page.getByText("Based on the item.").waitFor();
  await schema.getByText('"string"').waitFor();
  await page.getByRole("button", { name: "Suggest from items for schema of the input" }).click();
  await page.getByRole("textbox", { name: "Schema of the input" }).getByText('"object"').waitFor();
  await page.getByRole("button", { name: "Save schema" }).click();
  await page.getByText("Saved. All items fit.").waitFor();
  await inspect(page, "dataset-schema");
  await page.getByRole("tab", { name: "Items" }).click();
  await rows.getByRole("link").first().click();
  await dialog.getByRole("button", { name: "Edit" }).click();
  await form(dialog, "reference output", "JSON");
  await dialog.getByRole("textbox", { name: "Reference output" }).fill("[1]");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("Reference output does not fit the schema").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Discard changes" }).click();
  await page.getByRole("button", { name: "Close" }).click();

  // A new name.
  await page.getByRole("button", { name: "Actions for capitals" }).click();
  await page.getByRole("menuitem", { name: "Rename, describe…" }).click();
  await dialog.getByLabel("Name").fill("capitals of Europe");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { level: 1, name: "capitals of Europe" }).waitFor();

  // Deletion names what goes, and asks for the name.
  await page.goto(datasets);
  await page.getByTestId("dataset-row").nth(1).waitFor();
  await inspect(page, "datasets");
  await page.getByRole("button", { name: "Actions for capitals of Europe" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await dialog.getByTestId("dataset-contents").getByText("1 item and all 8 revisions").waitFor();
  check(await dialog.getByRole("button", { name: "Delete dataset" }).isDisabled(), "a dataset with items is not deleted by one click");
  await inspect(page, "dataset-delete");
  await dialog.getByLabel("Type capitals of Europe to confirm").fill("capitals of Europe");
  await dialog.getByRole("button", { name: "Delete dataset" }).click();
  await until("one dataset", async () => (await page.getByTestId("dataset-row").count()) === 1);
});

/** Chooses how a value is written. */
async function form(dialog, member, name) {
  await dialog.getByRole("radiogroup", { name: `Form of ${member}` }).getByText(name, { exact: true }).click();
}

/** Sends what a colleague would. */
async function send(page, method, path, data) {
  const response = await page.request[method](path, { data, headers: { ...(await sessionHeaders(page)), Origin: new URL(page.url()).origin } });
  check(response.ok(), `${path}: ${response.status()} ${await response.text()}`);
}

async function post(page, path, data) {
  await send(page, "post", path, data);
}
