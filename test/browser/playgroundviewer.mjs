// A viewer sees the playground, cannot call a model, and is told why.
import { createAccount, invite, otherBrowser } from "./colleague.mjs";
import { inspect } from "./inspect.mjs";
import { playgroundOf } from "./playgroundpage.mjs";
import { check, same, scenario, sessionHeaders } from "./scenario.mjs";

await scenario(async (page, { base, projectId, providerId, email, password }, context) => {
  await page.goto(`/p/${projectId}/settings/members`);
  const link = await invite(page, "Viewer");
  const guest = await otherBrowser(context, base);
  await createAccount(guest, link, email, password);
  const { columns, variable, choose, choosePrompt } = playgroundOf(guest);
  await guest.goto(`/p/${projectId}/playground`);
  await guest.getByText(/You can't run models here: your role lacks the scope completions:write/).waitFor();
  await choosePrompt("Prompt for all columns", "triage", "support/triage");
  await variable("ticket").fill("I was charged twice.");
  await choose(1, "text");
  check(await guest.getByRole("button", { name: "Run", exact: true }).isDisabled(), "a viewer can't run all columns");
  check(await guest.getByRole("button", { name: "Run column 1" }).isDisabled(), "a viewer can't run a column");
  await guest.keyboard.press("Control+Enter");
  await guest.getByRole("button", { name: "Actions for column 1" }).click();
  const items = guest.getByRole("menuitem");
  await items.first().waitFor();
  const enabled = await items.evaluateAll((all) => all.filter((item) => !item.hasAttribute("data-disabled")).map((item) => item.textContent));
  check(JSON.stringify(enabled) === '["Duplicate column"]', `a viewer can choose ${enabled}`);
  await guest.keyboard.press("Escape");
  await guest.getByRole("button", { name: "Scenarios" }).click();
  await guest.getByText(/^(Load|No scenario saved yet)$/).waitFor();
  await same("a viewer saves no scenario", 0, () => guest.getByRole("menuitem", { name: /save|rename|delete/i }).count());
  await guest.keyboard.press("Escape");
  check((await columns.first().getAttribute("data-status")) === null, "nothing ran");
  await inspect(guest, "playground-viewer");
  // The page only leaves out what the API refuses.
  const status = await guest.evaluate(
    async ([headers, body]) => (await fetch("/v1/playground/completions", { method: "POST", headers, body })).status,
    [
      { ...(await sessionHeaders(guest)), "Content-Type": "application/json" },
      JSON.stringify({ project_id: projectId, provider_id: providerId, messages: [{ role: "user", content: "Hi" }], model_config: { model: "text" } }),
    ],
  );
  check(status === 403, `a completion of a viewer: ${status}`);

  await guest.goto(`/p/${projectId}/settings/providers`);
  await guest.getByTestId("provider-row").first().waitFor();
  check((await guest.getByRole("button", { name: "New connection" }).count()) === 0, "a viewer adds no connection");
  await guest.getByTestId("provider-row").first().getByRole("button", { name: /^Actions for/ }).click();
  await same("a viewer can only read", ["Models"], () => guest.getByRole("menuitem").allTextContents());
});
