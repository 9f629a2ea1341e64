// A user opens a new installation: creates the account, then an ingest key.
import { inspect } from "./inspect.mjs";
import { check, scenario, until } from "./scenario.mjs";

await scenario(async (page, { email, password, organization }) => {
  await page.goto("/");
  await page.waitForURL("**/setup");
  await inspect(page, "setup");

  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password", { exact: true }).fill("short");
  await page.getByLabel("Organization").fill(organization);
  await page.getByRole("button", { name: "Create account" }).click();
  check(page.url().endsWith("/setup"), "a short password is refused");
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.waitForURL("**/p/*/connect");
  const projectId = new URL(page.url()).pathname.split("/")[2];

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

  return { projectId, key };
});
