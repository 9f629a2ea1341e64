// An owner revokes an invitation, changes the roles of a colleague, and deactivates the account. The colleague joins again
// with the account, while logged in and while logged out.
import { createAccount, invite, openLink, otherBrowser } from "./colleague.mjs";
import { inspect } from "./inspect.mjs";
import { check, logIn, scenario, sessionHeaders, until } from "./scenario.mjs";

await scenario(async (page, { base, projectId, emptyProjectId, colleague, password }, context) => {
  const members = `/p/${projectId}/settings/members`;
  const dialog = page.getByRole("dialog");
  const row = page.getByTestId("member-row").filter({ hasText: colleague });
  const guest = await otherBrowser(context, base);
  const act = async (action) => {
    await page.getByRole("button", { name: `Actions for ${colleague}` }).click();
    await page.getByRole("menuitem", { name: action }).click();
  };
  const shows = (text) => until(`the row has ${text}`, async () => (await row.textContent()).includes(text));

  // A revoked invitation says so.
  await page.goto(members);
  const revoked = await invite(page, "Viewer", colleague);
  await page.getByRole("radiogroup", { name: "Show" }).getByText("Invitations").click();
  const invitation = page.getByTestId("invitation-row").filter({ hasText: colleague });
  await invitation.getByRole("button", { name: `Actions for the invitation for ${colleague}` }).click();
  await page.getByRole("menuitem", { name: "Revoke…" }).click();
  await dialog.getByRole("button", { name: "Revoke invitation" }).click();
  await until("the invitation is revoked", async () => (await invitation.getAttribute("data-state")) === "revoked");
  await dialog.waitFor({ state: "detached" });
  check((await invitation.getByRole("button").count()) === 0, "a revoked invitation has no actions");
  await openLink(guest, revoked);
  await guest.getByRole("heading", { name: "Invitation revoked" }).waitFor();

  // A viewer of the organization becomes a member.
  await page.goto(members);
  await createAccount(guest, await invite(page, "Viewer"), colleague, password);
  await guest.goto(`/p/${emptyProjectId}/runs`);
  await guest.getByText("Ask an admin for an Ingest key").waitFor();
  await page.reload();
  await row.getByRole("cell", { name: "viewer" }).waitFor();
  await act("Change role…");
  check(await dialog.getByRole("button", { name: "Save role" }).isDisabled(), "the role is the same");
  await dialog.getByRole("radio", { name: "Member", exact: true }).check();
  await dialog.getByRole("button", { name: "Save role" }).click();
  await row.getByRole("cell", { name: "member", exact: true }).waitFor();
  await guest.goto("/account");
  await guest.getByTestId("membership-row").getByText("member", { exact: true }).first().waitFor();

  // The role in the workspace adds to that of the organization.
  await page.getByRole("radiogroup", { name: "Members of" }).getByText("Workspace").click();
  await page.getByRole("button", { name: "Add member" }).click();
  await dialog.getByRole("combobox", { name: "Person" }).fill(colleague);
  await page.getByRole("option", { name: colleague }).click();
  await dialog.getByRole("radio", { name: "Admin", exact: true }).check();
  await inspect(page, "members-add");
  await dialog.getByRole("button", { name: "Add member" }).click();
  await shows("organization (member), this workspace (admin)");
  await guest.goto(`${members}?of=workspace`);
  await guest.getByRole("button", { name: "Invite" }).waitFor();

  // Deactivation logs the colleague out.
  await page.getByRole("radiogroup", { name: "Members of" }).getByText("Organization").click();
  await act("Deactivate account…");
  await dialog.getByRole("button", { name: "Deactivate account" }).click();
  await shows("deactivated");
  await inspect(page, "members-deactivated");
  await guest.reload();
  await guest.waitForURL("**/login*");
  await logIn(guest, colleague, password);
  await guest.getByTestId("problem").waitFor();
  await act("Reactivate account…");
  await dialog.getByRole("button", { name: "Reactivate account" }).click();
  await until("the account is active", async () => !(await row.textContent()).includes("deactivated"));
  await logIn(guest, colleague, password);
  await guest.waitForURL(`**${members}*`);

  // Someone who is logged in joins without a password.
  const remove = async () => {
    await act("Remove from the organization…");
    await dialog.getByRole("button", { name: /^Remove/ }).click();
    await row.waitFor({ state: "detached" });
  };
  // The removal names the keys that they created, and revokes them.
  const made = await guest.request.post("/v1/keys", {
    headers: { ...(await sessionHeaders(guest)), Origin: base },
    data: { project_id: projectId, name: "of the colleague", scopes: ["runs:read"] },
  });
  check(made.ok(), `an admin creates a key: ${made.status()}`);
  const { key } = await made.json();
  await act("Remove from the organization…");
  await dialog.getByText("of the colleague").waitFor();
  await dialog.getByLabel("Revoke their keys, too").check();
  await inspect(page, "members-remove");
  await dialog.getByRole("button", { name: /^Remove/ }).click();
  await row.waitFor({ state: "detached" });
  const refused = await fetch(`${base}/v1/me`, { headers: { Authorization: `Bearer ${key}` } });
  check(refused.status === 401, `the key is revoked: ${refused.status}`);
  await openLink(guest, await invite(page, "Viewer", colleague));
  await guest.getByRole("button", { name: `Join as ${colleague}` }).waitFor();
  await inspect(guest, "invite-join");
  await guest.getByRole("button", { name: `Join as ${colleague}` }).click();
  await guest.waitForURL("**/p/*/runs");
  await page.reload();
  await row.waitFor();

  // Someone who is logged out joins with the password of the account.
  await remove();
  await openLink(guest, await invite(page, "Viewer"));
  await guest.getByRole("button", { name: "Log out and use another account" }).click();
  await guest.getByLabel("Email").fill(colleague);
  await guest.getByLabel("Password", { exact: true }).fill(`${password}?`);
  await guest.getByRole("button", { name: "Create account and join" }).click();
  await guest.getByText("This address has an account. Enter its password.").waitFor();
  await guest.getByLabel("Password", { exact: true }).fill(password);
  await guest.getByRole("button", { name: "Log in and join" }).click();
  await guest.waitForURL("**/p/*/runs");
  await page.reload();
  await row.waitFor();
});
