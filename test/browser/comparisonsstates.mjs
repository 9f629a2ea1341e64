// Outputs that fail, a server that is slow or down, and a viewer who reads and starts nothing.
import { createAccount, invite, otherBrowser } from "./colleague.mjs";
import { inspect } from "./inspect.mjs";
import { check, retry, same, scenario, sessionHeaders } from "./scenario.mjs";

await scenario(async (page, { base, projectId, dataset, connection, email, password }, context) => {
  const project = `/p/${projectId}`;
  const side = (model) => ({
    provider_id: connection,
    messages: [{ role: "user", content: "{{question}}" }],
    model_config: { model, max_output_tokens: 20 },
  });
  await page.goto(`${project}/comparisons`);
  const started = await page.evaluate(
    async ({ body, headers }) => (await fetch("/v1/comparisons", { method: "POST", headers, body: JSON.stringify(body) })).json(),
    {
      headers: { ...(await sessionHeaders(page)), "Content-Type": "application/json" },
      body: {
        project_id: projectId,
        name: "Failing",
        dataset_id: dataset,
        a: side("model-b"),
        b: side("model-failing"),
        on_incompatible: "skip",
        graders: [{ name: "correct", type: "string_check", operation: "eq" }],
      },
    },
  );
  check(started.id, JSON.stringify(started));
  const address = `${project}/comparisons/${started.id}`;

  // Each failure has its reason.
  await page.goto(address);
  await page.getByTestId("sentence").waitFor();
  await page.getByTestId("reason").first().waitFor();
  await inspect(page, "comparison-failures");
  await page.getByTestId("accounting").getByRole("link", { name: "without an output" }).click();
  await page.getByTestId("output-b").getByText("This number isn't allowed.").waitFor();
  await same("the failed output", "failed", () => page.getByTestId("output-b").getAttribute("data-status"));
  await inspect(page, "comparison-item-failed");
  await page.getByRole("button", { name: "Resume…" }).click();
  await page.getByRole("dialog").getByLabel(/^Also retry what failed: \d+ outputs?$/).waitFor();
  await page.keyboard.press("Escape");

  // Slow, then down.
  let release;
  const held = new Promise((resolve) => {
    release = resolve;
  });
  await page.route("**/v1/comparisons/*", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(address);
  await page.locator("[aria-busy=true]").waitFor();
  await page.screenshot({ path: `${process.env.OUTPUT}/comparison-slow.png` });
  release();
  await page.getByTestId("sentence").waitFor();
  await page.unroute("**/v1/comparisons/*");
  await page.route("**/v1/comparisons?*", (route) => route.abort());
  await page.goto(`${project}/comparisons`);
  await page.getByTestId("problem").getByText("The server didn't respond").waitFor();
  await inspect(page, "comparisons-down");
  await page.unroute("**/v1/comparisons?*");
  await retry(page);
  await page.getByTestId("comparison-row").first().waitFor();
  await page.goto(`${project}/comparisons/00000000-0000-4000-8000-000000000000`);
  await page.getByTestId("problem").waitFor();
  await page.getByRole("heading", { level: 1, name: "Comparison not found" }).waitFor();

  // A viewer.
  await page.goto(`${project}/settings/members`);
  const link = await invite(page, "Viewer");
  const guest = await otherBrowser(context, base);
  await createAccount(guest, link, email, password);
  await guest.goto(`${project}/comparisons`);
  await guest.getByTestId("comparison-row").first().waitFor();
  await none(guest, /new comparison/i);
  await guest.goto(address);
  await guest.getByTestId("sentence").waitFor();
  await none(guest, /resume|cancel/i);
  await guest.getByRole("button", { name: "Actions for Failing" }).click();
  await guest.getByRole("menuitem", { name: "Export outputs as CSV" }).waitFor();
  check((await guest.getByRole("menuitem").count()) === 3, "a viewer can only export and download");
  await guest.keyboard.press("Escape");
  await guest.goto(`${address}?tab=items`);
  await guest.getByTestId("output-a").waitFor();
  await guest.goto(`${project}/comparisons/new`);
  await guest.getByText("You can't start comparisons.").waitFor();
  await guest.getByText("evals:write").waitFor();
  await inspect(guest, "comparison-new-viewer");
  await guest.goto(`${project}/datasets/${dataset}`);
  await guest.getByTestId("item-row").first().waitFor();
  check((await guest.getByRole("link", { name: "Compare", exact: true }).count()) === 0, "a viewer starts nothing from a dataset");
});

async function none(page, name) {
  const found = await page.getByRole("button", { name }).or(page.getByRole("link", { name })).filter({ visible: true }).count();
  check(found === 0, `${page.url()} has ${found} buttons ${name}`);
}
