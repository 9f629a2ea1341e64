// Shared by the scenarios with a second user.

/** Opens a page in another browser without a session. */
export async function otherBrowser(context, base) {
  const other = await context.browser().newContext({ baseURL: base, viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" });
  other.setDefaultTimeout(60_000);
  return other.newPage();
}

/** Opens a one-time link. A change of the fragment alone would not load the page again. */
export async function openLink(page, link) {
  await page.goto("about:blank");
  await page.goto(link);
}

/** Reads the link in the open dialog and closes it. */
export async function oneTimeLink(page) {
  const shown = page.getByTestId("one-time-link");
  await shown.waitFor();
  const link = (await shown.textContent()).trim();
  await page.getByRole("button", { name: "Done" }).click();
  return link;
}

/** Invites someone from the page Members, as `role` to the group that the page shows, and returns the link. */
export async function invite(page, role, email = "") {
  await page.getByRole("button", { name: "Invite" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("radio", { name: role, exact: true }).check();
  await dialog.getByLabel("Email (optional)").fill(email);
  await dialog.getByRole("button", { name: "Create invitation link" }).click();
  return oneTimeLink(page);
}

/** Accepts an invitation with a new account. */
export async function createAccount(page, link, email, password) {
  await openLink(page, link);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Create account and join" }).click();
  await page.waitForURL("**/p/*/runs");
}
