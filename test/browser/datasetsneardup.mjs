// A user checks a dataset for near-duplicates, looks at the pairs, removes an item of one, and checks again.
import { inspect } from "./inspect.mjs";
import { check, same, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, neardup, large }) => {
  const tab = `/p/${projectId}/datasets/${neardup}?tab=near-duplicates`;
  const pairs = page.getByTestId("pair");
  const dialog = page.getByRole("dialog");

  // Not checked yet.
  await page.goto(`/p/${projectId}/datasets/${neardup}`);
  await page.getByRole("tab", { name: "Near-duplicates" }).click();
  await page.getByText("Not checked for near-duplicates yet.").waitFor();
  await inspect(page, "neardup-empty");

  // A check that waits and runs, with progress, and one that is cancelled and fails. The worker is too fast to be seen.
  let changed = (check) => check;
  const list = new RegExp(`/v1/datasets/${neardup}/near-duplicates\\?`);
  await page.route(list, async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    await route.fulfill({ response, json: body.check ? changed(body) : body });
  });
  const unfinished = { items_checked: null, pairs: null, pairs_across_splits: null, left_out: null, finished_at: null };
  const state = (members) => (body) => ({ ...body, check: { ...body.check, ...unfinished, ...members }, data: [], has_more: false });
  changed = state({ status: "running", phase: "reading", processed: 4 });
  await page.getByRole("button", { name: "Check revision 1" }).click();
  await page.getByTestId("check-progress").getByText("4 of 12 items read").waitFor();
  await inspect(page, "neardup-running");
  changed = state({ status: "failed", finished_at: new Date().toISOString(), error: { code: "internal", detail: "The check was tried several times and could not go on." } });
  await page.getByTestId("check-failed").waitFor();
  await inspect(page, "neardup-failed");
  changed = state({ status: "cancelled", finished_at: new Date().toISOString() });
  await page.goto(tab);
  await page.getByText("The check was cancelled.").waitFor();
  await inspect(page, "neardup-cancelled");
  changed = (body) => body;

  // The pairs: leaks first, with what differs.
  await page.goto(tab);
  await page.getByTestId("check-result").getByText("4 pairs").waitFor();
  await same("leaks first", ["true", "true", "false", "false"], () => pairs.evaluateAll((all) => all.map((one) => one.dataset.across)));
  await pairs.first().getByText("100% similar").waitFor();
  await same("the words that differ", ["today"], async () =>
    (await pairs.nth(3).locator("del, ins").allTextContents()).map((text) => text.trim()),
  );
  await page.getByTestId("check-limits").getByText("1 item without any text was skipped.").waitFor();
  await inspect(page, "neardup-pairs");
  await page.getByText("Unified").click();
  await inspect(page, "neardup-unified");
  await page.getByText("Across splits (2)").click();
  await until("only leaks", async () => (await pairs.count()) === 2);
  check(new URL(page.url()).searchParams.get("across_splits") === "true", "the filter is in the address");
  await page.reload();
  await until("only leaks", async () => (await pairs.count()) === 2);

  // An item opens as it was compared, and Back returns to the pairs.
  await pairs.first().getByRole("link").first().click();
  await dialog.getByTestId("item-input").getByText("solar system").waitFor();
  await page.goBack();
  await until("the pairs are back", async () => (await pairs.count()) === 2);

  // An item goes, which makes a revision: the pairs are old then.
  await pairs.first().getByRole("button", { name: "Remove copy…" }).click();
  await dialog.getByText("Earlier revisions keep it.").waitFor();
  await inspect(page, "neardup-remove");
  await dialog.getByRole("button", { name: "Remove item" }).click();
  await page.getByTestId("stale-check").getByText("these pairs are of revision 1, the newest is revision 2").waitFor();
  await pairs.first().getByText("Removed").waitFor();
  await inspect(page, "neardup-stale");
  await page.getByRole("button", { name: "Check revision 2" }).click();
  await page.getByTestId("check-result").getByText("2 pairs").waitFor();
  await page.getByText("No near-duplicates across splits.").waitFor();
  await inspect(page, "neardup-no-leaks");

  // A dataset with thousands of equal inputs.
  await page.goto(`/p/${projectId}/datasets/${large}?tab=near-duplicates`);
  await page.getByRole("button", { name: /^Check revision/ }).click();
  await page.getByTestId("check-result").waitFor();
  await until("a page of pairs", async () => (await pairs.count()) === 50);
  await page.getByTestId("check-limits").getByText("are counted but not listed").waitFor();
  await inspect(page, "neardup-large");
});
