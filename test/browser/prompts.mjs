// A user writes a prompt, saves versions, compares and publishes them, meets a colleague's changes, imports prompts, and sees
// how the runs of each version did.
import { inspect } from "./inspect.mjs";
import { check, same, scenario, sessionHeaders, until } from "./scenario.mjs";

await scenario(async (page, { projectId, name, langfuse }) => {
  const prompts = `/p/${projectId}/prompts`;
  const dialog = page.getByRole("dialog");
  const bar = page.getByTestId("editor-bar");
  const saved = page.getByTestId("saved");
  const message = (number, role) => page.getByRole("textbox", { name: `Message ${number}, ${role}` });
  const preview = page.getByTestId("preview-pane");

  // A run names a prompt that is not there yet.
  await page.goto(`${prompts}/by-name?name=${encodeURIComponent(name)}&version=1`);
  await page.getByText("This prompt isn't in Looptrace.").waitFor();
  await inspect(page, "prompt-unknown");
  await page.goto(`/p/${projectId}/runs`);
  await page.getByRole("navigation", { name: "Project" }).getByRole("link", { name: "Prompts" }).click();
  await page.getByText("No prompts yet.").waitFor();
  await inspect(page, "prompts-empty");

  await page.getByRole("button", { name: "New prompt" }).first().click();
  await dialog.getByLabel("Name").fill("support//triage");
  await dialog.getByText("Each / needs a name before and after it.").waitFor();
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByLabel("Description").fill("Routes tickets to a team.");
  await dialog.getByLabel("Tags").fill("support");
  await page.keyboard.press("Enter");
  await inspect(page, "prompt-new");
  await dialog.getByRole("button", { name: "Create prompt" }).click();

  // The first version. A syntax error is named, and keeps it from being saved.
  await message(1, "system").fill("You route tickets of {{product}} to a team.\nAnswer in one sentence.");
  await message(2, "user").fill("{{#ticket}}");
  await page.getByTestId("draft-error").getByText("Line 1, column 1: the section ticket is not closed").waitFor();
  check(await bar.getByRole("button", { name: "Save v1" }).isDisabled(), "a template with an error is not saved");
  await message(2, "user").fill("");
  await message(2, "user").pressSequentially("{{tic");
  await message(2, "user").fill("{{ticket}}");
  await page.getByRole("button", { name: "Placeholder", exact: true }).click();
  await page.getByLabel("Name of placeholder 3").fill("history");
  await page.getByRole("button", { name: "Move message 3 up" }).click();
  await page.getByLabel("Name of placeholder 2").waitFor();
  const variables = page.getByTestId("variable-row");
  await same("the variables", ["product", "ticket"], () => variables.locator("code").allTextContents());
  await preview.getByText("No value for product, ticket.").waitFor();
  await inspect(page, "prompt-editor-new");
  await page.getByLabel("Example of product").fill("Looptrace");
  await page.getByLabel("Example of ticket").fill("I cannot log in.");
  await preview.getByText("You route tickets of Looptrace to a team.").waitFor();
  await page.getByRole("textbox", { name: "Messages of history" }).fill("[]");
  await preview.getByText(/About \d+ tokens/).waitFor();
  await page.getByLabel("Model", { exact: true }).fill("gpt-4o-mini");
  await page.getByRole("button", { name: "Tool", exact: true }).click();
  await dialog.getByLabel("Name").fill("search_tickets");
  await dialog.getByLabel("Description").fill("Finds earlier tickets.");
  await inspect(page, "prompt-tool");
  await dialog.getByRole("button", { name: "Add tool" }).click();
  await page.getByTestId("tool-editor").locator("strong").getByText("search_tickets").waitFor();
  await bar.getByLabel("Note").fill("First version");
  await page.keyboard.press("Control+s");
  await saved.getByText("Saved as v1.").waitFor();
  await inspect(page, "prompt-editor");

  // The draft survives a reload.
  await message(1, "system").fill("You route tickets of {{product}} to a team.\nAnswer in two sentences.");
  await bar.getByText("Unsaved draft from").waitFor();
  await page.reload();
  await bar.getByText("Unsaved draft from").waitFor();
  await message(1, "system").getByText("Answer in two sentences.").waitFor();
  await bar.getByLabel("Note").fill("Two sentences");
  await bar.getByRole("button", { name: "Save v2" }).click();
  await saved.getByText("Saved as v2.").waitFor();
  check((await bar.getByText("Unsaved draft").count()) === 0, "a saved draft is gone");

  // Saving the content of an earlier version saves nothing.
  await message(1, "system").fill("You route tickets of {{product}} to a team.\nAnswer in one sentence.");
  await bar.getByRole("button", { name: "Save v3" }).click();
  await saved.getByText("Nothing saved: v1 has the same content.").waitFor();

  // Someone else saves a version meanwhile.
  await page.goto(page.url().split("?")[0]);
  const promptId = new URL(page.url()).pathname.split("/").pop();
  const api = `/v1/prompts/${promptId}`;
  await message(1, "system").fill("You route tickets of {{product}} to a team.\nAnswer briefly.");
  const theirs = { messages: [{ role: "system", content: "You route tickets." }], note: "Shorter", base_version: 2 };
  await post(page, `${api}/versions`, theirs);
  await bar.getByRole("button", { name: "Save v3" }).click();
  await dialog.getByText("v3 was saved meanwhile").waitFor();
  await dialog.getByTestId("change").first().waitFor();
  await inspect(page, "prompt-conflict");
  await dialog.getByRole("button", { name: "Save anyway on top of v3" }).click();
  await saved.getByText("Saved as v4.").waitFor();

  // The difference of two versions.
  await page.getByRole("tab", { name: "Versions" }).click();
  const rows = page.getByTestId("version-row");
  await until("four versions", async () => (await rows.count()) === 4);
  await inspect(page, "prompt-versions");
  await page.getByLabel("Compare v2").click();
  await page.getByText("Choose the version to compare with v2.").waitFor();
  await page.getByLabel("Compare v1").click();
  const change = page.getByTestId("change").filter({ hasText: "messages[0].content" });
  await change.waitFor();
  await same("the removed words", ["one sentence"], () => change.locator("del").allTextContents());
  await same("the added words", ["two sentences"], () => change.locator("ins").allTextContents());
  await inspect(page, "prompt-diff");
  await page.getByText("Unified").click();
  await inspect(page, "prompt-diff-unified");

  // An alias, moved by someone else meanwhile, moved, and rolled back.
  await page.getByRole("tab", { name: "Aliases" }).click();
  await page.getByText("No aliases yet.").waitFor();
  await inspect(page, "prompt-aliases-none");
  await page.getByRole("button", { name: "New alias" }).click();
  await dialog.getByLabel("Alias").fill("production");
  await choose(dialog, page, "Version", /^v2/);
  await dialog.getByRole("button", { name: "Create alias" }).click();
  const alias = page.getByTestId("alias-row").filter({ hasText: "production" });
  await until("production is v2", async () => (await alias.getAttribute("data-version")) === "2");
  await page.getByRole("button", { name: "Move…" }).click();
  await choose(dialog, page, "Version", /^v1/);
  await post(page, `${api}/aliases`, { alias: "production", version: 3 });
  await dialog.getByRole("button", { name: "Move to v1" }).click();
  await dialog.getByText("Someone moved it meanwhile: production is now v3.").waitFor();
  await inspect(page, "prompt-alias-stale");
  await dialog.getByRole("button", { name: "Reload" }).click();
  await dialog.getByRole("button", { name: "Move to v1" }).click();
  await until("production is v1", async () => (await alias.getAttribute("data-version")) === "1");
  await page.getByRole("button", { name: "Actions for production" }).click();
  await page.getByRole("menuitem", { name: "History" }).click();
  await page.getByTestId("alias-change").first().waitFor();
  await inspect(page, "prompt-alias-history");
  await page.getByRole("button", { name: "Roll back to v2" }).click();
  await page.getByRole("button", { name: "Move to v2" }).click();
  await until("production is v2", async () => (await alias.getAttribute("data-version")) === "2");
  await page.getByRole("button", { name: "Actions for production" }).click();
  await page.getByRole("menuitem", { name: "Protect…" }).click();
  await dialog.getByRole("button", { name: "Protect" }).click();
  await alias.getByText("protected").waitFor();
  await inspect(page, "prompt-aliases");

  // Usage by version, with the runs.
  await page.getByRole("tab", { name: "Usage" }).click();
  const usage = page.getByTestId("usage-row");
  await until("two versions with runs", async () => (await usage.count()) === 2);
  await usage.first().getByText("3", { exact: true }).waitFor();
  await inspect(page, "prompt-usage");
  await page.getByRole("link", { name: "View runs of v2" }).click();
  await until("the runs of v2", async () => (await page.getByTestId("run-row").count()) === 3);
  await page.goBack();
  await page.getByRole("tab", { name: "Use in code" }).click();
  await page.getByTestId("snippet-python").getByText('looptrace.prompt("support/triage", alias="production")').waitFor();
  await inspect(page, "prompt-code");

  // An earlier version is read-only, until it is edited as a new one.
  await page.goto(`${prompts}/by-name?name=${encodeURIComponent(name)}&version=1`);
  await page.getByTestId("version-view").getByText("Answer in one sentence.").waitFor();
  await inspect(page, "prompt-version");
  await page.getByRole("button", { name: "Edit as new version" }).click();
  await bar.getByText("v1; the latest is v4").waitFor();
  await bar.getByLabel("Note").fill("Back to one sentence");
  await page.getByRole("button", { name: "Remove message 2" }).click();
  await bar.getByText("Unsaved draft from v1").waitFor();
  await bar.getByRole("button", { name: "Discard" }).click();
  await dialog.getByRole("button", { name: "Discard draft" }).click();
  await page.getByLabel("Name of placeholder 2").waitFor();

  // Deletion is refused while an alias is protected.
  await page.getByRole("button", { name: `Actions for ${name}` }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await dialog.getByText("production is protected").waitFor();
  check(await dialog.getByRole("button", { name: "Delete prompt" }).isDisabled(), "a protected prompt is not deleted");
  await inspect(page, "prompt-delete");
  await dialog.getByRole("button", { name: "Cancel" }).click();

  // Import: first a report, then the prompts.
  await page.goto(prompts);
  await page.getByTestId("folder-row").getByRole("link", { name: "support" }).click();
  await page.getByTestId("prompt-row").getByText("triage").waitFor();
  await page.getByRole("button", { name: "Import" }).click();
  await dialog.getByLabel("Text of the export").fill(langfuse);
  await inspect(page, "prompts-import");
  await dialog.getByRole("button", { name: "Preview import" }).click();
  await page.getByTestId("import-prompt").first().waitFor();
  check((await page.getByTestId("import-report").getAttribute("data-dry-run")) === "true", "the first report is a preview");
  await inspect(page, "prompts-import-report");
  await dialog.getByRole("button", { name: /^Import \d+ prompt/ }).click();
  await dialog.getByText("Imported.").waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByRole("navigation", { name: "Folder" }).getByRole("link", { name: "All prompts" }).click();
  await until("imported prompts", async () => (await page.getByTestId("prompt-row").count()) > 0);
  await inspect(page, "prompts");
  await page.getByLabel("Search prompts").fill("TRIAGE");
  await page.getByTestId("prompt-row").getByText(name).waitFor();
  await page.getByLabel("Search prompts").fill("nothing has this name");
  await page.getByText("No prompts match these filters.").waitFor();
  await page.goto(`/p/${projectId}/prompts/00000000-0000-4000-8000-000000000000`);
  await page.getByRole("heading", { level: 1, name: "Prompt not found" }).waitFor();
});

async function choose(dialog, page, label, option) {
  await dialog.getByRole("combobox", { name: label }).click();
  await page.getByRole("option", { name: option }).click();
}

/** Sends what a colleague would. */
async function post(page, path, data) {
  const response = await page.request.post(path, { data, headers: { ...(await sessionHeaders(page)), Origin: new URL(page.url()).origin } });
  check(response.ok(), `${path}: ${response.status()} ${await response.text()}`);
}
