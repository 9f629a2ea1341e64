// A user looks for a run: filters, their address, search, the keyboard.
import { readFileSync } from "node:fs";
import { inspect } from "./inspect.mjs";
import { check, same, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, needle, needleName, needleWords }) => {
  const rows = page.getByTestId("run-row");
  const names = () => rows.locator("[data-run]").allTextContents();
  const statuses = () => rows.evaluateAll((all) => [...new Set(all.map((row) => row.dataset.status))]);
  const outcomes = () => rows.evaluateAll((all) => [...new Set(all.map((row) => row.dataset.outcome))]);
  const focused = () => page.evaluate(() => document.activeElement?.dataset.run ?? null);
  const param = (name) => new URL(page.url()).searchParams.getAll(name);
  const choose = async (menu, option) => {
    await page.getByRole("button", { name: menu, exact: true }).click();
    await page.getByRole("menuitemcheckbox", { name: option, exact: true }).click();
    await page.keyboard.press("Escape");
  };

  // "/" opens the last project.
  await page.goto(`/p/${projectId}/runs`);
  await until("runs in the list", async () => (await rows.count()) > 10);
  await page.goto("/");
  await page.waitForURL(`**/p/${projectId}/runs`);
  await until("runs in the list", async () => (await rows.count()) > 10);

  await choose("Status", "error");
  await same("the status in the address", ["error"], async () => param("status"));
  await same("only failed runs", ["error"], statuses);
  await page.reload();
  await same("only failed runs after a reload", ["error"], statuses);
  await page.getByRole("button", { name: "Remove filter status: error" }).click();
  await until("other runs too", async () => (await statuses()).length > 1);

  // Pages of the project share filters and time range.
  await choose("Status", "error");
  await page.getByRole("button", { name: /^Time range/ }).click();
  await page.getByRole("button", { name: "7d", exact: true }).click();
  await page.getByRole("link", { name: "Dashboards", exact: true }).click();
  await page.waitForURL("**/dashboards?*");
  await same("the status on the next page", ["error"], async () => param("status"));
  await same("the time range on the next page", ["7d"], async () => param("range"));
  await page.goto(`/p/${projectId}/runs`);
  await same("the time range of a new visit", ["7d"], async () => param("range"));
  await page.goto(`/p/${projectId}/runs?range=24h`);
  await until("other runs too", async () => (await statuses()).length > 1);

  await choose("Kind", "llm");
  await same("the kind in the address", ["llm"], async () => param("kind"));
  await until("only runs of the kind", async () => !(await names()).includes(needleName));
  await page.goBack();
  await same("no kind in the address", [], async () => param("kind"));

  await page.keyboard.press("/");
  check(
    await page.evaluate(() => document.activeElement?.getAttribute("type") === "search"),
    "/ focuses the search",
  );
  await page.keyboard.type(needleName);
  await same("the run of that name", [needleName], names);
  await same("the search in the address", [needleName], async () => param("search"));
  await page.reload();
  await same("the run of that name after a reload", [needleName], names);
  const search = page.getByLabel("Search runs");
  // Until the answer is there, the list shows the run that the last search found.
  const found = page.waitForResponse((response) => new URL(response.url()).searchParams.get("search") === needleWords);
  await search.fill(needleWords);
  await found;
  await same("the words in the address", [needleWords], async () => param("search"));
  await same("the run by words of its input", [needleName], names);
  await rows.first().locator("[data-run]").click();
  await page.waitForURL(`**/runs/${needle}?find=*`);
  await page.getByTestId("span-detail").locator("mark").first().waitFor();
  await page.getByTestId("span-tree").focus();
  await page.keyboard.press("Escape");
  await page.waitForURL((url) => url.pathname.endsWith("/runs") && url.searchParams.has("search"));
  await search.fill('"search the atlas"');
  await same("the run by the name of its span", [needleName], names);
  await rows.first().getByText("found in a later step").waitFor();
  await search.fill("");
  await search.pressSequentially(needleName, { delay: 260 });
  check((await search.inputValue()) === needleName, "typing goes on while the search runs");
  await search.fill("no run has these words xyzzy");
  await until("the last words in the address", async () => param("search")[0] === "no run has these words xyzzy"); // a beginning may match no run, too
  await page.getByText("No runs in the last 24 h match these filters.").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await until("all runs again", async () => (await rows.count()) > 10);

  const first = await rows.first().locator("[data-run]").getAttribute("data-run");
  const second = await rows.nth(1).locator("[data-run]").getAttribute("data-run");
  await page.keyboard.press("j");
  await same("j focuses the first run", first, focused);
  await page.keyboard.press("j");
  await same("j focuses the next run", second, focused);
  await page.keyboard.press("k");
  await same("k goes back", first, focused);

  // Space opens the preview, x selects. Both stay on the list.
  await page.keyboard.press(" ");
  const preview = page.getByTestId("preview");
  await preview.getByRole("link", { name: "Open" }).waitFor();
  await page.keyboard.press("j");
  await same("the preview follows", `/p/${projectId}/runs/${second}`, () =>
    preview.getByRole("link", { name: "Open" }).getAttribute("href"),
  );
  await page.keyboard.press(" ");
  await preview.waitFor({ state: "detached" });
  await page.keyboard.press("x");
  await page.keyboard.press("k");
  await page.keyboard.press("x");
  const selection = page.getByTestId("selection");
  await selection.getByText("2 selected").waitFor();
  await rows.nth(1).locator("[data-run]").click();
  await page.getByTestId("span-tree").waitFor();
  await page.goBack();
  await selection.getByText("2 selected").waitFor();
  const compared = await selection.getByRole("link", { name: "Compare" }).getAttribute("href");
  check(compared.includes(first) && compared.includes(second), `the two are compared: ${compared}`);
  const dialog = page.getByRole("dialog");
  await selection.getByRole("button", { name: "Delete…" }).click();
  await dialog.getByRole("button", { name: "Delete 2 runs" }).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  await until("the button has the focus again", () =>
    page.evaluate(() => document.activeElement?.textContent === "Delete…"),
  );
  await page.keyboard.press("Escape");
  await selection.waitFor({ state: "detached" });

  // A view saves the filters for everyone.
  const views = page.getByRole("button", { name: /^Views/ });
  const action = (name) => page.getByRole("menuitem", { name, exact: true });
  await choose("Status", "error");
  await views.click();
  await action("Save view…").click();
  await page.getByRole("dialog").getByLabel("Name").fill("Only failures");
  await page.getByRole("button", { name: "Save view" }).click();
  await page.getByRole("button", { name: "Views: Only failures" }).waitFor();
  await page.goto(`/p/${projectId}/runs`);
  await views.click();
  await action("Only failures").click();
  await same("the view's filter in the address", ["error"], async () => param("status"));
  await views.click();
  await action("Delete…").click();
  await page.getByRole("button", { name: "Delete view" }).click();
  await page.getByRole("button", { name: "Views", exact: true }).waitFor();

  // A chosen column stays.
  await page.goto(`/p/${projectId}/runs`);
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("option", { name: "Environment" }).click();
  await page.keyboard.press("Escape");
  await page.reload();
  await page.getByRole("columnheader", { name: "Environment" }).waitFor();
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("button", { name: "Reset columns" }).click();
  await page.keyboard.press("Escape");
  await page.reload();
  await until("runs in the list", async () => (await rows.count()) > 10);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/runs/${first}*`);
  await page.getByTestId("span-tree").waitFor();
  await page.keyboard.press("Escape");
  await page.waitForURL((url) => url.pathname === `/p/${projectId}/runs`);
  await same("Escape returns to the same row", first, focused);
  await page.keyboard.press("e");
  await same("e shows only failed runs", ["failed"], outcomes);
  await page.keyboard.press("e");
  await until("e shows all again", async () => (await statuses()).length > 1);
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor({ state: "detached" });
  const palette = page.getByRole("dialog", { name: "Go to" });
  await page.keyboard.press("Control+k");
  await palette.waitFor();
  await page.keyboard.press("Escape");
  await palette.waitFor({ state: "detached" });

  // Scrolling reaches the end of the list.
  const scroller = page.getByTestId("run-list").locator("xpath=..");
  let height = 0;
  for (let ended = false; !ended; ) {
    await until("more runs, or the end", async () => {
      ended = await page.getByRole("status").filter({ hasText: /^[\d,]+ runs$/ }).isVisible();
      const before = height;
      height = await scroller.evaluate((element) => {
        element.scrollTo(0, element.scrollHeight);
        return element.scrollHeight;
      });
      return ended || height > before;
    });
  }

  await page.goto(`/p/${projectId}/runs?session_id=e2e-session`);
  await same("the session's run", [needleName], names);
  const more = page.getByRole("button", { name: "More actions" });
  await more.click();
  const saved = page.waitForEvent("download");
  await action("NDJSON: runs").click();
  const exported = readFileSync(await (await saved).path(), "utf8").trimEnd().split("\n");
  check(exported.length === 1, `one run is exported, not ${exported.length}`);
  check(JSON.parse(exported[0]).run_id === needle, "the run of the session is exported");
  await more.click();
  await inspect(page, "runs-export");
  const savedAsOTLP = page.waitForEvent("download");
  await page.getByRole("menuitem", { name: "OTLP/JSON: spans and scores" }).click();
  const lines = readFileSync(await (await savedAsOTLP).path(), "utf8").trimEnd().split("\n");
  const [{ scopeSpans }] = JSON.parse(lines[0]).resourceSpans;
  check(scopeSpans[0].spans[0].traceId === needle.replaceAll("-", ""), "the spans of the run are exported as OTLP/JSON");
  await more.click();
  await action("Delete all matching runs…").click();
  await dialog.getByRole("button", { name: "Delete 1 run" }).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  await until("the menu's button has the focus again", () =>
    page.evaluate(() => document.activeElement?.getAttribute("aria-label") === "More actions"),
  );
  await rows.first().locator("[data-run]").click();
  await page.waitForURL(`**/runs/${needle}*`);
});
