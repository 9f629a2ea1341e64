// A user opens all views of a run, scores it and compares it.
import { check, same, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, runId, otherRunId, trip }) => {
  const [chat, booking] = trip.steps;
  const view = (name) => page.getByRole("radiogroup", { name: "View of the run" }).getByText(name, { exact: true }).click();
  const rows = page.getByTestId("span-row");
  const hasFocus = (what, test) => until(`${what} has the focus`, () => page.evaluate(test));
  const treeHasFocus = () => hasFocus("the tree", () => document.activeElement?.getAttribute("role") === "tree");

  await page.goto(`/p/${projectId}/runs/${runId}`);
  await until("three spans", async () => (await rows.count()) === 3);

  await page.getByLabel("Find spans").fill("book_hotel");
  await same("the match and its ancestors", 2, () => rows.count());
  await page.getByText("1 of 3 spans").waitFor();
  await page.keyboard.press("Escape");
  await same("all spans again", 3, () => rows.count());
  await page.getByLabel("Which spans").selectOption("errors");
  await page.getByText("2 of 3 spans").waitFor();
  await page.getByRole("button", { name: "Show all" }).click();

  const tree = page.getByTestId("span-tree");
  const shown = async () => Number(await tree.getAttribute("data-to")) - Number(await tree.getAttribute("data-from"));
  const whole = await shown();
  await tree.focus();
  await page.keyboard.press("+");
  await until("half of the time is shown", async () => Math.abs((await shown()) * 2 - whole) < whole / 100);
  await page.keyboard.press("Shift+ArrowRight");
  await until("later", async () => Number(await tree.getAttribute("data-from")) > whole / 4);
  await page.keyboard.press("0");
  await until("all of it again", async () => (await shown()) === whole);
  const lane = await rows.first().locator("[title*='after the start']").boundingBox();
  await page.mouse.move(lane.x + lane.width / 2, lane.y + lane.height / 2);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -200);
  await page.keyboard.up("Control");
  await until("the wheel zooms", async () => (await shown()) < whole);
  await page.keyboard.press("0");
  check((await rows.filter({ hasText: "on the critical path" }).count()) > 0, "the critical path is named for screen readers");
  const legend = page.getByRole("complementary", { name: "Critical path" });
  check(/Critical path.* in \d spans/.test(await legend.textContent()), "a legend says what is marked and how long it is");
  await tree.focus();
  await page.keyboard.press("c");
  await until("no legend without the path", async () => (await legend.count()) === 0);
  await page.keyboard.press("c");
  await legend.waitFor();

  await tree.focus();
  await page.keyboard.press("Enter");
  await until("the detail has the focus", () =>
    page.evaluate(() => document.activeElement?.getAttribute("aria-label") === "Selected span"),
  );
  await page.keyboard.press("Escape");
  await treeHasFocus();

  await view("Transcript");
  const turns = page.getByTestId("turn");
  const [question] = chat.attributes["gen_ai.input.messages"];
  const said = ["agent", "system", "user", "assistant", "tool"];
  await same("who speaks", said, () => turns.evaluateAll((all) => all.map((turn) => turn.dataset.role)));
  await turns.nth(2).getByText(question.parts[0].content, { exact: true }).waitFor();
  await turns.nth(4).getByText(booking.error.message).waitFor();
  const used = page.getByTestId("turn-usage");
  await same("what the model call used", ["1,291 tok · $0.00016"], () => used.allTextContents());
  check((await turns.nth(3).textContent()).includes("calls book_hotel"), "the answer names the tool that it calls");
  const zurich = (await turns.allTextContents()).filter((text) => text.includes("city: \"Zürich\""));
  check(zurich.length === 1, `the arguments are shown once: ${zurich}`);
  check(new URL(page.url()).searchParams.get("view") === "transcript", "the address contains the view");
  await hasFocus("the transcript", () => document.activeElement?.dataset.testid === "transcript");
  await page.keyboard.press("1");
  await treeHasFocus();
  await view("Tree");
  await treeHasFocus();

  await view("Graph");
  const table = page.getByRole("table", { name: "What the run used" });
  await same("what the run used", ["book_hotel", "gpt-4o-mini-2024-07-18", "travel"], async () =>
    (await table.getByRole("button").allTextContents()).sort(),
  );
  await table.getByRole("button", { name: "book_hotel" }).click();
  await until("the tool in the tree", async () =>
    (await tree.locator("[aria-selected=true]").textContent()).includes(booking.name),
  );

  await view("Agent view");
  const text = page.getByTestId("agent-view").locator("pre");
  await until("the view", async () => (await text.textContent()).includes(booking.error.message));
  await page.getByLabel("Token budget").selectOption("1000");
  await until("within the budget", async () => /Tokens: \d+ of 1000/.test(await text.textContent()));

  await page.getByRole("button", { name: /^Scores/ }).click();
  const scores = page.getByRole("dialog", { name: "Scores of this run" });
  await scores.getByLabel("Name").fill("helpfulness");
  await scores.getByLabel("Value").fill("0.25");
  await scores.getByLabel("Comment").fill("It gave up at the first hotel.");
  await scores.getByRole("button", { name: "Add score" }).click();
  const score = scores.getByTestId("score");
  await score.getByText("0.25").waitFor();
  await score.getByText("It gave up at the first hotel.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Scores 1" }).waitFor();

  const compare = page.getByRole("button", { name: "Compare with…" });
  await compare.click();
  await page.getByLabel("Id or URL of the other run").waitFor();
  await page.keyboard.press("Escape");
  await hasFocus("the button", () => document.activeElement?.textContent === "Compare with…");
  await compare.click();
  await page.getByLabel("Id or URL of the other run").fill(runId);
  await page.getByText("This is the same run").waitFor();
  await page.getByLabel("Id or URL of the other run").fill(`http://127.0.0.1/p/x/runs/${otherRunId}`);
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.waitForURL(`**/diff/${runId}/${otherRunId}`);
  await page.getByTestId("diff-counts").waitFor();
  check((await page.getByTestId("diff-step").count()) + (await page.getByRole("button", { name: /same$/ }).count()) > 0, "steps");
  await page.getByRole("button", { name: "Swap sides" }).click();
  await page.waitForURL(`**/diff/${otherRunId}/${runId}`);

  // From any view, Escape returns to the list as it was.
  await page.goto(`/p/${projectId}/runs?${new URLSearchParams({ name: trip.name })}`);
  await page.getByTestId("run-row").first().locator("[data-run]").click();
  await tree.waitFor();
  await view("Graph");
  await table.getByRole("button", { name: "book_hotel" }).click();
  await treeHasFocus();
  await page.keyboard.press("Escape");
  await page.waitForURL("**/runs?name=*");
});
