// The API hangs: every page, open already or opened then, says so and what to do, keeps what was typed, and is back by itself.
import { inspect } from "./inspect.mjs";
import { check, env, scenario, SECRET_HEADER, sessionOf, until } from "./scenario.mjs";

const headers = { [SECRET_HEADER]: env.secret };
/** Tabs of one browser share six connections to the product. */
const TABS = 4;

await scenario(async (first, { base, cookie, control }, context) => {
  const tell = async (what) =>
    check((await fetch(`${control}/${what}`, { method: "POST" })).ok, `the product is told: ${what}`);
  const paths = await pathsOf(await loadSamples(context.request, base), context.request, base);
  const open = [];
  let tabs;
  for (const path of paths) {
    if (open.length % TABS === 0) {
      tabs = await context.browser().newContext({ baseURL: base, reducedMotion: "reduce", storageState: sessionOf(base, cookie) });
      tabs.setDefaultTimeout(120_000);
    }
    const page = await tabs.newPage();
    await page.goto(path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
    check((await page.getByTestId("problem").count()) === 0, `${path} has no problem`);
    open.push({ path, page, typed: await typeInto(page) });
  }
  const all = (act, tabs = open) =>
    Promise.all(
      tabs.map(async (tab) =>
        act(tab).catch((error) => Promise.reject(new Error(`${tab.path}: ${error.message}`))),
      ),
    );
  check(
    open.some(({ typed }) => typed),
    "some pages have fields",
  );

  // Open already.
  await tell("hang");
  let since = Date.now();
  const told = [];
  await all(async ({ path, page }) => {
    await page.getByTestId("outage").getByText("The API is not answering").waitFor();
    told.push([Date.now() - since, path]);
  });
  await tell("continue");
  await all(async ({ path, page, typed }) => {
    await page.getByTestId("outage").waitFor({ state: "detached" });
    if (!typed) return;
    const kept = await typed.evaluate((field) => field.isConnected && field.value);
    check(kept === "typed before", `${path} keeps what was typed, not ${kept}`);
  });

  // Opened while it hangs. They are alike: none is opened without an answer about who the reader is.
  const some = open.filter((_, index) => index % 8 === 0);
  await tell("hang");
  since = Date.now();
  await all(async ({ path, page }) => {
    await page.goto(path, { waitUntil: "commit" });
    await page.getByTestId("problem").getByText("The server isn't answering").waitFor();
    told.push([Date.now() - since, path]);
  }, some);
  await first.goto("/login");
  await first.getByTestId("problem").getByText("The server isn't answering").waitFor();
  await inspect(first, "away-login");
  await tell("continue");
  await all(async ({ page }) => {
    await page.getByTestId("problem").waitFor({ state: "detached" });
    await page.getByRole("heading", { level: 1 }).waitFor();
  }, some);
  const [slowest, path] = told.sort(([a], [b]) => b - a)[0];
  return { pages: open.length, slowest_s: slowest / 1000, slowest_path: path };
});

/** Creates a project with samples, and returns its id. */
async function loadSamples(request, base) {
  const { projects } = await (await request.get(`${base}/v1/me`, { headers })).json();
  const made = await request.post(`${base}/v1/samples`, {
    headers: { ...headers, Origin: base },
    data: { workspace_id: projects[0].workspace_id },
  });
  check(made.ok(), `the samples are loaded: ${made.status()}`);
  return (await made.json()).id;
}

/** The address of every page that the project has something for. */
async function pathsOf(projectId, request, base) {
  const read = async (path) =>
    (await request.get(`${base}/v1/${path}project_id=${projectId}&limit=2`, { headers })).json();
  const ids = {};
  for (const [page, path, id] of [
    ["runs", "runs?", "run_id"],
    ["threads", "threads?", "session_id"],
    ["prompts", "prompts?", "id"],
    ["datasets", "datasets?", "id"],
    ["comparisons", "comparisons?", "id"],
    ["eval-runs", "eval-runs?", "id"],
    // Last: a run of which a part is stored may be in another group.
    ["failures", "agent/failed-runs?", "fingerprint"],
  ]) {
    const items = await until(`samples of ${page}`, async () => {
      const { data } = await read(path);
      return data.length > 0 && data;
    });
    ids[page] = items.map((item) => encodeURIComponent(item[id]));
  }
  const below = [
    ...Object.entries(ids).flatMap(([page, [id]]) => [page, `${page}/${id}`]),
    `datasets/${ids.datasets[0]}/import`,
    `diff/${ids.runs.join("/")}`,
    ...["comparisons", "eval-runs", "rules"].map((page) => `${page}/new`),
    `replays/new?run=${ids.runs[0]}`,
    `replay-batches/new?run=${ids.runs[0]}`,
    ...["dashboards", "rules", "replays", "playground", "connect", "settings"],
    ...["members", "keys", "limits", "prices", "providers", "spending"].map((page) => `settings/${page}`),
  ];
  return ["/account", ...below.map((path) => `/p/${projectId}/${path}`)];
}

/** Types into the first text field of a form, if the page has one. */
async function typeInto(page) {
  const texts =
    "input:is(:not([type]), [type=text]):not([readonly], [role=combobox], [aria-haspopup], [inputmode])";
  const field = page.locator(`main form :is(${texts}):visible`).first();
  if ((await field.count()) === 0) return null;
  const element = await field.elementHandle();
  await element.fill("typed before");
  return element;
}
