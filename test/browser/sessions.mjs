// A user without a session is redirected to login, then to the requested page, and logs out. Then they visit another server of this
// machine: it gets the cookie of their session, which opens nothing, and plants one of another session, which the UI does not use.
import { createServer } from "node:http";
import { inspect } from "./inspect.mjs";
import { check, logIn, scenario } from "./scenario.mjs";

await scenario(async (page, { base, projectId, runId, email, password }, context) => {
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

  await visitStranger(context, { base, projectId, runId, email, password });

  // All tabs have one session, and end it together.
  await page.goto(`/p/${projectId}/runs`);
  const other = await context.newPage();
  await other.goto(`/p/${projectId}/keys`);
  await other.getByRole("heading", { name: "Keys" }).waitFor();
  await page.getByRole("button", { name: /^Account/ }).filter({ visible: true }).click();
  await page.getByRole("menuitem", { name: "Log out" }).click();
  await page.waitForURL("**/login*");
  await other.waitForURL("**/login*");
}, { watched: false });

/** Visits a server on another port of this machine. */
async function visitStranger(context, { base, projectId, runId, email, password }) {
  // What a program, or the attacker's own login, keeps: a session that is not bound to a page.
  const begun = await fetch(`${base}/v1/login`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email, password }),
  });
  const [planted] = begun.headers.getSetCookie();
  const program = await fetch(`${base}/v1/me`, { headers: { Cookie: planted.split(";")[0] } });
  check(program.status === 200, `a program needs the cookie only: ${program.status}`);
  let leaked = "";
  const stranger = createServer((request, response) => {
    if (request.url === "/") leaked = request.headers.cookie ?? "";
    if (request.url === "/plant") response.setHeader("Set-Cookie", planted);
    response.setHeader("Content-Type", "text/html");
    response.end("<title>A stranger's page</title>");
  });
  await new Promise((resolve) => stranger.listen(0, new URL(base).hostname, resolve));
  try {
    const origin = `http://${new URL(base).hostname}:${stranger.address().port}`;
    const page = await context.newPage();
    await page.goto(origin);
    const [name] = planted.split("=");
    check(leaked.includes(`${name}=`), `the browser sends the cookie to every port: ${leaked}`);
    const of = `project_id=${projectId}`;
    for (const cookie of [leaked, planted.split(";")[0]]) {
      const isLeaked = cookie === leaked;
      for (const [method, path] of [
        ["GET", "/v1/me"],
        ["GET", `/v1/runs?${of}`],
        ["GET", `/v1/runs/${runId}`],
        ["GET", `/v1/runs/stream?${of}`],
        ["GET", `/v1/runs/export?format=ndjson&${of}`],
        ["GET", `/v1/keys?${of}`],
        ["POST", "/v1/logout"],
        ["POST", "/mcp"],
      ]) {
        const headers = { Cookie: cookie, ...(!isLeaked && { "Looptrace-Session-Secret": "x".repeat(43) }) };
        const answer = await fetch(base + path, { method, headers });
        check(answer.status === 401, `${isLeaked ? "leaked" : "planted"}: ${method} ${path}: ${answer.status}`);
      }
    }
    // The page itself sends the cookie and reads nothing; what it navigates to is refused.
    const read = await page.evaluate(async (url) => {
      const answer = await fetch(url, { credentials: "include" }).catch(() => null);
      return answer && answer.type !== "opaque";
    }, `${base}/v1/me`);
    check(!read, "a page of another port reads nothing");
    const shown = await page.goto(`${base}/v1/runs?${of}`);
    check(shown.status() === 401, `a link to the API: ${shown.status()}`);

    await page.goto(`${origin}/plant`);
    const held = (await context.cookies(base)).find((cookie) => cookie.name === name);
    check(planted.startsWith(`${name}=${held.value}`), "the cookie is planted");
    await page.goto(`/p/${projectId}/runs`);
    await page.waitForURL("**/login?next=*");
    await logIn(page, email, password);
    await page.waitForURL(`**/p/${projectId}/runs`);
    await page.close();
  } finally {
    stranger.close();
  }
}
