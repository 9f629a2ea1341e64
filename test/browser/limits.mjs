// A user sets a limit of the project, or removes it.
import { inspect } from "./inspect.mjs";
import { check, scenario } from "./scenario.mjs";

await scenario(async (page, { projectId, rate }) => {
  await page.goto(`/p/${projectId}/settings/limits`);
  const perSecond = page.getByLabel("Project: requests, per second");
  const burst = page.getByLabel("Project: requests, burst");
  const save = page.getByRole("button", { name: "Save limits" });
  if (rate === undefined) {
    await perSecond.fill("");
    await burst.fill("");
  } else {
    await page.getByText("uses the default limits").waitFor();
    // A negative limit is refused, not made positive.
    await perSecond.fill("-5");
    await page.getByText("must not be negative").waitFor();
    check(await save.isDisabled(), "a negative limit can't be saved");
    await perSecond.fill("");
    // A burst needs a rate. The error appears at the field.
    await burst.fill("1");
    await save.click();
    await page.getByText("is required").first().waitFor();
    await inspect(page, "settings-limits-refused");
    await perSecond.fill(rate);
  }
  await save.click();
  await page.getByText("It takes effect within 5 seconds").waitFor();
  await inspect(page, rate === undefined ? "settings-limits-none" : "settings-limits");
});
