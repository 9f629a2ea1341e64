// A user reads a failed run: it opens at the failure, keys move in the tree, the messages are the ones that were sent.
import { check, same, scenario, until } from "./scenario.mjs";

await scenario(async (page, { projectId, runId, trip, unpriced, withoutModel, longNames, suspected }) => {
  const [chat, booking] = trip.steps;
  const tree = page.getByTestId("span-tree");
  const rows = page.getByTestId("span-row");
  const detail = page.getByTestId("span-detail");
  const selected = () => tree.locator("[aria-selected=true]").textContent();
  const select = (step) => rows.filter({ hasText: step.name }).first().click();
  const isAt = (step) =>
    until(`the selection at ${step.name}`, async () => (await selected()).includes(step.name));

  await page.goto(`/p/${projectId}/runs/${unpriced}`);
  check((await page.getByTestId("run-cost").textContent()).includes("unknown"), "an unknown cost is unknown");
  await page.goto(`/p/${projectId}/runs/${withoutModel}`);
  check((await page.getByTestId("run-cost").textContent()).includes("—"), "a run without model calls has no cost");

  await page.goto(`/p/${projectId}/runs/${runId}`);
  await page.getByRole("heading", { level: 1, name: trip.name }).waitFor();
  check((await page.getByTestId("run-status").textContent()).includes("error"), "the run's status is shown");
  check((await page.getByTestId("run-tokens").textContent()).includes("1,291"), "the run's tokens are shown");
  check((await page.getByTestId("run-cost").textContent()).includes("$0.00016"), "the run's cost is shown");

  await isAt(booking);
  check((await page.getByTestId("run-error-step").textContent()).includes(booking.name), "the step with the error is named");
  check((await page.getByTestId("run-suspects").count()) === 0, "a run with one model call has no suspects");
  const error = page.getByTestId("span-error");
  for (const words of [booking.error.type, booking.error.message, "at book_hotel (tools:12)"]) {
    await error.getByText(words).first().waitFor();
  }
  const texts = await rows.allTextContents();
  check(texts.length === 3, `three spans in the tree: ${texts}`);
  for (const [index, step] of [trip, chat, booking].entries()) {
    check(texts[index].includes(step.name), `${step.name} is in its position: ${texts}`);
  }
  await same("the depths", ["1", "2", "2"], () =>
    rows.evaluateAll((all) => all.map((row) => row.getAttribute("aria-level"))),
  );
  const bars = await rows.evaluateAll((all) =>
    all.map((row) => row.querySelector("[data-status][style*=width]").getBoundingClientRect().width),
  );
  check(bars.every((width) => width >= 1) && bars[0] > bars[1] && bars[0] > bars[2], `a waterfall: ${bars}`);
  const cut = await rows.evaluateAll((all) =>
    all.map((row) => {
      const bar = row.querySelector("[data-status][style*=width]");
      return bar.getBoundingClientRect().right - bar.parentElement.getBoundingClientRect().right;
    }),
  );
  check(cut.every((pixels) => pixels < 0.5), `no bar is cut off at the end: ${cut}`);

  await tree.focus();
  await page.keyboard.press("ArrowUp");
  await isAt(chat);
  await page.keyboard.press("Home");
  await isAt(trip);
  await page.keyboard.press("ArrowLeft");
  await until("closed, one row", async () => (await rows.count()) === 1);
  await page.keyboard.press("ArrowRight");
  await until("open, three rows", async () => (await rows.count()) === 3);
  await page.keyboard.press("End");
  await isAt(booking);
  await page.keyboard.press("n");
  await isAt(trip);
  await page.keyboard.press("n");
  await isAt(booking);

  // The border of the names and that of the details move by keyboard, and stay where they were put.
  for (const border of [page.getByRole("separator", { name: "Width of the names" }), page.getByRole("separator").nth(1)]) {
    const at = async () => Math.round((await border.boundingBox()).x);
    const start = await at();
    await border.focus();
    await page.keyboard.press("Shift+ArrowLeft");
    await until("the border moved", async () => (await at()) < start - 10);
    const moved = await at();
    await page.reload();
    await isAt(booking);
    await until("the border where it was put", async () => Math.abs((await at()) - moved) < 3);
    await border.dblclick();
    await until("the border where it was at first", async () => Math.abs((await at()) - start) < 3);
  }

  await select(chat);
  const attributes = chat.attributes;
  const [question] = attributes["gen_ai.input.messages"];
  const [answer] = attributes["gen_ai.output.messages"];
  const messages = page.getByTestId("message");
  await same("the roles", ["system", "user", "assistant"], () =>
    messages.evaluateAll((all) => all.map((message) => message.dataset.role)),
  );
  await messages.nth(1).getByText(question.parts[0].content, { exact: true }).waitFor();
  await messages.nth(2).getByText(answer.parts[0].content, { exact: true }).waitFor();
  check((await messages.nth(2).textContent()).includes("book_hotel"), "the tool call is shown");
  await messages.nth(0).getByText("Instructions").click();
  await messages.nth(0).getByText(attributes["gen_ai.system_instructions"][0].content, { exact: true }).waitFor();
  for (const fact of ["1,204", "87", "1,024", "openai", "tool_call"]) {
    check((await detail.textContent()).includes(fact), `the details show ${fact}`);
  }

  const asked = messages.nth(1).getByText(question.parts[0].content, { exact: true });
  check((await asked.getAttribute("dir")) === "auto", "a recorded text has its own direction");

  await detail.getByRole("tab", { name: "Attributes" }).click();
  for (const [key, value] of [
    ["gen_ai.request.model", "gpt-4o-mini"],
    ["gen_ai.request.temperature", "0.25"],
    ["service.name", "go-http-ingest"],
  ]) {
    const line = detail.getByRole("row").filter({ has: page.getByRole("rowheader", { name: key, exact: true }) });
    check((await line.getByRole("cell").first().textContent()) === value, `the attribute ${key} is ${value}`);
  }
  await detail.getByLabel("Filter attributes").fill("temperature");
  await same("the attributes that match", 1, () => detail.getByRole("row").count());
  check(new URL(page.url()).searchParams.get("tab") === "attributes", "the address contains the tab");
  await page.reload();
  await isAt(chat);
  await detail.getByRole("tab", { name: "Attributes", selected: true }).waitFor();
  await detail.getByRole("tab", { name: "Raw" }).click();
  await detail.getByText("finish_reasons").first().waitFor();
  const find = detail.getByRole("searchbox", { name: "Find in span as JSON" });
  await find.fill("gpt-4o-MINI");
  const count = detail.getByRole("search").getByRole("status");
  await until("the first match", async () => /^1 of \d+$/.test(await count.textContent()));
  const current = detail.getByTestId("json").locator("[data-current]");
  for (const [key, want] of [["Enter", /^2 of/], ["Shift+Enter", /^1 of/], ["Shift+Enter", /^(\d+) of \1$/]]) {
    await find.press(key);
    await until(`${want} after ${key}`, async () => want.test(await count.textContent()));
    await until("the match is shown", async () => /gpt-4o-mini/.test(await current.textContent()));
  }
  await find.press("Escape");
  await until("no match after Escape", async () => (await current.count()) === 0);

  // The way back from a linked page leads to where the reader was.
  await detail.evaluate((element) => element.scrollTo(0, 300));
  await detail.getByRole("link", { name: "Open in playground" }).evaluate((link) => link.click());
  await page.waitForURL("**/playground?**");
  await page.goBack();
  await isAt(chat);
  await detail.getByRole("tab", { name: "Raw", selected: true }).waitFor();
  await until("the details scrolled as before", async () => (await detail.evaluate((element) => element.scrollTop)) === 300);

  await select(booking);
  await detail.getByRole("tab", { name: "Tool" }).click();
  await detail.getByText("call_1").first().waitFor();
  await detail.getByText("Zürich").first().waitFor();

  for (const width of [390, 1024]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`/p/${projectId}/runs/${longNames}`);
    await rows.last().click();
    await detail.getByRole("tab").first().waitFor();
    const wide = await page
      .locator("h1, [data-testid=span-tree], [data-testid=span-detail], [data-testid=span-detail] :is(h2, code, dd, tr)")
      .evaluateAll((all) => all.filter((element) => element.getBoundingClientRect().right > innerWidth + 1).map((element) => element.outerHTML));
    check(wide.length === 0, `long names fit into ${width} pixels: ${wide}`);
  }
  await page.setViewportSize({ width: 1440, height: 900 });

  const missing = "00000000-0000-4000-8000-000000000000";
  await page.goto(`/p/${projectId}/runs/${missing}`);
  await page.getByTestId("problem").waitFor();
  await page.getByRole("button", { name: "Back to the runs" }).click();
  await page.waitForURL((url) => url.pathname === `/p/${projectId}/runs`);

  await page.goto(`/p/${projectId}/runs/${suspected}`);
  await isAt({ name: "choose get_order" });
  const suspects = page.getByTestId("run-suspects");
  await suspects.getByRole("button", { name: "choose_cancel_order" }).click();
  await isAt({ name: "choose cancel_order" });
  check((await suspects.textContent()).includes("step 3 choose_cancel_orderstep 2 choose_get_order"), "the one that writes is first");
  await suspects.getByRole("button", { name: "How often suspects are right" }).click();
  await page.getByText("In 145 annotated failed runs").waitFor();
  await page.keyboard.press("Escape");
  await page.getByTestId("run-error-step").getByRole("button").click();
  await isAt({ name: "choose get_order" });
});
