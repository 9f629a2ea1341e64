// A user finds a trace without GenAI spans, which the list hides until asked. `agent` names a run that it always shows.
import { check, same, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, plain, agent, names }) => {
  const rows = page.getByTestId("run-row");
  const listed = () => rows.locator("[data-run]").allTextContents();
  const traces = async () => new URL(page.url()).searchParams.getAll("traces");
  const hidden = page.getByTestId("hidden-traces");
  const choose = async (option) => {
    await page.getByRole("button", { name: "Traces", exact: true }).click();
    await page.getByRole("menuitemradio", { name: option, exact: true }).click();
    await page.keyboard.press("Escape");
  };

  await page.goto(`/p/${projectId}/runs`);
  if (agent) {
    await same("only the agent's run", [agent], listed);
    await hidden.getByText("1 trace without GenAI spans is hidden.").waitFor();
    await hidden.getByRole("button", { name: "Show" }).click();
  } else {
    await page.getByText("No traces with GenAI spans.").waitFor();
    check((await rows.count()) === 0, "no run is listed");
    check(!(await hidden.isVisible()), "the empty list says once that traces are hidden");
    await page.getByRole("button", { name: "Show all traces" }).click();
  }
  await same("all traces in the address", ["all"], traces);
  await same("all traces", names, listed);
  await hidden.waitFor({ state: "detached" });
  check(await rows.last().getByText("no GenAI").isVisible(), "the row says that the trace has no GenAI spans");
  await page.reload();
  await same("all traces after a reload", names, listed);

  await choose("without");
  await same("only the plain trace", ["GET /healthz"], listed);
  await same("it in the address", ["other"], traces);
  await rows.first().locator("[data-run]").click();
  await page.waitForURL(`**/runs/${plain}*`);
  await page.getByTestId("no-genai").waitFor();
  await page.goBack();
  await same("the filter after going back", ["GET /healthz"], listed);

  await choose("with GenAI spans");
  await same("the default is not in the address", [], traces);
  await until("the plain trace is hidden again", async () => !(await listed()).includes("GET /healthz"));
});
