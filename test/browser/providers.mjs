// An admin connects a provider, meets refusals, tests the connection, looks at its models and at the spending, and deletes it.
import { inspect } from "./inspect.mjs";
import { check, same, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, address, key }) => {
  const dialog = page.getByRole("dialog");
  const rows = page.getByTestId("provider-row");
  const menu = async (action) => {
    await rows.first().getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { name: action }).click();
  };
  await page.goto(`/p/${projectId}/playground`);
  await page.getByText("No provider connected yet.").waitFor();
  await inspect(page, "playground-empty");
  await page.getByRole("link", { name: "Add a connection" }).click();
  await page.getByText("No connections yet.").waitFor();
  await inspect(page, "providers-empty");

  // A private address that is not allowed, by the name of the setting.
  await page.getByRole("button", { name: "New connection" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("Scripted");
  await dialog.getByText("Addresses of other servers").click();
  await dialog.getByRole("button", { name: "Ollama" }).click();
  await same("the address", "http://127.0.0.1:11434/v1", () => dialog.getByLabel("Base URL").inputValue());
  await dialog.getByLabel("Base URL").fill("http://10.1.2.3:8000/v1");
  await dialog.getByLabel("API key").fill(key);
  // What a limit can't be is said at its field.
  await dialog.getByLabel("Monthly budget (UTC)").fill("-25");
  await dialog.getByText("must not be negative").waitFor();
  await dialog.getByLabel("Calls per minute").fill("1.5");
  await dialog.getByText("must be a whole number").waitFor();
  await dialog.getByLabel("Calls per minute").fill("");
  await dialog.getByLabel("Monthly budget (UTC)").fill("25");
  await dialog.getByRole("button", { name: "Header" }).click();
  await dialog.getByLabel("Name of header 1").fill("x-team");
  await dialog.getByLabel("Value of header 1").fill("red");
  await dialog.getByRole("button", { name: "Create connection" }).click();
  await dialog.getByText(/PROVIDER_PRIVATE_ADDRESSES.*|.*PROVIDER_PRIVATE_ADDRESSES/).nth(1).waitFor();
  await inspect(page, "provider-refused");
  await dialog.getByLabel("Base URL").fill(address);
  await dialog.getByLabel("Allow models without a price").check();
  await dialog.getByRole("button", { name: "Create connection" }).click();
  await dialog.waitFor({ state: "detached" });
  await rows.getByText(`…${key.slice(-4)}`).waitFor();
  await rows.getByText("x-team").waitFor();
  await rows.getByText(/of \$25.00 this month/).waitFor();
  check(!(await page.content()).includes(key), "the key is nowhere on the page");

  // A second one of the same name.
  await page.getByRole("button", { name: "New connection" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("Scripted");
  await dialog.getByRole("button", { name: "Create connection" }).click();
  await until("the name is taken", async () => (await dialog.getByLabel("Name", { exact: true }).getAttribute("aria-invalid")) === "true");
  await page.keyboard.press("Escape");

  await menu("Test…");
  await dialog.getByLabel("Model").fill("gpt-4o");
  await page.keyboard.press("Escape");
  await dialog.getByRole("button", { name: "Test", exact: true }).click();
  const results = dialog.getByTestId("provider-test");
  await results.waitFor();
  await same("the answers", ["yes", "yes", "yes", "yes", "yes", "yes"], async () =>
    (await results.locator("dd").allTextContents()).map((text) => text.trim()),
  );
  await inspect(page, "provider-test");
  await dialog.getByLabel("Model").fill("no-tools");
  await dialog.getByRole("button", { name: "Test again" }).click();
  await until("tools are refused", async () =>
    (await results.locator("dd").allTextContents()).map((text) => text.trim())[4] === "no",
  );
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });

  await menu("Models");
  await dialog.getByTestId("model-row").first().waitFor();
  await dialog.getByRole("searchbox", { name: "Search models" }).fill("no-tools");
  await until("one model", async () => (await dialog.getByTestId("model-row").count()) === 1);
  await dialog.getByRole("searchbox", { name: "Search models" }).fill("");
  await inspect(page, "provider-models");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });

  // A change keeps the key; another address needs it again.
  await menu("Edit…");
  await same("the key field is empty", "", () => dialog.getByLabel("API key").inputValue());
  await dialog.getByText("Stored: x-team").waitFor();
  await dialog.getByLabel("Base URL").fill(`${address}/other`);
  await dialog.getByText("Enter the API key and headers again").waitFor();
  await inspect(page, "provider-edit");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await menu("Edit…");
  await dialog.getByLabel("Concurrent calls").fill("3");
  await dialog.getByRole("button", { name: "Save connection" }).click();
  await rows.getByText("now 0 of 3").waitFor();
  await inspect(page, "providers");

  await page.getByRole("link", { name: "Spending" }).first().click();
  await page.getByTestId("spending-totals").waitFor();
  for (const group of ["Feature", "Caller", "Model", "Day"]) {
    await page.getByRole("combobox", { name: "Group by" }).click();
    await page.getByRole("option", { name: group }).click();
    await page.getByRole("columnheader", { name: group }).waitFor();
    await page.getByTestId("spending-row").first().waitFor();
  }
  await page.getByTestId("spending-missing").getByText(/without a price/).waitFor();
  await page.getByText("No known cost in this period.").waitFor();
  await inspect(page, "spending");
  await page.getByText("Custom", { exact: true }).click();
  await page.getByLabel("First day (UTC)").fill("2020-01-01");
  await page.getByLabel("Last day (UTC)").fill("2020-01-31");
  await page.getByText("No calls in this period.").waitFor();

  await page.goto(`/p/${projectId}/settings/providers`);
  await menu("Delete…");
  await dialog.getByText("Recorded runs and spending stay.").waitFor();
  await dialog.getByRole("button", { name: "Delete connection" }).click();
  await page.getByText("No connections yet.").waitFor();
});
