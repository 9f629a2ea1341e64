// The API hangs, then a store, then everything stops; each comes back. At last files of the UI are missing. The test stops and continues
// what it is told to.
import { inspect } from "./inspect.mjs";
import { check, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, control }) => {
  const tell = async (what) => check((await fetch(`${control}/${what}`, { method: "POST" })).ok, `the product is told: ${what}`);
  const banner = page.getByTestId("outage");
  const rows = page.getByTestId("run-row");
  const runs = `/p/${projectId}/runs`;

  // The first load while the API hangs: something at once, then an error, then the page.
  await tell("hang");
  await page.goto(runs, { waitUntil: "commit" });
  await page.getByLabel("Loading").or(page.getByText("Loading Looptrace…")).waitFor();
  await page.getByTestId("problem").getByText("The server isn't answering").waitFor();
  await inspect(page, "outage-first-load");
  await tell("continue");
  await until("the list, without a reload", async () => (await rows.count()) > 10);

  // While the page is open: the rows stay, with a word; what was typed stays, too.
  const name = page.getByLabel("Project name");
  await page.goto(`/p/${projectId}/settings`);
  await name.fill("typed before the outage");
  await tell("hang");
  await banner.getByText("The API is not answering").waitFor({ timeout: 60_000 });
  await inspect(page, "outage-banner");
  await tell("continue");
  await banner.waitFor({ state: "detached", timeout: 60_000 });
  check((await name.inputValue()) === "typed before the outage", "what was typed is still there");

  // A store hangs: the answer says which. The rows stay.
  await page.goto(runs);
  await until("the list", async () => (await rows.count()) > 10);
  await tell("hang-store");
  await page.keyboard.press("r");
  await banner.getByText("ClickHouse is not answering.").waitFor({ timeout: 60_000 });
  check((await rows.count()) > 10, "the rows stay");
  await inspect(page, "outage-store");
  await banner.getByRole("button", { name: "Try again" }).click(); // between two tries of its own
  await tell("continue-store");
  await banner.waitFor({ state: "detached", timeout: 60_000 });

  // Everything stops, and starts again.
  await tell("down");
  await banner.getByText("The server can't be reached.").waitFor({ timeout: 60_000 });
  check((await rows.count()) > 10, "the rows stay");
  await tell("up");
  await banner.waitFor({ state: "detached", timeout: 60_000 });

  // A file of a page is gone: it reloads once, and then says so.
  await page.route(/\/assets\/FailuresPage-.*\.js$/, (route) => route.fulfill({ status: 404, body: "" }));
  await page.getByRole("link", { name: "Failures", exact: true }).first().click();
  const lost = page.getByTestId("lost-file");
  await lost.getByText("A part of this page is missing").waitFor();
  check(new URL(page.url()).pathname.endsWith("/failures"), "the address is that of the page");
  check((await page.evaluate(() => performance.getEntriesByType("navigation")[0].type)) === "reload", "it has reloaded");
  await inspect(page, "outage-lost-file");
  await page.unroute(/\/assets\/FailuresPage-.*\.js$/);
  await lost.getByRole("button", { name: "Reload the page" }).click();
  await page.getByRole("heading", { level: 1, name: "Failures" }).waitFor();

  // A dialog can't be loaded: the page stays.
  await page.goto(runs);
  await until("the list", async () => (await rows.count()) > 10);
  await page.route(/\/assets\/Shortcuts-.*\.js$/, (route) => route.abort());
  await page.keyboard.press("?");
  const part = page.getByTestId("lost-part");
  await part.waitFor();
  check((await rows.count()) > 10, "the list stays");
  await page.unroute(/\/assets\/Shortcuts-.*\.js$/);
  await part.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
});
