// A user without a session is redirected to login, then to the requested page, and logs out.
import { inspect } from "./inspect.mjs";
import { check, logIn, scenario } from "./scenario.mjs";

await scenario(async (page, { projectId, runId, email, password }) => {
  const target = `/p/${projectId}/runs/${runId}`;
  await page.goto(target);
  await page.waitForURL("**/login?next=*");
  await inspect(page, "login");
  await logIn(page, email, `${password}!`);
  await page.getByTestId("problem").waitFor();
  await inspect(page, "login-refused");
  await logIn(page, email, password);
  await page.waitForURL(`**${target}*`);
  await page.getByTestId("span-tree").waitFor();

  await page.getByRole("button", { name: /^Account/ }).filter({ visible: true }).click();
  await page.getByRole("menuitem", { name: "Log out" }).click();
  await page.waitForURL("**/login*");
  await page.goto(target);
  await page.waitForURL("**/login?next=*");
  const answer = await page.request.get("/v1/me");
  check(answer.status() === 401, `the session has ended: ${answer.status()}`);
  await page.goto("/setup");
  await page.waitForURL("**/login");

  await page.goto("/login?next=https://hostile.example/");
  await logIn(page, email, password);
  await page.waitForURL(`**/p/${projectId}/runs`);
});
