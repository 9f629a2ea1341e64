// A user opens hostile pages: one on another port of this machine, and one whose name resolves to this machine (DNS
// rebinding), so that the browser treats its requests as same-origin. Every response must be a refusal.
import { createServer } from "node:http";
import { check, report, scenario } from "./scenario.mjs";

const REBOUND = "rebound.example";

await scenario(
  async (page, input, context) => {
    const stranger = createServer((_, response) => {
      response.setHeader("Content-Type", "text/html");
      response.end("<title>A stranger's page</title>");
    });
    await new Promise((resolve) => stranger.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = stranger.address();
      for (const host of ["127.0.0.1", "localhost", REBOUND]) {
        const origin = `http://${host}:${port}`;
        await page.goto(origin);
        // The stores must not respond. The API may respond across origins, but the page must not be able to read it.
        for (const reached of await page.evaluate(reach, input.stores)) report(origin, `a store answers: ${reached}`);
        for (const reached of await page.evaluate(act, input)) report(origin, `it can read ${reached}`);
      }
    } finally {
      stranger.close();
    }
    for (const part of input.services) {
      const origin = `http://${REBOUND}:${part}`;
      // The page that the hostile server sent before its name resolved to this machine.
      await context.route(`${origin}/stranger`, (route) => route.fulfill({ contentType: "text/html", body: "<title>A stranger's page</title>" }));
      await page.goto(`${origin}/stranger`);
      for (const reached of await page.evaluate(reach, input.stores)) report(origin, `a store answers: ${reached}`);
      for (const reached of await page.evaluate(rebound, input)) report(origin, `it is not refused: ${reached}`);
    }
    const cookies = (await context.cookies(input.base)).map(({ name, value }) => `${name}=${value}`);
    check(cookies.join() === (input.cookie ?? ""), `the cookies are ${cookies}`);
  },
  {
    watched: false,
    // Not every browser protects local addresses, so the product must refuse by itself.
    args: [`--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`, "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests"],
  },
);

/** Tries to reach the stores in every way that a page has. Returns what responded. */
async function reach(ports) {
  const reached = [];
  const attempt = async (what, ask) => {
    const silent = new Promise((resolve) => setTimeout(() => resolve(false), 2000));
    if (await Promise.race([ask().catch(() => false), silent])) reached.push(what);
  };
  const attempts = [];
  for (const port of ports) {
    for (const host of ["127.0.0.1", "localhost", globalThis.location.hostname]) {
      const at = `${host}:${port}`;
      for (const scheme of ["http", "https"]) {
        const url = `${scheme}://${at}/?query=SELECT%201`;
        attempts.push(
          attempt(`GET ${url}`, async () => Boolean(await fetch(url))),
          attempt(`POST ${url} without CORS`, async () =>
            Boolean(await fetch(url, { method: "POST", mode: "no-cors", body: "SELECT * FROM file('/etc/passwd')" })),
          ),
          attempt(`image ${url}`, () => {
            const image = new Image();
            image.src = url;
            return new Promise((resolve) => {
              image.onload = () => resolve(true);
              image.onerror = () => resolve(false);
            });
          }),
        );
      }
      attempts.push(
        attempt(`WebSocket ${at}`, () => {
          const socket = new WebSocket(`ws://${at}/`);
          return new Promise((resolve) => {
            socket.onopen = () => resolve(true);
            socket.onerror = () => resolve(false);
          });
        }),
      );
    }
  }
  await Promise.all(attempts);
  return reached;
}

/** Sends cross-origin requests to the API. Returns what the page could read. The test checks their effects. */
async function act({ base, api, projectId, email, password }) {
  const read = [];
  const requests = [
    ["POST", "/v1/setup", { email: "stranger@example.com", password: "a stranger's password", org_name: "Stranger" }],
    ["POST", "/v1/login", { email, password }],
    ["POST", "/v1/logout", undefined],
    ["POST", "/v1/keys", { project_id: projectId, name: "stolen", scopes: ["runs:read"] }],
    ["POST", "/v1/projects", { name: "stolen" }],
    ["POST", "/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" }],
    ["GET", "/v1/setup", undefined],
    ["GET", "/v1/me", undefined],
    ["GET", "/", undefined],
  ];
  for (const address of [base, api]) {
    for (const [method, path, content] of requests) {
      for (const mode of ["cors", "no-cors"]) {
        for (const type of ["application/json", "text/plain"]) {
          const body = content && JSON.stringify(content);
          const headers = { "Content-Type": type };
          const answer = await fetch(address + path, { method, mode, body, headers, credentials: "include" }).catch(() => null);
          if (answer && answer.type !== "opaque") read.push(`${method} ${path}: ${answer.status}`);
        }
      }
    }
  }
  return read;
}

/** Sends same-origin requests after rebinding. Returns what was not refused. */
async function rebound({ email, password, web }) {
  const allowed = [];
  const login = { "Content-Type": "application/json" };
  const requests = [
    ["GET", "/", {}, undefined],
    ["GET", "/p/x/runs", {}, undefined],
    ["GET", "/llms.txt", {}, undefined],
    ["GET", "/v1/docs", {}, undefined],
    ["GET", "/v1/setup", {}, undefined],
    ["GET", "/v1/me", {}, undefined],
    ["POST", "/v1/setup", login, { email: "stranger@example.com", password: "a stranger's password", org_name: "Stranger" }],
    ["POST", "/v1/setup", { ...login, Authorization: "Bearer lt_made.up" }, { email: "s@example.com", password: "a stranger's password", org_name: "S" }],
    ["POST", "/v1/login", login, { email, password }],
    ["POST", "/v1/login", { ...login, "X-Forwarded-Host": web, "X-Forwarded-For": "127.0.0.1" }, { email, password }],
    ["POST", "/mcp", login, { jsonrpc: "2.0", id: 1, method: "tools/list" }],
    ["POST", "/mcp", { ...login, Authorization: "Bearer lt_made.up" }, { jsonrpc: "2.0", id: 1, method: "tools/list" }],
  ];
  for (const [method, path, headers, content] of requests) {
    const answer = await fetch(path, { method, headers, body: content && JSON.stringify(content) });
    // 404: a path of the UI on the API's port.
    if (![401, 403, 404, 421].includes(answer.status)) allowed.push(`${method} ${path}: ${answer.status}`);
  }
  return allowed;
}
