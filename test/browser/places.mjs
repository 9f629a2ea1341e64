// The places of the walk: every route, with its tabs and views. `at` is the address, `shows` a test id of its content, `then` what to do
// there first, and `dialogs` names buttons that open a dialog and don't end with an ellipsis.
import { env, SECRET_HEADER } from "./scenario.mjs";

export const placesBeforeSetup = [{ route: "/setup", name: "setup", at: "/setup" }];

/** Places without a login. The page is one with a login: it makes the links. */
export async function placesOutside(page, { base }) {
  const api = (...request) => ask(page, base, ...request);
  const { projects } = await api("GET", "/v1/me");
  const { organization_id, workspace_id } = projects[0];
  const invite = async () => pathOf((await api("POST", "/v1/invitations", { workspace_id, role: "viewer" })).url);
  const colleague = { email: `ann-${Date.now()}@example.com`, password: "plum gravel otter kiln" };
  // By another client, since the answer logs in.
  const accepted = await fetch(`${base}/v1/invitations/_actions/accept`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Origin: base },
    body: JSON.stringify({ token: (await invite()).split("#")[1], ...colleague }),
  });
  if (!accepted.ok) throw new Error(`join: ${accepted.status} ${await accepted.text()}`);
  const members = await api("GET", `/v1/members?workspace_id=${workspace_id}`);
  const { user_id } = members.data.find(({ email }) => email === colleague.email);
  const { url } = await api("POST", `/v1/members/${user_id}/_actions/reset-password`, { organization_id });
  return [
    { route: "/login", name: "login", at: "/login" },
    { route: "/invite", name: "invite", at: await invite() },
    { route: "/invite", name: "invite-ended", at: "/invite#lt_gone" },
    { route: "/reset-password", name: "reset-password", at: pathOf(url) },
  ];
}

/** Places of a project that has everything. */
export async function placesInside(page, input) {
  const { base, projectId, agent, replay, batch, diagnosis, rule, similar } = input;
  const api = (...request) => ask(page, base, ...request);
  const of = `project_id=${projectId}`;
  const list = async (path) => (await api("GET", `${path}${path.includes("?") ? "&" : "?"}${of}`)).data;
  const [failure] = await list("/v1/agent/failed-runs");
  const [thread] = await list("/v1/threads");
  const released = (await list("/v1/agents")).find(({ release_count }) => release_count > 0);
  const datasets = await list("/v1/datasets");
  const [prompt] = await list("/v1/prompts");
  const [comparison] = await list("/v1/comparisons");
  const evalRuns = await list("/v1/eval-runs");
  const [evalRun] = evalRuns;
  const ranked = evalRuns.filter(({ dataset, summary }) => summary && dataset.id === evalRun.dataset.id).slice(0, 6);
  const [failed, other] = await list("/v1/runs?outcome=failed");
  const dataset = datasets.find(({ id }) => id !== similar);
  const [item] = (await api("GET", `/v1/datasets/${dataset.id}/items`)).data;

  const places = [];
  const add = (route, name, more = {}) => {
    const { query = "", ...rest } = more;
    const ids = { ":runId": failed.run_id, ...more.ids };
    const path = route.replaceAll(/:\w+/g, (key) => ids[key]);
    places.push({ route: `/p/:projectId/${route}`, name, at: `/p/${projectId}/${path}${query}`, ...rest });
  };
  places.push({ route: "/", name: "home", at: "/", isRedirect: true });
  places.push({ route: "/account", name: "account", at: "/account" });

  add("runs", "runs", { shows: "run-row", frame: true });
  add("runs", "runs-selected", { shows: "run-row", then: async (p) => { for (const key of ["j", "x", "j", "x", "Space"]) await p.keyboard.press(key); } });
  const opened = (name, then, more = { part: "[role=dialog]" }) =>
    add("runs", name, { shows: "run-row", then, ...more });
  opened("palette", async (p) => {
    await p.keyboard.press("Control+k");
    // Its field names its list with the first answer.
    await p.getByRole("dialog", { name: "Go to" }).locator("[role=combobox][aria-controls]").waitFor();
  });
  opened("shortcuts", async (p) => {
    await p.keyboard.press("?");
    await p.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  });
  opened("navigation", async (p) => {
    await p.setViewportSize({ width: 390, height: 844 });
    await p.getByRole("button", { name: "Navigation" }).click();
    await p.getByRole("dialog", { name: "Looptrace" }).waitFor();
  });
  for (const [name, field] of [["text", "Model"], ["number", "Duration ≥"]]) {
    const then = async (p) => {
      await p.getByRole("button", { name: "Filter", exact: true }).click();
      await p.getByRole("option", { name: field, exact: true }).click();
      if (name === "text") return p.getByLabel("Model is").first().waitFor();
      // A bound can't be negative, and says so.
      await p.getByLabel("Duration ≥ (ms)").fill("-5");
      await p.getByText("must not be negative").waitFor();
    };
    opened(`runs-filter-${name}`, then, { isCovered: true });
  }
  add("runs", "runs-absolute", {
    shows: "run-row",
    isCovered: true,
    then: async (p) => {
      await p.keyboard.press("t");
      await p.getByTestId("run-row").getByText(/:\d\d:\d\d/).first().waitFor();
    },
  });
  add("runs", "runs-filtered", { query: "?outcome=failed", shows: "run-row" });
  for (const view of ["tree", "transcript", "graph", "agent"]) add("runs/:runId", `run-${view}`, { query: view === "tree" ? "" : `?view=${view}`, dialogs: view === "tree" ? ["Scores"] : [] });
  for (const tab of ["messages", "tool", "io", "attributes", "events", "scores", "raw"]) add("runs/:runId", `run-tab-${tab}`, { query: `?tab=${tab}` });
  add("runs/:runId", "run-agent", { ids: { ":runId": agent } });
  add("failures", "failures", { query: "?range=90d", shows: "failure-group" });
  add("failures/:fingerprint", "failure", { ids: { ":fingerprint": failure.fingerprint }, query: "?range=90d", shows: "failed-run" });
  add("agents/:agent", "agent-releases", { ids: { ":agent": encodeURIComponent(released.agent) }, shows: "agent-release" });
  add("threads", "threads", { query: "?range=90d", shows: "thread-row" });
  add("threads/:sessionId", "thread", { ids: { ":sessionId": encodeURIComponent(thread.session_id) }, shows: "turn" });
  add("dashboards", "dashboards", { query: "?group_by=model" });
  add("prompts", "prompts", { dialogs: ["New prompt", "Import"] });
  add("prompts/by-name", "prompt-by-name", { query: "?name=nothing%2Fhere", dialogs: ["Create prompt"] });
  for (const tab of ["", "versions", "aliases", "usage", "code"]) add("prompts/:promptId", `prompt-${tab || "content"}`, { ids: { ":promptId": prompt.id }, query: tab && `?tab=${tab}` });
  add("datasets", "datasets", { dialogs: ["New dataset"] });
  for (const tab of ["", "revisions", "schema", "imports", "near-duplicates"]) add("datasets/:datasetId", `dataset-${tab || "items"}`, { ids: { ":datasetId": tab === "" ? dataset.id : similar }, query: tab && `?tab=${tab}` });
  add("datasets/:datasetId", "dataset-item", { ids: { ":datasetId": dataset.id }, query: `?item=${item.id}`, isCovered: true });
  add("datasets/:datasetId", "dataset-item-new", { ids: { ":datasetId": dataset.id }, query: "?item=new", isCovered: true });
  add("datasets/:datasetId/import", "import", { ids: { ":datasetId": dataset.id } });
  add("datasets/:datasetId/import", "import-preview", {
    ids: { ":datasetId": dataset.id },
    then: async (p) => {
      await p.getByLabel("File to import").setInputFiles({ name: "faq.csv", mimeType: "text/csv", buffer: Buffer.from("question,answer\nWhat is RAG?,An architecture\n") });
      await p.getByTestId("preview-row").first().waitFor();
    },
  });
  add("datasets/:datasetId/imports/:importId", "import-job", { ids: { ":datasetId": similar, ":importId": input.import } });
  add("comparisons", "comparisons");
  add("comparisons/new", "comparison-new");
  for (const tab of ["", "items", "configuration"]) add("comparisons/:comparisonId", `comparison-${tab || "result"}`, { ids: { ":comparisonId": comparison.id }, query: tab && `?tab=${tab}` });
  add("eval-runs", "eval-runs");
  add("eval-runs/new", "eval-run-new");
  add("eval-runs/compare", "eval-runs-compared", { query: `?${ranked.map(({ id }) => `run=${id}`).join("&")}` });
  add("eval-runs/compare", "eval-runs-compared-none");
  for (const tab of ["", "items", "configuration"]) add("eval-runs/:evalRunId", `eval-run-${tab || "result"}`, { ids: { ":evalRunId": evalRun.id }, query: tab && `?tab=${tab}` });
  add("rules", "rules");
  add("rules/new", "rule-new");
  for (const tab of ["", "runs", "configuration"]) add("rules/:ruleId", `rule-${tab || "overview"}`, { ids: { ":ruleId": rule }, query: tab && `?tab=${tab}` });
  add("rules/:ruleId/edit", "rule-edit", { ids: { ":ruleId": rule } });
  add("work", "work");
  add("replays", "replays");
  add("replays/new", "replay-new", { query: `?run=${agent}` });
  for (const tab of ["", "attempts", "difference", "edits"]) add("replays/:replayId", `replay-${tab || "result"}`, { ids: { ":replayId": replay }, query: tab && `?tab=${tab}` });
  add("replays", "replay-batches", { query: "?list=batches", shows: "batch-row" });
  add("replay-batches/new", "replay-batch-new", { query: `?runs=agent_name%3Dsupport&typical=${agent}`, shows: "batch-form" });
  add("diagnoses/:diagnosisId", "diagnosis", { ids: { ":diagnosisId": diagnosis }, shows: "diagnosis" });
  add("replay-batches/:batchId", "replay-batch", { ids: { ":batchId": batch }, shows: "batch-run" });
  add("diff/:runId/:otherRunId", "diff", { ids: { ":otherRunId": other.run_id, ":runId": failed.run_id }, shows: "diff-step" });
  add("connect", "connect");
  add("start", "start", { isRedirect: true });
  add("settings", "settings");
  add("settings/members", "members", { dialogs: ["Invite"] });
  add("settings/members", "members-workspace", { query: "?of=workspace", dialogs: ["Add member"] });
  add("settings/members", "invitations", { query: "?show=invitations" });
  add("settings/keys", "keys", { shows: "key-row", dialogs: ["New key"] });
  add("keys", "old-keys", { isRedirect: true });
  add("settings/limits", "limits");
  add("settings/prices", "prices", { dialogs: ["New price"] });
  add("settings/providers", "providers", { shows: "provider-row", dialogs: ["New connection"] });
  add("settings/spending", "spending");
  add("playground", "playground");
  // The other parts of the reference look the same, and axe would take minutes.
  places.push({
    name: "api-reference",
    at: "/v1/docs",
    isCovered: true,
    then: (p) =>
      p.evaluate(() => {
        for (const part of document.querySelectorAll("main section:nth-of-type(n+3), nav ul:nth-of-type(n+3)")) part.remove();
      }),
  });
  return places;
}

/** The address of a link of this installation. */
const pathOf = (link) => link.slice(new URL(link).origin.length);

/** Asks the API as the user of a page. */
async function ask(page, base, method, path, body) {
  const answer = await page.request.fetch(path, { method, data: body, headers: { [SECRET_HEADER]: env.secret, Origin: base } });
  if (!answer.ok()) throw new Error(`${method} ${path}: ${answer.status()} ${await answer.text()}`);
  return answer.json();
}
