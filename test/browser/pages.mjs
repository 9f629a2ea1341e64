// Screenshots and accessibility of pages that the walk doesn't open: without content, with very much of it, and with pasted keys.
import { inspect } from "./inspect.mjs";
import { check, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, largest }) => {
  const project = `/p/${projectId}`;

  await page.goto(`${project}/runs?search=no+run+has+these+words+xyzzy`);
  await page.getByText("No runs in the last 24 h match these filters.").waitFor();
  await inspect(page, "runs-none-match");
  await page.goto(`${project}/runs/${largest}`);
  await page.getByTestId("span-tree").waitFor();
  await page.getByTestId("span-detail").getByRole("tabpanel").waitFor();
  await inspect(page, "run-large");
  await page.goto(`${project}/runs/${largest}?view=graph`);
  await page.getByTestId("run-graph").waitFor();
  await inspect(page, "run-graph");
  await page.goto(`${project}/runs/00000000-0000-4000-8000-000000000000`);
  await page.getByTestId("problem").waitFor();
  await page.getByRole("heading", { level: 1, name: "Run not found" }).waitFor();
  await inspect(page, "run-missing");

  await page.goto(`${project}/failures?range=90d`);
  const failures = page.getByTestId("failure-group");
  await failures.first().waitFor();
  const before = await failures.count();
  await failures.first().getByRole("button", { name: /^Resolve or mute/ }).click();
  await page.getByRole("menuitem", { name: "Until 100 more runs" }).waitFor();
  await inspect(page, "failures-menu");
  await page.getByRole("menuitem", { name: "Resolve", exact: true }).click();
  await page.getByText("Resolved 1", { exact: true }).click();
  await failures.getByText("Resolved", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("No resolved failures.").waitFor();
  await page.getByText(/^Open \d+$/).click();
  await until("the failure that was taken back", async () => (await failures.count()) === before);
  await page.keyboard.press("j");
  await page.keyboard.press("m");
  await page.getByRole("menuitem", { name: "For a week" }).click();
  await page.getByText("Muted 1", { exact: true }).click();
  await failures.getByText("Muted", { exact: true }).waitFor();
  await failures.first().getByRole("link").click();
  await page.getByTestId("failure-state").getByText(/^Muted by .* until /).waitFor();
  await inspect(page, "failure-muted");
  await page.getByRole("button", { name: "Change state" }).click();
  await page.getByRole("menuitem", { name: "Unmute" }).click();
  await page.getByRole("button", { name: "Resolve or mute" }).waitFor();
  await page.getByRole("button", { name: "Back to the failures" }).click();
  await page.getByText("No muted failures.").waitFor();
  await page.getByText(/^Open \d+$/).click();
  await until("the failure that is open again", async () => (await failures.count()) === before);
  await page.getByRole("searchbox", { name: "Search runs" }).fill("nosuchwordanywhere");
  await page.getByText("No failures match these filters.").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await failures.first().getByRole("link").click();
  await page.getByTestId("failed-run").first().waitFor();

  await page.goto(`${project}/settings/keys`);
  await page.getByTestId("key-row").first().waitFor();
  await page.getByRole("button", { name: "New key" }).click();
  await page.getByRole("dialog").waitFor();
  await page.getByRole("radio", { name: "Custom" }).check();
  await inspect(page, "keys-new");

  await page.goto(`${project}/connect?framework=openai`);
  await page.getByTestId("recipe-openai").waitFor();
  await page.getByLabel("Key", { exact: true }).fill("lt_a.b");
  await page.getByLabel("environment", { exact: true }).getByText("LOOPTRACE_API_KEY=lt_a.b").waitFor();
  await inspect(page, "connect");
  await page.getByRole("combobox", { name: "Language or framework" }).click();
  await page.getByRole("option", { name: "OpenTelemetry zero-code, Python" }).click();
  await page.getByTestId("recipe-opentelemetry-zero-code").getByRole("table").waitFor();
  await inspect(page, "connect-zero-code");

  await page.goto("/v1/docs");
  await page.getByRole("button", { name: "Copy Command: List runs" }).waitFor();
  check(
    (await page.locator("pre").allInnerTexts()).some((text) => text.includes(new URL(page.url()).origin)),
    "the reader's address",
  );
  await page.goto(`${project}/nothing-here`);
  await page.getByRole("main").waitFor();
  await inspect(page, "not-found");
});
