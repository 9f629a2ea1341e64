// An owner creates an organization, deletes its project, then deletes the organization.
import { check, scenario } from "./scenario.mjs";

await scenario(async (page, { projectId, organization }) => {
  await page.goto(`/p/${projectId}/settings`);
  const switcher = page.getByRole("button", { name: /^Project/ }).filter({ visible: true });
  await switcher.click();
  await page.getByRole("menuitem", { name: "New organization…" }).click();
  await page.getByRole("dialog", { name: "New organization" }).getByLabel("Name").fill(organization);
  await page.getByRole("button", { name: "Create organization" }).click();
  await page.waitForURL((url) => url.pathname.endsWith("/connect") && !url.pathname.includes(projectId));
  await switcher.getByText(`${organization} · Default`).waitFor();
  const first = new URL(page.url()).pathname.split("/")[2];

  await switcher.click();
  await page.getByRole("menuitem", { name: "New project…" }).click();
  await page.getByRole("dialog", { name: "New project" }).getByLabel("Name").fill("short-lived");
  await page.getByRole("button", { name: "Create project" }).click();
  await page.waitForURL((url) => url.pathname.endsWith("/connect") && !url.pathname.includes(first));
  const second = new URL(page.url()).pathname;
  await switcher.getByText(`${organization} · Default`).waitFor();

  const settings = page.getByRole("navigation", { name: "Project" }).getByRole("link", { name: "Settings" });
  await settings.click();
  await page.getByRole("button", { name: "Delete the project…" }).click();
  await page.getByTestId("contents").getByText("0 runs and 0 keys").waitFor();
  const typed = page.getByLabel("Type short-lived to confirm");
  const remove = page.getByRole("button", { name: "Delete project" });
  await typed.fill("Short-lived");
  check(await remove.isDisabled(), "another name does not confirm");
  await typed.fill("short-lived");
  await remove.click();
  await page.waitForURL("**/p/*/runs");
  await page.goto(second);
  await page.getByText("Page not found").waitFor();

  await page.goto(`/p/${first}/settings`);
  await page.getByRole("button", { name: "Delete the organization…" }).click();
  await page.getByTestId("contents").getByText("1 workspace, 1 project").waitFor();
  await page.getByLabel(`Type ${organization} to confirm`).fill(organization);
  await page.getByRole("button", { name: "Delete organization" }).click();
  await page.waitForURL((url) => url.pathname.endsWith("/runs") && !url.pathname.includes(first));
  await switcher.click();
  await page.getByRole("menuitem", { name: "New organization…" }).waitFor();
  check((await page.getByRole("menu").getByText(organization).count()) === 0, "the organization is gone");
});
