// A user imports files: from the choice of the file to the items, with rejected rows, known exports, and a cancelled import.
import { readFileSync } from "node:fs";
import { inspect } from "./inspect.mjs";
import { check, same, scenario, sessionHeaders, until } from "./scenario.mjs";

// What the server says about an import, for states that pass too quickly to look at.
const running = { status: "running", phase: "reading", revision: null, finished_at: null, error: null, total: null };
const states = {
  queued: { ...running, status: "queued", phase: null, processed: 0, started_at: null, rejected: 0 },
  running: {
    ...running,
    bytes_read: 2_500_000,
    size_bytes: 10_000_000,
    processed: 15_000,
    rejected: 0,
    started_at: new Date(Date.now() - 5_000).toISOString(),
  },
  cancelled: { ...running, status: "cancelled", phase: null },
};

await scenario(async (page, { projectId, files }) => {
  const dialog = page.getByRole("dialog");
  const rows = page.getByTestId("item-row");
  const { origin: ours } = new URL(await origin(page, projectId));
  const created = await page.request.post("/v1/datasets", {
    data: { project_id: projectId, name: "imported" },
    headers: { ...(await sessionHeaders(page)), Origin: ours },
  });
  const { id } = await created.json();
  const dataset = `/p/${projectId}/datasets/${id}`;
  const choose = (name) => page.getByLabel("File to import").setInputFiles(files[name]);
  const column = (name) => page.locator(`[data-testid=column-row][data-column="${name}"]`);
  const goesTo = async (name, role) => {
    await page.getByRole("combobox", { name: `Where ${name} goes` }).click();
    await page.getByRole("option", { name: role, exact: true }).click();
  };
  const done = async (status) => {
    await page.getByTestId("import-result").waitFor();
    check((await page.getByTestId("import-status").first().getAttribute("data-status")) === status, `it ${status}`);
  };

  // Nothing yet, and files that can't be imported.
  await page.goto(`${dataset}?tab=imports`);
  await page.getByText("No imports yet.").waitFor();
  await inspect(page, "imports-empty");
  await page.getByRole("link", { name: "Import a file" }).click();
  await page.getByText("Drop a file here, or").waitFor();
  await inspect(page, "import-file");
  await choose("empty.csv");
  await page.getByText("empty.csv is empty.").waitFor();
  await choose("picture.png");
  await page.getByTestId("file-problem").getByText("The file is an image").waitFor();
  await inspect(page, "import-unreadable");

  // A CSV: what was found can be corrected.
  await choose("faq.csv");
  await column("question").waitFor();
  check((await page.getByRole("combobox", { name: "Delimiter" }).inputValue()) === "Semicolon", "the delimiter is found");
  await page.getByTestId("preview-items").getByText("The file has 3 rows.").waitFor();
  await page.getByTestId("target-input").getByText("{question, context}").waitFor();
  await inspect(page, "import-preview");
  await page.getByRole("combobox", { name: "Delimiter" }).click();
  await page.getByRole("option", { name: "Comma" }).click();
  await column("id;question;context;answer;topic;score").waitFor();
  await page.getByRole("combobox", { name: "Delimiter" }).click();
  await page.getByRole("option", { name: "Semicolon" }).click();
  await column("question").waitFor();
  await goesTo("context", "Metadata");
  await page.getByTestId("target-input").getByText("{question}").waitFor();
  await page.getByTestId("target-input").getByText("Value as it is").click();
  await page.getByTestId("target-input").getByText("the value of question").waitFor();
  await page.getByTestId("preview-row").first().getByText("What is RAG?", { exact: true }).waitFor();
  await goesTo("topic", "Tags");
  await goesTo("question", "Left out");
  await page.getByText("Choose at least one column.").waitFor();
  check(await page.getByRole("button", { name: "Import faq.csv" }).isDisabled(), "an import needs an input");
  await goesTo("question", "Input");
  await until("the import is ready", () => page.getByRole("button", { name: "Import faq.csv" }).isEnabled());
  await page.getByLabel("Note").fill("First questions");
  await inspect(page, "import-mapped");
  await page.getByRole("button", { name: "Import faq.csv" }).click();
  await done("succeeded");
  await page.getByText("3 added").waitFor();
  await inspect(page, "import-done");
  await page.getByRole("link", { name: "See what changed" }).click();
  await page.getByTestId("diff-summary").getByText("From revision 0 to 1: 3 added").waitFor();
  await page.goto(dataset);
  await until("three items", async () => (await rows.count()) === 3);
  await rows.filter({ hasText: "q1" }).getByText("What is RAG?").waitFor();

  // Rejected rows: nothing is imported, and each is named; then they are skipped.
  await page.goto(`${dataset}/import`);
  await choose("bad.csv");
  await column("score").waitFor();
  await page.getByRole("combobox", { name: "Type of score" }).click();
  await page.getByRole("option", { name: "Number" }).click();
  await until("a rejected row in the preview", async () => (await page.getByTestId("preview-items").getAttribute("data-rejected")) !== "0");
  await page.getByTestId("preview-row").nth(1).scrollIntoViewIfNeeded();
  await inspect(page, "import-preview-rejected");
  await page.getByRole("radio", { name: "Upsert" }).check();
  await page.getByRole("button", { name: "Import bad.csv" }).click();
  await done("failed");
  await same("the lines of the rejected rows", ["3"], () =>
    page.getByTestId("import-error").evaluateAll((found) => found.map((row) => row.dataset.line)),
  );
  await inspect(page, "import-failed");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download as CSV" }).click(),
  ]);
  check(download.suggestedFilename() === "bad.csv-errors.csv", download.suggestedFilename());
  check(readFileSync(await download.path(), "utf8").includes("high"), "the file has the error");
  await page.getByRole("link", { name: "Import a file again" }).click();
  await choose("bad.csv");
  await column("score").waitFor();
  await page.getByRole("combobox", { name: "Type of score" }).click();
  await page.getByRole("option", { name: "Number" }).click();
  await page.getByRole("radio", { name: "Upsert" }).check();
  await page.getByRole("radio", { name: "Skip them" }).check();
  await until("the import is ready", () => page.getByRole("button", { name: "Import bad.csv" }).isEnabled());
  await page.getByRole("button", { name: "Import bad.csv" }).click();
  await done("succeeded");
  await page.getByText("1 added, 1 updated, 1 rejected").waitFor();
  await inspect(page, "import-skipped");

  // A known export, and its columns.
  await page.goto(`${dataset}/import`);
  await choose("chat.jsonl");
  await page.getByText("Looks like examples for OpenAI fine-tuning.").waitFor();
  await page.getByTestId("preview-row").first().waitFor();
  await inspect(page, "import-known");
  await page.getByRole("combobox", { name: "The rows are" }).click();
  await page.getByRole("option", { name: "Columns" }).click();
  await column("messages").waitFor();
  await page.getByTestId("target-input").getByText("{messages}").waitFor();
  await page.getByRole("radio", { name: "Replace" }).check();
  await page.getByLabel("Most items that may be removed").fill("-1");
  await page.getByText("must not be negative").waitFor();
  await page.getByLabel("Most items that may be removed").fill("1");
  await until("the import is ready", () => page.getByRole("button", { name: "Import chat.jsonl" }).isEnabled());
  await page.getByRole("button", { name: "Import chat.jsonl" }).click();
  await done("failed");
  await page.getByText("import the file again with a higher limit").waitFor();

  // A long import goes on when its page is left, and can be cancelled.
  await page.goto(`${dataset}/import`);
  await choose("long.jsonl");
  await page.getByTestId("preview-items").getByText("Found in the first").waitFor();
  await page.getByRole("button", { name: "Import long.jsonl" }).click();
  await page.getByRole("heading", { level: 1, name: "long.jsonl" }).waitFor();
  await page.getByRole("button", { name: "Back to the imports" }).click();
  const long = page.getByTestId("import-row").filter({ hasText: "long.jsonl" });
  await until("the import ends", async () => (await long.getAttribute("data-status")) === "succeeded");
  await long.getByText("60,000 added").waitFor();
  await inspect(page, "imports");
  await until("the dataset's items", async () => (await page.getByText("60,004 items").count()) === 1);

  // An export, as a file and as an error.
  await page.getByRole("button", { name: "Actions for imported" }).click();
  await page.getByRole("menuitem", { name: "Export…" }).click();
  await inspect(page, "dataset-export");
  await dialog.getByLabel("Revision").fill("1");
  const [exported] = await Promise.all([
    page.waitForEvent("download"),
    dialog.getByRole("button", { name: "Export" }).click(),
  ]);
  check(exported.suggestedFilename() === "imported-r1.jsonl", exported.suggestedFilename());
  const lines = readFileSync(await exported.path(), "utf8").trim().split("\n");
  check(lines.length === 3 && JSON.parse(lines[0]).key === "q1", `the export of revision 1: ${lines}`);

  // A running import, its cancellation, and a failed upload, as the server would tell them.
  let state = "queued";
  const headers = await sessionHeaders(page);
  const one = await (await page.request.get(`/v1/datasets/${id}/imports?limit=1`, { headers })).json();
  await page.route(`**/v1/imports/${one.data[0].id}`, async (route) =>
    route.fulfill({ json: { ...one.data[0], ...states[state] } }),
  );
  await page.goto(`${dataset}/imports/${one.data[0].id}`);
  await page.getByText("Waiting for a free worker").waitFor();
  await inspect(page, "import-queued");
  state = "running";
  await page.getByText("2.5 MB of 10 MB read, 15,000 rows").waitFor();
  await inspect(page, "import-running");
  await page.getByRole("button", { name: "Cancel import…" }).click();
  await page.getByText("Nothing from the file is imported").waitFor();
  await inspect(page, "import-cancel");
  await dialog.getByRole("button", { name: "Let it run" }).click();
  state = "cancelled";
  await page.getByText("The import was cancelled.").waitFor();
  await page.unroute(`**/v1/imports/${one.data[0].id}`);

  await page.goto(`${dataset}/imports/00000000-0000-4000-8000-000000000000`);
  await page.getByText("This import doesn't exist.").waitFor();

  // An upload that is cancelled, and one that breaks off.
  await page.goto(`${dataset}/import`);
  await choose("long.jsonl");
  await page.getByTestId("preview-items").waitFor();
  let held;
  await page.route(`**/v1/datasets/${id}/imports?*`, (route) => {
    held = route;
  });
  await page.getByRole("button", { name: "Import long.jsonl" }).click();
  await page.getByTestId("upload").waitFor();
  await inspect(page, "import-upload");
  await page.getByRole("button", { name: "Cancel upload" }).click();
  await page.getByRole("button", { name: "Import long.jsonl" }).click();
  await page.getByTestId("upload").waitFor();
  await until("a second upload", () => held);
  await held.abort("connectionreset");
  await page.getByText("The server didn't respond").waitFor();
  await page.unroute(`**/v1/datasets/${id}/imports?*`);
});

/** The address of the product, after a first page. */
async function origin(page, projectId) {
  await page.goto(`/p/${projectId}/datasets`);
  return page.url();
}
