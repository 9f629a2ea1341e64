// A viewer reads datasets and finds nothing to change.
import { createAccount, invite, otherBrowser } from "./colleague.mjs";
import { inspect } from "./inspect.mjs";
import { check, scenario } from "./scenario.mjs";

await scenario(async (page, { base, projectId, large, email, password }, context) => {
  await page.goto(`/p/${projectId}/settings/members`);
  const link = await invite(page, "Viewer");
  const guest = await otherBrowser(context, base);
  await createAccount(guest, link, email, password);
  await guest.goto(`/p/${projectId}/datasets`);
  await guest.getByTestId("dataset-row").first().waitFor();
  await none(guest, /new dataset|actions for/i);
  await inspect(guest, "datasets-viewer");
  await guest.goto(`/p/${projectId}/datasets/${large}`);
  await guest.getByTestId("item-row").first().waitFor();
  await none(guest, /add item|import/i);
  await guest.getByTestId("item-row").first().getByRole("link").first().click();
  await guest.getByTestId("item-input").waitFor();
  await none(guest, /edit|remove/i);
  await inspect(guest, "item-viewer");
  await guest.getByRole("button", { name: "Close" }).click();
  await guest.getByRole("button", { name: "Actions for large" }).click();
  await guest.getByRole("menuitem", { name: "Export…" }).waitFor();
  check((await guest.getByRole("menuitem").count()) === 3, "a viewer can only export, and see comparisons and eval-runs");
  await guest.goto(`/p/${projectId}/datasets/${large}?tab=schema`);
  await guest.getByText("Your role doesn't include changing schemas.").waitFor();
  await none(guest, /save|suggest/i);
  await guest.goto(`/p/${projectId}/datasets/${large}?tab=near-duplicates`);
  await guest.getByTestId("pair").first().waitFor();
  await none(guest, /check|remove/i);
  await guest.goto(`/p/${projectId}/datasets/${large}/import`);
  await guest.getByText("Your role doesn't include adding items.").waitFor();
  await inspect(guest, "import-viewer");
});

async function none(page, name) {
  const found = await page.getByRole("button", { name }).filter({ visible: true }).count();
  check(found === 0, `${page.url()} has ${found} buttons ${name}`);
}
