// An owner invites a colleague by a link. The colleague opens it in another browser, sees runs, and may change nothing.
import { oneTimeLink, openLink, otherBrowser } from "./colleague.mjs";
import { inspect } from "./inspect.mjs";
import { check, scenario, until } from "./scenario.mjs";

await scenario(async (page, { base, projectId, runId, email, colleague, password }, context) => {
  const project = `/p/${projectId}`;
  await page.goto(`${project}/settings/members`);
  await page.getByTestId("member-row").filter({ hasText: email }).waitFor();
  await inspect(page, "members");

  // The only owner cannot step down.
  await page.getByRole("button", { name: `Actions for ${email}` }).click();
  await page.getByRole("menuitem", { name: "Change role…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("radio", { name: "Admin", exact: true }).check();
  await dialog.getByRole("button", { name: "Save role" }).click();
  await dialog.getByText("Make another member an owner first").waitFor();
  await inspect(page, "members-last-owner");
  await dialog.getByRole("button", { name: "Cancel" }).click();

  await page.getByRole("button", { name: "Invite" }).click();
  await dialog.getByRole("radio", { name: "Viewer", exact: true }).check();
  await dialog.getByLabel("Email (optional)").fill(colleague);
  await inspect(page, "members-invite");
  await dialog.getByRole("button", { name: "Create invitation link" }).click();
  await page.getByTestId("one-time-link").waitFor();
  await inspect(page, "members-link");
  const link = await oneTimeLink(page);
  check(link.startsWith(`${base}/invite#`), `the link is ${link}`);
  await page.getByRole("radiogroup", { name: "Show" }).getByText("Invitations").click();
  const invitation = page.getByTestId("invitation-row").filter({ hasText: colleague });
  await invitation.waitFor();
  check((await invitation.getAttribute("data-state")) === "pending", "the invitation is pending");
  check(!(await page.locator("body").textContent()).includes(link.split("#")[1]), "the link is shown once");
  await inspect(page, "invitations");

  const guest = await otherBrowser(context, base);
  await guest.goto("/invite#unknown");
  await guest.getByRole("heading", { name: "Invitation not found" }).waitFor();
  await inspect(guest, "invite-unknown");
  await openLink(guest, link);
  await guest.getByText(`${email} invites you`).waitFor();
  check((await guest.getByLabel("Email").inputValue()) === colleague, "the address is that of the invitation");
  await guest.getByLabel("Password", { exact: true }).fill(password);
  await inspect(guest, "invite");
  await guest.getByRole("button", { name: "Create account and join" }).click();
  await guest.waitForURL("**/p/*/runs");
  check(!guest.url().includes("#"), "the token left the address");
  await guest.goBack();
  check(!guest.url().includes("/invite"), "the link left the history");

  // The colleague reads a run, and finds nothing to change.
  await guest.goto(`${project}/runs/${runId}`);
  await guest.getByTestId("span-tree").waitFor();
  await none(guest, "button", /delete/i);
  await guest.goto(`${project}/runs`);
  await guest.getByTestId("run-row").first().waitFor();
  await guest.getByRole("button", { name: "More actions" }).click();
  await guest.getByRole("menuitem").first().waitFor();
  await none(guest, "menuitem", /delete/i);
  await guest.goto(`${project}/settings/keys`);
  await guest.getByText("Only admins and owners can manage keys.").waitFor();
  await none(guest, "button", "New key");
  await inspect(guest, "keys-viewer");
  await guest.goto(`${project}/settings/prices`);
  await guest.getByTestId("price-row").first().waitFor();
  await none(guest, "button", "New price");
  await guest.goto(`${project}/settings/limits`);
  await guest.getByText("Only owners and admins can change limits.").waitFor();
  await none(guest, "button", "Save limits");
  await guest.goto(`${project}/settings`);
  await guest.getByLabel("Project name").waitFor();
  await none(guest, "button", /rename|delete/i);
  await inspect(guest, "settings-viewer");
  await guest.goto(`${project}/settings/members`);
  await guest.getByTestId("member-row").filter({ hasText: colleague }).waitFor();
  await none(guest, "button", /invite|add member/i);
  await none(guest, "button", `Actions for ${email}`);
  await inspect(guest, "members-viewer");

  await guest.getByRole("button", { name: /^Account/ }).filter({ visible: true }).click();
  await guest.getByRole("menuitem", { name: "Account" }).click();
  await guest.waitForURL("**/account");
  await guest.getByTestId("session-row").first().waitFor();
  await guest.getByText("Chrome on").waitFor();
  await inspect(guest, "account");

  // The used link says so, and the owner sees who used it.
  await openLink(guest, link);
  await guest.getByRole("heading", { name: "Invitation already used" }).waitFor();
  await page.reload();
  await until("the invitation is accepted", async () => (await invitation.getAttribute("data-state")) === "accepted");

  // A new password by a link.
  await page.goto(`${project}/settings/members`);
  await page.getByRole("button", { name: `Actions for ${colleague}` }).click();
  await inspect(page, "members-actions");
  await page.getByRole("menuitem", { name: "Create password reset link…" }).click();
  await page.getByRole("button", { name: "Create link" }).click();
  const reset = await oneTimeLink(page);
  await openLink(guest, reset);
  await guest.getByLabel("New password", { exact: true }).fill(`${password}!`);
  await inspect(guest, "reset-password");
  await guest.getByRole("button", { name: "Set password and log in" }).click();
  await guest.waitForURL("**/p/*/runs");
  check(!guest.url().includes("#"), "the token left the address");
  await openLink(guest, reset);
  await guest.getByRole("heading", { name: "This link doesn't work any more" }).waitFor();

  // Leaving ends the access, and the page says what to do.
  await guest.goto("/account");
  await guest.getByRole("button", { name: /^Leave Example/ }).click();
  await guest.getByRole("button", { name: "Leave the organization" }).click();
  await guest.getByText("You don't belong to an organization.").waitFor();
  await guest.goto("/");
  await guest.getByText("Ask an admin for an invitation link").waitFor();
  await inspect(guest, "no-project");

  // The owner creates a workspace with a project, and deletes it.
  await page.goto(`${project}/settings`);
  await inspect(page, "settings-owner");
  const switcher = page.getByRole("button", { name: /^Project/ }).filter({ visible: true });
  await switcher.click();
  await inspect(page, "switcher");
  await page.getByRole("menuitem", { name: "New workspace…" }).click();
  await page.getByRole("dialog", { name: "New workspace" }).getByLabel("Name").fill(`${colleague} team`);
  await page.getByRole("button", { name: "Create workspace" }).click();
  await page.getByRole("dialog", { name: "New project" }).getByLabel("Name").fill("short-lived");
  await page.getByRole("button", { name: "Create project" }).click();
  await page.waitForURL("**/connect");
  check(!page.url().includes(projectId), "the new project opened");
  const settings = page.getByRole("navigation", { name: "Project" }).getByRole("link", { name: "Settings" });
  await until("the navigation is the new project's", async () => !(await settings.getAttribute("href")).includes(projectId));
  await settings.click();
  await page.getByRole("button", { name: "Delete the workspace…" }).click();
  await page.getByTestId("contents").getByText("1 project").waitFor();
  const remove = page.getByRole("button", { name: "Delete workspace" });
  check(await remove.isDisabled(), "deletion needs the name");
  await page.getByLabel(/^Type .* to confirm$/).fill(`${colleague} team`);
  await inspect(page, "settings-delete");
  await remove.click();
  await page.waitForURL("**/p/*/runs");
});

async function none(page, role, name) {
  const found = await page.getByRole(role, { name }).filter({ visible: true }).count();
  check(found === 0, `${page.url()} has ${found} of ${role} ${name}`);
}
