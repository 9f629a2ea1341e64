// A user loads sample data and removes it. Then they follow the page "Connect": they create a key, paste the code into a shell and see
// the run arrive.
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { inspect } from "./inspect.mjs";
import { check, scenario, until } from "./scenario.mjs";

const execute = promisify(execFile);

await scenario(async (page, { projectId, python, scratch }) => {
  await page.goto(`/p/${projectId}/runs`);
  await page.getByText("No runs yet.").waitFor();
  await inspect(page, "runs-empty");
  await samples(page, projectId);
  await page.goto(`/p/${projectId}/runs`);
  await page.getByRole("link", { name: "Send your first run" }).click();
  await page.waitForURL("**/connect");

  const arrival = page.getByTestId("arrival");
  await arrival.getByText("Waiting for the first run").waitFor();
  await inspect(page, "connect-first");
  await page.getByRole("button", { name: "Create an Ingest key" }).click();
  await page.getByRole("button", { name: "Key created" }).waitFor();
  const key = await page.getByLabel("Key", { exact: true }).inputValue();
  check(/^lt_\w{16}\.\w{49}$/.test(key), `a whole key: ${key}`);

  await execute("bash", ["-c", await snippet(page, "curl", "curl")]);
  await arrival.getByText("Your first run arrived: hello looptrace").waitFor();
  await inspect(page, "connect-arrived");
  await arrival.getByRole("link", { name: "Open run" }).click();
  await page.waitForURL("**/runs/*");
  await page.getByRole("heading", { level: 1, name: "hello looptrace" }).waitFor();
  await until("the run's two spans", async () => (await page.getByTestId("span-row").count()) === 2);

  // The other languages. Reload the page for each, so that its example gets new ids.
  await page.goto(`/p/${projectId}/start`); // the address of earlier links
  await page.waitForURL("**/connect");
  await page.getByLabel("Key", { exact: true }).fill(key);
  await arrival.getByText("Waiting for a new one").waitFor();
  await execute("bash", ["-c", await snippet(page, "curl, OTLP", "curl-otlp")]);
  await arrival.getByText("A run arrived: chat gpt-4o-mini").waitFor();

  await page.goto(`/p/${projectId}/connect`);
  await page.getByLabel("Key", { exact: true }).fill(key);
  await arrival.getByText("Waiting for a new one").waitFor();
  writeFileSync(`${scratch}/hello.py`, await snippet(page, "Python", "python"));
  await execute(python, [`${scratch}/hello.py`]);
  await arrival.getByText("A run arrived: hello looptrace").waitFor();
});

/** Loads sample data, looks at the pages that it fills, and removes it. */
async function samples(page, projectId) {
  await page.getByRole("button", { name: "Load sample data" }).click();
  await page.waitForURL((url) => url.pathname.endsWith("/runs") && !url.pathname.includes(projectId));
  const base = new URL(page.url()).pathname.replace(/\/runs$/, "");
  const banner = page.getByRole("region", { name: "Sample data" });
  await banner.waitFor();
  await page.getByTestId("run-row").first().waitFor();
  await inspect(page, "samples-runs");
  for (const [path, text] of [
    ["failures?range=7d", "lookup_order"],
    ["threads?range=all", "conversation-"],
    ["prompts", "support-triage"],
    ["datasets", "support questions"],
  ]) {
    await page.goto(`${base}/${path}`);
    await page.getByText(text).first().waitFor();
    await banner.waitFor();
  }
  await page.goto(`${base}/dashboards`);
  await inspect(page, "samples-dashboards");

  await page.goto(`/p/${projectId}/runs`);
  await page.getByRole("link", { name: "Open sample data" }).click();
  await banner.getByRole("button", { name: "Remove…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("This deletes the project “Samples”").waitFor();
  await inspect(page, "samples-remove");
  await dialog.getByRole("button", { name: "Remove sample data" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.goto(`${base}/runs`);
  await page.getByText("doesn't exist").first().waitFor();
}

/** The code of a language. */
async function snippet(page, language, id) {
  await page.getByRole("combobox", { name: "Language or framework" }).click();
  await page.getByRole("option", { name: language, exact: true }).click();
  const block = page.getByTestId(`snippet-${id}`).getByLabel("code", { exact: true });
  await block.waitFor();
  return block.innerText();
}
