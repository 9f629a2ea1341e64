// A user chooses columns of scores and metadata, changes widths, selects all runs, and opens an old view.
import { inspect } from "./inspect.mjs";
import { check, same, scenario, sessionHeaders, until } from "./scenario.mjs";

await scenario(async (page, { projectId, needle, runs }) => {
  const rows = page.getByTestId("run-row");
  const param = (name) => new URL(page.url()).searchParams.getAll(name);
  const post = async (path, body) => {
    const status = await page.evaluate(
      async ([path, headers, body]) => (await fetch(path, { method: "POST", headers, body })).status,
      [path, { ...(await sessionHeaders(page)), "Content-Type": "application/json" }, JSON.stringify(body)],
    );
    check(status === 201, `POST ${path} answers 201, not ${status}`);
  };
  await page.goto(`/p/${projectId}/runs`);
  await until("runs in the list", async () => (await rows.count()) > 10);

  // Scores and metadata of the project are columns to choose.
  await post(`/v1/runs/${needle}/scores`, { name: "relevance", value: 0.25 });
  await post(`/v1/runs/${needle}/scores`, { name: "relevance", value: 0.75 });
  await page.getByRole("button", { name: "Columns" }).click();
  await until("the search has the focus", () =>
    page.evaluate(() => document.activeElement?.getAttribute("aria-label") === "Search columns"),
  );
  await page.keyboard.type("rel");
  await page.getByRole("option", { name: "relevance" }).click();
  await page.getByLabel("Search columns").fill("tick");
  await page.keyboard.press("Enter");
  await page.getByLabel("Search columns").fill("");
  await page.getByRole("option", { name: /^relevance.*shown/ }).waitFor();
  await inspect(page, "runs-columns");
  await page.keyboard.press("Escape");
  const cell = (run, column) =>
    rows.filter({ has: page.locator(`[data-run="${run}"]`) }).locator(`[data-column="${column}"]`);
  await same("the mean of two scores", "0.5 ×2", () => cell(needle, "score:relevance").textContent());
  const title = await cell(needle, "score:relevance").getAttribute("title");
  check(/^Mean of 2 scores; newest: 0.75\nBy .+@/.test(title), `the tooltip says how many and by whom: ${title}`);
  await same("the metadata", "4711", () => cell(needle, "metadata:ticket").textContent());
  const other = await rows.locator(`[data-run]:not([data-run="${needle}"])`).first().getAttribute("data-run");
  await same("no score", "—", () => cell(other, "score:relevance").textContent());
  await page.reload();
  await same("the columns after a reload", "0.5 ×2", () => cell(needle, "score:relevance").textContent());

  // Widths: arrow keys, dragging, a double click that fits and one that resets.
  const edge = page.getByRole("separator", { name: "Width of relevance" });
  const width = async () => Math.round((await page.locator('[data-head="score:relevance"]').boundingBox()).width);
  const initial = await width();
  await edge.focus();
  await same("the width of the separator", String(initial), () => edge.getAttribute("aria-valuenow"));
  await page.keyboard.press("ArrowRight");
  await same("a wider column", initial + 8, width);
  await same("the new width of the separator", String(initial + 8), () => edge.getAttribute("aria-valuenow"));
  const box = await edge.boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 30, y);
  await page.mouse.move(x + 60, y);
  await same("a column that is being dragged", initial + 68, width);
  await page.mouse.up();
  await page.reload();
  await until("runs in the list", async () => (await rows.count()) > 10);
  await same("the width after a reload", initial + 68, width);
  await edge.dblclick();
  await until("a width that fits", async () => (await width()) < initial + 68);
  await edge.dblclick();
  await same("its own width", initial, width);
  await inspect(page, "runs-own-columns");
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("button", { name: "Reset columns" }).click();
  await page.keyboard.press("Escape");
  await page.getByLabel("Search columns").waitFor({ state: "detached" });
  await edge.waitFor({ state: "detached" });

  // All loaded runs, then all that match.
  const all = page.getByRole("checkbox", { name: "Select all loaded runs" });
  const selection = page.getByTestId("selection");
  await until("the list is loaded", () => all.isEnabled());
  await all.focus();
  await page.keyboard.press(" ");
  await selection.getByText("50 loaded runs selected").waitFor();
  await inspect(page, "runs-selected");
  await selection.getByRole("button", { name: `Select all ${runs} that match` }).click();
  await selection.getByText(`All ${runs} matching runs selected`).waitFor();
  const dialog = page.getByRole("dialog");
  await selection.getByRole("button", { name: "Delete…" }).click();
  await dialog.getByRole("button", { name: `Delete ${runs} runs` }).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  await rows.nth(1).getByRole("checkbox").click();
  await selection.getByText("49 selected").waitFor();
  await same("some runs are selected", true, () => all.evaluate((input) => input.indeterminate));
  await all.click();
  await selection.getByText("50 loaded runs selected").waitFor();
  await all.click();
  await selection.waitFor({ state: "detached" });
  await rows.nth(1).getByRole("checkbox").click();
  await rows.nth(4).getByRole("checkbox").click({ modifiers: ["Shift"] });
  await selection.getByText("4 selected").waitFor();

  // A view from before lists had a default range shows all time, as it did; a new one saves its range.
  await post(`/v1/projects/${projectId}/views`, { page: "runs", name: "Old failures", query: "status=error" });
  await page.goto(`/p/${projectId}/runs?range=24h`);
  const views = page.getByRole("button", { name: /^Views/ });
  await views.click();
  await page.getByRole("menuitem", { name: "Old failures" }).click();
  await same("the old view's range", ["all"], async () => param("range"));
  await page.getByRole("button", { name: "Views: Old failures" }).waitFor();
  await page.goto(`/p/${projectId}/runs?status=error`);
  await views.click();
  await page.getByRole("menuitem", { name: "Save view…" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("New failures");
  await page.getByRole("button", { name: "Save view" }).click();
  await page.getByRole("button", { name: "Views: New failures" }).waitFor();
  await page.goto(`/p/${projectId}/runs?range=7d`);
  await views.click();
  await page.getByRole("menuitem", { name: "New failures" }).click();
  await same("the new view's range", ["24h"], async () => param("range"));

  // An empty list offers what is true.
  await page.goto(`/p/${projectId}/runs?range=1h&name=nothing+has+this+name`);
  await page.getByRole("button", { name: "Search all time" }).click();
  await page.getByText("No runs match these filters.").waitFor();
});
