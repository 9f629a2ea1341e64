// A user returns after a restart: still logged in, and the runs are there.
import { scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId }) => {
  await page.goto("/");
  await page.waitForURL(`**/p/${projectId}/runs`);
  await until("runs in the list", async () => (await page.getByTestId("run-row").count()) > 10);
});
