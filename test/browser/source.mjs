// A user finds an evaluation's run, which the list leaves out until asked.
import { check, same, scenario } from "./scenario.mjs";

await scenario(async (page, { projectId, evaluation }) => {
  const rows = page.getByTestId("run-row");
  const listed = () => rows.locator("[data-run]").allTextContents();
  const source = async () => new URL(page.url()).searchParams.getAll("source");
  const choose = async (option) => {
    await page.getByRole("button", { name: "Source", exact: true }).click();
    await page.getByRole("menuitemradio", { name: option, exact: true }).click();
    await page.keyboard.press("Escape");
  };

  await page.goto(`/p/${projectId}/runs`);
  await same("only the application's run", ["invoke_agent support"], listed);
  await choose("evaluations");
  await same("only the evaluation's run", ["invoke_agent judged"], listed);
  await same("it in the address", ["evaluation"], source);
  check(await rows.first().getByText("Evaluation", { exact: true }).isVisible(), "the row says what made the run");
  await page.reload();
  await same("the same after a reload", ["invoke_agent judged"], listed);
  await choose("all");
  await same("both", ["invoke_agent judged", "invoke_agent support"], listed);
  await rows.first().locator("[data-run]").click();
  await page.waitForURL(`**/runs/${evaluation}*`);
  await page.getByTestId("run-source").getByText("Evaluation", { exact: true }).waitFor();
  await page.goBack();
  await choose("your application");
  await same("the default is not in the address", [], source);
  await same("only the application's run again", ["invoke_agent support"], listed);
});
