// A user changes the password and ends other sessions.
import { createAccount, invite, otherBrowser } from "./colleague.mjs";
import { inspect } from "./inspect.mjs";
import { logIn, same, scenario } from "./scenario.mjs";

await scenario(async (owner, { base, projectId, colleague, password }, context) => {
  const replacement = `${password} new`;
  await owner.goto(`/p/${projectId}/settings/members`);
  const page = await otherBrowser(context, base);
  await createAccount(page, await invite(owner, "Viewer"), colleague, password);
  const second = await otherBrowser(context, base);
  await second.goto("/account");
  await logIn(second, colleague, password);
  await second.waitForURL("**/account");

  await page.goto("/account");
  const sessions = () => page.getByTestId("session-row").count();
  await same("two sessions", 2, sessions);
  await inspect(page, "account-sessions");
  await page.getByLabel("Current password", { exact: true }).fill(`${password}?`);
  await page.getByLabel("New password", { exact: true }).fill(replacement);
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText(/^The current password .*\.$/).waitFor();
  await inspect(page, "account-refused");
  await same("the refused change ended no session", 2, sessions);
  await page.getByLabel("Current password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("Changed. All other sessions have ended.").waitFor();
  await same("only this session", 1, sessions);

  await second.reload();
  await second.waitForURL("**/login*");
  await logIn(second, colleague, password);
  await second.getByTestId("problem").waitFor();
  await logIn(second, colleague, replacement);
  await second.waitForURL("**/account");
  await page.reload();
  await same("two sessions again", 2, sessions);
  await page.getByRole("button", { name: "End all other sessions…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End sessions" }).click();
  await same("one session again", 1, sessions);
  await second.reload();
  await second.waitForURL("**/login*");
});
