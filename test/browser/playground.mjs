// A user calls models in the playground: three at once, with tools, with refusals, from a prompt and over a dataset.
import { inspect } from "./inspect.mjs";
import { playgroundOf } from "./playgroundpage.mjs";
import { check, same, scenario, until } from "./scenario.mjs";

const SECTION = `## A heading

A paragraph with **bold** words, \`code\` and a [link](https://example.com), long enough to wrap in a column of any width.

- one thing
- another thing

| a | b |
| - | - |
| 1 | 2 |

`;

const SECTIONS = 120;

/** Measures the tasks of the page's main thread, in ms, until the returned function is called. */
async function measureTasks(page) {
  await page.evaluate(() => {
    globalThis.tasks = [];
    globalThis.watch = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) globalThis.tasks.push(duration);
    });
    globalThis.watch.observe({ type: "longtask" });
  });
  const browser = page.context().browser();
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"] });
  return async () => {
    const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
    const long = await page.evaluate(() => globalThis.tasks);
    const isPage = ({ name, args }) => name === "thread_name" && args.name === "CrRendererMain";
    const pages = new Set(traceEvents.filter(isPage).map(({ pid, tid }) => `${pid} ${tid}`));
    const run = traceEvents.filter(({ name, pid, tid }) => name === "RunTask" && pages.has(`${pid} ${tid}`));
    check(run.length > 100, `the trace has ${run.length} tasks`);
    return {
      longest: Math.round(Math.max(0, ...long)),
      over50: long.length,
      longestCPU: Math.round(Math.max(...run.map(({ tdur }) => tdur ?? 0)) / 1000),
      over50CPU: run.filter(({ tdur }) => tdur > 50_000).length,
    };
  };
}

await scenario(async (page, { projectId, key, runId }) => {
  const { dialog, columns, answer, state, message, variable, model, choose, run, action, choosePrompt, chooseDataset, addTool, answerTool } =
    playgroundOf(page);
  const states = () => Promise.all([1, 2, 3].map(state));
  await page.goto(`/p/${projectId}/playground`);

  // The draft names what is missing, and survives a reload.
  await columns.getByText("Choose a model.").waitFor();
  check(await page.getByRole("button", { name: "Run", exact: true }).isDisabled(), "nothing runs without a model");
  await message(1, "system").fill("You answer questions about {{topic}}.");
  await message(2, "user").fill("{{question}}");
  await variable("topic").fill("France");
  await variable("question").fill("What is its capital?");
  await choose(1, "gpt-4o");
  await columns.getByText(/About \d+ input tokens/).waitFor();
  await page.waitForTimeout(600);
  await page.reload();
  await same("the draft", "gpt-4o", () => model(1).inputValue());
  await same("the value", "What is its capital?", () => variable("question").inputValue());
  const stored = await page.evaluate(() => JSON.stringify({ ...localStorage }));
  check(!stored.includes(key), "the browser keeps no key");

  // One answer, by keyboard.
  await page.keyboard.press("Control+Enter");
  await answer(1).getByText("The capital of France is Paris.").waitFor();
  await answer(1).getByTestId("facts").waitFor();
  await answer(1).getByRole("link", { name: "Recorded run" }).waitFor();
  await inspect(page, "playground");
  await action(1, "Show request…");
  await dialog.getByRole("tab", { name: "curl" }).waitFor();
  await dialog.getByText("/chat/completions").first().waitFor();
  await inspect(page, "playground-request");
  await page.keyboard.press("Escape");

  // Three columns stream long texts at once.
  await message(2, "user").fill(SECTION.repeat(SECTIONS), { timeout: 300_000 }); // a long text for a busy browser
  await choose(1, "echo@100ms+1ms");
  await action(1, "Duplicate column");
  await action(1, "Duplicate column");
  await until("three columns", async () => (await columns.count()) === 3);
  await until("all are ready", async () => (await columns.getByText(/About .* input tokens/).count()) === 3);
  const tasks = await measureTasks(page);
  await page.getByRole("button", { name: "Run all" }).click();
  await until("all stream", async () => {
    const sizes = await Promise.all([1, 2, 3].map(async (number) => (await answer(number).textContent()).length));
    return sizes.every((size) => size > 1_000);
  });
  await same("all run", ["running", "running", "running"], states);
  await page.screenshot({ path: `${process.env.OUTPUT}/playground-streaming.png` });
  // The page answers while they stream.
  await variable("topic").fill("Germany");
  await until("all are done", async () => (await states()).every((one) => one === "done"));
  await page.waitForFunction((all) => document.querySelectorAll("[data-testid=answer] h2").length === all, 3 * SECTIONS);
  const measured = await tasks();
  // Twice what they take on a busy machine. The processor's time counts: other programs may hold up the browser.
  check(measured.longestCPU < 100, `the page was busy for ${measured.longestCPU} ms at once`);
  await inspect(page, "playground-three");

  // Stopping keeps what arrived.
  await page.getByRole("button", { name: "Run all" }).click();
  await until("they stream again", async () => (await answer(2).textContent()).length > 500);
  await page.getByRole("button", { name: "Stop column 2" }).click();
  await answer(2).getByText("Stopped. What arrived is kept.").waitFor();
  check((await state(1)) === "running", "the others go on");
  await page.keyboard.press("Escape");
  await until("all stopped", async () => (await states()).every((one) => one === "stopped"));

  // A tool whose result the user types, and one that is answered.
  await message(2, "user").fill("{{question}}");
  await action(3, "Remove column");
  await choose(1, "tools");
  await choose(2, "no-temperature");
  for (const name of ["search_cities", "read_map"]) await addTool(name);
  await answerTool("read_map", "A map of France");
  await page.getByRole("button", { name: /parameters of column 2$/ }).click();
  await columns.nth(1).getByLabel("Temperature").fill("0.3");
  await page.getByRole("button", { name: "Run all" }).click();
  await columns.first().getByTestId("pending-calls").waitFor();
  await same("the result that is set", "A map of France", () => page.getByLabel("Result of read_map").inputValue());
  await page.getByLabel("Result of search_cities").fill('["Paris"]');
  await inspect(page, "playground-tools");
  await page.getByRole("button", { name: "Send 2 results" }).click();
  await answer(1).getByText(/The tools answered/).waitFor();
  await same("results", 2, () => columns.first().getByTestId("tool-result").count());

  // A refused parameter is removed by a click.
  await columns.nth(1).getByTestId("problem").waitFor();
  await columns.nth(1).getByRole("button", { name: "Remove temperature" }).click();
  await same("it is removed", "", () => columns.nth(1).getByRole("textbox", { name: "Temperature" }).inputValue());
  await run(2);
  await answer(2).getByText("The capital of France is Paris.").waitFor();

  // A schema, and reasoning that folds.
  await page.getByText("JSON Schema", { exact: true }).click();
  await run(2);
  await until("structured", async () => (await state(2)) === "done");
  await page.getByText("Default", { exact: true }).first().click();
  await choose(2, "reasoning-content");
  await run(2);
  await answer(2).getByRole("button", { name: /Reasoning/ }).click();
  await answer(2).getByText("Its capital has been Paris for centuries.").waitFor();

  // Saved as a version of a prompt, an item of a dataset, and a scenario.
  await action(2, "Save as prompt version…");
  await dialog.getByLabel("Prompt").fill("geo/capitals");
  await page.keyboard.press("Tab");
  await dialog.getByRole("button", { name: "Create prompt" }).click();
  await dialog.getByText("Saved as v1 of geo/capitals.").waitFor();
  await page.keyboard.press("Escape");
  await action(2, "Add to dataset…");
  await dialog.getByRole("textbox", { name: "Dataset" }).fill("capitals");
  await page.getByRole("option", { name: "Create dataset “capitals”" }).click();
  await inspect(page, "playground-item");
  await dialog.getByRole("button", { name: "Add item" }).click();
  await dialog.getByText("The item is in capitals.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Scenarios" }).click();
  await page.getByRole("menuitem", { name: "Save as new scenario…" }).click();
  await dialog.getByLabel("Name").fill("Capitals");
  await dialog.getByRole("button", { name: "Save scenario" }).click();
  await page.getByRole("button", { name: "Capitals" }).waitFor();
  await variable("question").fill("Something else");
  await page.getByRole("button", { name: "Capitals" }).click();
  await page.getByRole("menuitem", { name: "Capitals", exact: true }).click();
  await same("the scenario", "What is its capital?", () => variable("question").inputValue());

  // Over the items of a dataset.
  await action(2, "Run over a dataset…");
  await chooseDataset("capitals");
  await dialog.getByRole("button", { name: "Run", exact: true }).click();
  await dialog.getByTestId("batch-summary").getByText("1 of 1 done").waitFor();
  await inspect(page, "playground-batch");
  await page.keyboard.press("Escape");

  // From the version of a prompt.
  await choosePrompt("Prompt for all columns", "capitals", "geo/capitals");
  await page.getByRole("button", { name: "Edit here" }).waitFor();
  await run(2);
  await answer(2).getByText("The capital of France is Paris.").waitFor();

  // From a recorded call, whose texts are no templates.
  await page.goto(`/p/${projectId}/runs/${runId}?span=00000000000000c1`);
  await page.getByRole("link", { name: "Open in playground" }).click();
  await message(2, "user").getByText("Where does {{she}} live?").waitFor();
  await message(1, "system").getByText("You know capitals.").waitFor();
  await page.getByTestId("tool-answering").getByText("When the model calls look_up").waitFor();
  await same("the model", "gpt-4o-mini", () => model(1).inputValue());
  const missing = page.getByTestId("not-restored");
  await missing.getByText("1 part of the call isn't here").waitFor();
  await missing.getByText("response_format was JSON, of a schema that was not recorded").waitFor();
  await inspect(page, "playground-opened");
  await missing.getByRole("button", { name: "Close" }).click();
  await missing.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Edit here" }).waitFor();
  return measured;
});
