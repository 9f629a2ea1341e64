// A project without eval-runs says how to start one.
import { inspect } from "./inspect.mjs";
import { scenario } from "./scenario.mjs";

await scenario(async (page, { projectId }) => {
  await page.goto(`/p/${projectId}/eval-runs`);
  await page.getByText("No eval-runs yet.").waitFor();
  await page.getByText("looptrace.evaluate").first().waitFor();
  await inspect(page, "eval-runs-empty");
});
