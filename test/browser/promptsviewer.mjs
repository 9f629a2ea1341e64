// A viewer reads a prompt and finds nothing to change.
import { createAccount, invite, otherBrowser } from "./colleague.mjs";
import { inspect } from "./inspect.mjs";
import { check, scenario } from "./scenario.mjs";

await scenario(async (page, { base, projectId, name, email, password }, context) => {
  await page.goto(`/p/${projectId}/settings/members`);
  const link = await invite(page, "Viewer");
  const guest = await otherBrowser(context, base);
  await createAccount(guest, link, email, password);
  await guest.goto(`/p/${projectId}/prompts?folder=support`);
  await guest.getByTestId("prompt-row").first().waitFor();
  await none(guest, /new prompt|import|actions for/i);
  await inspect(guest, "prompts-viewer");
  await guest.goto(`/p/${projectId}/prompts/by-name?name=${encodeURIComponent(name)}`);
  await guest.getByTestId("version-view").waitFor();
  await none(guest, /save|edit|actions for/i);
  await inspect(guest, "prompt-viewer");
  await guest.getByRole("tab", { name: "Aliases" }).click();
  await guest.getByTestId("alias-row").waitFor();
  await none(guest, /new alias|move/i);
  await guest.getByRole("button", { name: "Actions for production" }).click();
  await guest.getByRole("menuitem", { name: "History" }).waitFor();
  check((await guest.getByRole("menuitem").count()) === 1, "a viewer can only read the history");
});

async function none(page, name) {
  const found = await page.getByRole("button", { name }).filter({ visible: true }).count();
  check(found === 0, `${page.url()} has ${found} buttons ${name}`);
}
