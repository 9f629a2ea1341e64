// A user revokes a key.
import { scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, name }) => {
  await page.goto(`/p/${projectId}/settings/keys`);
  const row = page.getByTestId("key-row").filter({ hasText: name });
  await page.getByRole("button", { name: `Actions for ${name}` }).click();
  await page.getByRole("menuitem", { name: "Revoke…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("lose access within 5 seconds").waitFor();
  await dialog.getByRole("button", { name: `Revoke “${name}”` }).click();
  await until("the key is shown as revoked", async () => (await row.getAttribute("data-state")) === "revoked");
});
