// The secret that encrypted a connection's key is lost: a user is told so, and an admin enters the key again.
import { inspect } from "./inspect.mjs";
import { playgroundOf } from "./playgroundpage.mjs";
import { check, scenario } from "./scenario.mjs";

await scenario(async (page, { projectId, key }) => {
  const { dialog, column, answer, message, choose, run } = playgroundOf(page);
  await page.goto(`/p/${projectId}/playground`);
  await message(2, "user").fill("Hello");
  await choose(1, "text");
  await run(1);
  const problem = column(1).getByTestId("problem");
  await problem.getByText("The stored API key can't be read").waitFor();
  await problem.getByText(/Enter the key again\./).waitFor();
  await inspect(page, "playground-unreadable");
  await column(1).getByRole("link", { name: "Open the connection" }).click();
  const row = page.getByTestId("provider-row").first();
  const warning = row.getByText("Not readable. Enter the key again.");
  await warning.waitFor();
  await inspect(page, "providers-unreadable");
  await row.getByRole("button", { name: /^Actions for/ }).click();
  await page.getByRole("menuitem", { name: "Edit…" }).click();
  await dialog.getByText("The server can't read the stored key any more. Enter it again.").waitFor();
  await dialog.getByLabel("API key").fill(key);
  await dialog.getByRole("button", { name: "Save connection" }).click();
  await dialog.waitFor({ state: "detached" });
  await warning.waitFor({ state: "detached" });
  check(!(await page.content()).includes(key), "the key is nowhere on the page");
  await page.goto(`/p/${projectId}/playground`);
  await run(1);
  await answer(1).getByText("The capital of France is Paris.").waitFor();
});
