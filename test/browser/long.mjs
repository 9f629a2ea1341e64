// A user reads a run of many thousand spans: it opens at its first failure, scrolls to the end and finds a span.
import { check, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, runId, spans }) => {
  const rows = page.getByTestId("span-row");
  const tree = page.getByTestId("span-tree");
  await page.goto(`/p/${projectId}/runs/${runId}`);
  await page.getByText(`${spans.toLocaleString("en-US")} spans`, { exact: true }).waitFor();
  await until("it opens at the first failure", async () =>
    (await tree.locator("[aria-selected=true]").getAttribute("data-status")) === "error",
  );
  check((await rows.count()) < 100, "only rows in view are rendered");
  await tree.focus();
  await page.keyboard.press("End");
  await until("the last span", async () => (await tree.locator("[aria-selected=true]").count()) === 1);
  const bottom = await tree.evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight);
  check(bottom < 2, `the end of the list: ${bottom}`);
  await page.keyboard.press("Home");
  for (let press = 0; press < 8; press++) await page.keyboard.press("ArrowDown");
  const row = await tree
    .locator("[aria-selected=true]")
    .evaluate((element) => (element.getBoundingClientRect().top - element.parentElement.getBoundingClientRect().top) / element.offsetHeight);
  check(Math.round(row) === 8, `eight quick keys down: row ${row}`);
  // Jumps and small steps, which reuse elements: screen readers get the rows in visible order.
  const devtools = await page.context().newCDPSession(page);
  for (const share of [0, 0.001, 0.002, 0.5, 0.502, 0.3, 1]) {
    await tree.evaluate((element, at) => {
      element.scrollTop = at * (element.scrollHeight - element.clientHeight);
    }, share);
    await until(`in order at ${share}`, async () => {
      const seen = await rows.evaluateAll((all) =>
        all.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).map((row) => row.id),
      );
      return seen.length > 10 && (await accessibleOrder(devtools)).join() === seen.join();
    });
  }
  await page.keyboard.press("Home");
  const position = await tree
    .locator("[aria-selected=true]")
    .evaluate((row) => ["aria-level", "aria-posinset", "aria-setsize"].map((name) => row.getAttribute(name)).join());
  check(position === "1,1,1", `the root is the first of one: ${position}`);
  await page.keyboard.press("ArrowLeft");
  await until("closed, one row", async () => (await rows.count()) === 1);
  await page.keyboard.press("ArrowRight");
  const shown = async () =>
    tree.evaluate((element) => ({ from: Number(element.dataset.from), to: Number(element.dataset.to) }));
  const whole = await shown();
  const near = (a, b) => Math.abs(a - b) < whole.to / 50;
  const strip = await page.getByTestId("minimap").boundingBox();
  const dragOverview = async (from, to) => {
    await page.mouse.move(strip.x + from * strip.width, strip.y + strip.height / 2);
    await page.mouse.down();
    await page.mouse.move(strip.x + to * strip.width, strip.y + strip.height / 2, { steps: 4 });
    await page.mouse.up();
  };
  const shows = (what, from, to) =>
    until(what, async () => {
      const now = await shown();
      return near(now.from, from * whole.to) && near(now.to, to * whole.to);
    });
  await dragOverview(0.25, 0.5);
  await shows("a part picked in the overview", 0.25, 0.5);
  await dragOverview(0.4, 0.6);
  await shows("the part moved in the overview", 0.45, 0.7);
  await dragOverview(0.7, 0.85);
  await shows("the part made longer in the overview", 0.45, 0.85);
  await page.getByRole("slider", { name: "Visible part of the run" }).focus();
  await page.keyboard.press("Home");
  await shows("the part moved by keyboard", 0, 0.4);
  await page.getByRole("slider", { name: "End of the visible part" }).focus();
  await page.keyboard.press("End");
  await shows("the whole run by keyboard", 0, 1);
  check((await page.locator("[data-testid=minimap] path").nth(1).getAttribute("d")) !== "", "errors are in the overview");
  await page.getByLabel("Which spans").selectOption("errors");
  await until("errors and their ancestors", async () =>
    /^\d+ of /.test(await page.getByTestId("span-count").textContent()),
  );
  await page.goto(`/p/${projectId}/runs/${runId}?view=graph`);
  await page.getByRole("table", { name: "What the run used" }).getByRole("button", { name: "planner" }).waitFor();
  const used = page.getByRole("table", { name: "What the run used" });
  const nodes = await used.getByRole("row").count();
  await used.getByRole("button", { name: /calls$/ }).first().click();
  await until("the calls of a node", async () => (await used.getByRole("row").count()) > nodes + 1);
  await page.goto(`/p/${projectId}/runs/${runId}?view=transcript`);
  await until("the beginning of the transcript", async () => (await page.getByTestId("turn").count()) > 3);
});

/** The ids of the tree's items in the order of Chromium's accessibility tree. */
async function accessibleOrder(devtools) {
  const { nodes } = await devtools.send("Accessibility.getFullAXTree");
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const items = (node) =>
    node.role?.value === "treeitem" ? [node] : node.childIds.flatMap((id) => items(byId.get(id) ?? { childIds: [] }));
  const tree = nodes.find((node) => node.role?.value === "tree");
  return Promise.all(
    items({ childIds: tree.childIds }).map(async (item) => {
      const { node } = await devtools.send("DOM.describeNode", { backendNodeId: item.backendDOMNodeId });
      return node.attributes[node.attributes.indexOf("id") + 1];
    }),
  );
}
