// A newcomer opens a new installation, and gets from the first page to the text of a failed run for an agent: the clicks and the fields
// are counted. Then they create a key in the settings.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { inspect } from "./inspect.mjs";
import { check, scenario, until } from "./scenario.mjs";

/** What the newcomer's path may take. Raise it only for something that they want to do. */
const MOST = { clicks: 11, fields: 2 };

const execute = promisify(execFile);

await scenario(async (page, { base, email, password }, context) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });
  const taken = { clicks: 0, fields: 0 };
  const click = async (target) => {
    await target.click();
    taken.clicks++;
  };
  const fill = async (target, text) => {
    await target.fill(text);
    taken.fields++;
  };
  const copied = async (button) => {
    await page.evaluate(() => navigator.clipboard.writeText(""));
    await click(page.getByRole("button", { name: button, exact: true }));
    return until(`a text by ${button}`, () => page.evaluate(() => navigator.clipboard.readText()));
  };

  await page.goto("/");
  await page.waitForURL("**/setup");
  await inspect(page, "setup");
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password", { exact: true }).fill("short");
  await page.getByRole("button", { name: "Create account" }).click();
  check(page.url().endsWith("/setup"), "a short password is refused");
  check((await page.getByLabel("Organization").inputValue()) !== "", "the organization has a name already");

  await page.goto("/");
  await fill(page.getByLabel("Email"), email);
  await fill(page.getByLabel("Password", { exact: true }), password);
  await click(page.getByRole("button", { name: "Create account" }));
  await page.waitForURL("**/p/*/connect");
  const projectId = new URL(page.url()).pathname.split("/")[2];

  // The key and the code: pasted into a shell as they are.
  const arrival = page.getByTestId("arrival");
  await arrival.getByText("Waiting for the first run").waitFor();
  await click(page.getByRole("button", { name: "Create an Ingest key" }));
  const ingestKey = await copied("Copy key");
  check(/^lt_\w{16}\.\w{49}$/.test(ingestKey), `a whole key: ${ingestKey}`);
  const code = await copied("Copy code");
  check(
    code.startsWith(`curl -sS ${base}/v1/runs`) && code.includes(ingestKey),
    "the code has the address and the key",
  );
  await execute("bash", ["-c", code]);
  await arrival.getByText("Your first run arrived: hello looptrace").waitFor();

  await click(page.getByRole("combobox", { name: "Language or framework" }));
  await click(page.getByRole("option", { name: "curl, a run that fails", exact: true }));
  await page.getByTestId("snippet-curl-failed").waitFor();
  await execute("bash", ["-c", await copied("Copy code")]);
  await arrival.getByText("A run arrived: weather agent").waitFor();

  // From the failures to the failed run, and its text for an agent.
  await click(page.getByRole("navigation", { name: "Project" }).getByRole("link", { name: "Failures" }));
  const group = page.getByTestId("failure-group");
  await group.waitFor();
  check((await group.count()) === 1, "one group of failures");
  await group.getByText("The weather service did not answer within 5 s.").waitFor();
  await inspect(page, "newcomer-failures");
  await click(group.getByRole("link"));
  await click(page.getByTestId("failed-run").getByRole("link", { name: "weather agent" }));
  await page.getByRole("heading", { level: 1, name: "weather agent" }).waitFor();
  await inspect(page, "newcomer-run");
  const text = await copied("Copy as agent view");
  const runId = new URL(page.url()).pathname.split("/").at(-1);
  for (const part of [
    runId,
    "weather_agent",
    "outcome failed",
    "get_weather",
    "TimeoutError",
    "The weather service did not answer within 5 s.",
    "umbrella in Paris",
  ])
    check(text.includes(part), `the agent view has ${part}: ${text}`);
  check(!text.includes(ingestKey), "and no key");
  for (const [what, most] of Object.entries(MOST))
    check(taken[what] <= most, `the newcomer's path takes ${taken[what]} ${what}, at most ${most}`);

  await page.getByRole("navigation", { name: "Project" }).getByRole("link", { name: "Keys" }).click();
  await page.waitForURL("**/settings/keys");
  await page.getByRole("button", { name: "New key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("e2e ingest");
  await dialog.getByRole("radio", { name: "Ingest" }).check();
  await dialog.getByRole("button", { name: "Create key" }).click();
  const secret = page.getByTestId("key-secret");
  await secret.waitFor();
  const key = (await secret.textContent()).trim();
  await page.getByRole("button", { name: "Copy key" }).waitFor();
  await inspect(page, "key-once");
  await page.getByRole("button", { name: "Done" }).click();

  const row = page.getByTestId("key-row").filter({ hasText: "e2e ingest" });
  await row.waitFor();
  check((await row.textContent()).includes("ingest:write"), "the key has the preset's scope");
  const shown = await page.locator("body").textContent();
  check(!shown.includes(key.split(".")[1]), "the secret is shown once");
  await page.reload();
  await until("the key is listed after a reload", () => row.isVisible());

  return { projectId, key, ...taken };
});
