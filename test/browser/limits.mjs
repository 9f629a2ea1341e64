// A person gives the project a limit of its own, or takes it away again.
import { inspect } from "./inspect.mjs";
import { scenario } from "./scenario.mjs";

await scenario(async (page, { projectId, rate }) => {
  await page.goto(`/p/${projectId}/settings`);
  const perSecond = page.getByLabel("The project: requests, a second");
  const atOnce = page.getByLabel("The project: requests, at once");
  const save = page.getByRole("button", { name: "Save limits" });
  if (rate === undefined) {
    await perSecond.fill("");
    await atOnce.fill("");
  } else {
    await page.getByText("No limits of its own").waitFor();
    // A burst says nothing without a rate; what is wrong stands at its field.
    await atOnce.fill("1");
    await save.click();
    await page.getByText("is required").first().waitFor();
    await inspect(page, "settings-limits-refused");
    await perSecond.fill(rate);
  }
  await save.click();
  await page.getByText("it counts everywhere within 5 seconds").waitFor();
  await inspect(page, rate === undefined ? "settings-limits-none" : "settings-limits");
});
