// A user replays a recorded agent with another system prompt, reads the verdict and its evidence, and compares an attempt with the recorded run.
import { inspect } from "./inspect.mjs";
import { check, scenario, sessionHeaders, until } from "./scenario.mjs";

await scenario(async (page, { projectId, runId, bare }) => {
  const project = `/p/${projectId}`;

  // No replays yet: what they are for.
  await page.goto(`${project}/replays`);
  await page.getByText("No replays yet.").waitFor();
  await inspect(page, "replays-empty");

  // Without contents, the run says what is missing and how to record it.
  await page.goto(`${project}/runs/${bare}`);
  await page.getByRole("link", { name: "Replay…" }).click();
  await page.getByText("Only timeouts and retries can be edited").waitFor();
  await page
    .getByTestId("missing")
    .getByText(/OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT/)
    .first()
    .waitFor();
  await page.getByTestId("edit").getByLabel("Milliseconds of edit 1").fill("10000");
  await page.getByTestId("decided").waitFor();
  await page.getByRole("button", { name: "Start replay · no calls" }).waitFor();
  await inspect(page, "replay-bare");

  // From a step of the recorded run.
  await page.goto(`${project}/runs/${runId}?span=a000000000000011`);
  await page.getByRole("link", { name: "Replay from here" }).click();
  const edit = page.getByTestId("edit").first();
  const prompt = edit.getByRole("textbox", { name: "System prompt of edit 1" });
  await until("the recorded system prompt is filled in", async () =>
    (await prompt.textContent()).includes("You help customers"),
  );
  check(
    (await edit.getByRole("combobox", { name: "Where" }).inputValue()) === "Step 2: chat model-a",
    "the edit is of the step",
  );

  // What is wrong is said at its field, and that a design is too small.
  await page.getByRole("button", { name: /^Start replay/ }).click();
  await edit.getByText("This is the recorded").waitFor();
  await page.getByText("Other numbers").click();
  await page.getByLabel("Without the edits", { exact: true }).fill("2");
  await prompt.fill("You help customers with their orders. Ask before you change anything.");
  await edit.getByTestId("edit-difference").waitFor();
  await page.getByTestId("attainable").getByText("Can never tell.").waitFor();
  await page.getByLabel("Without the edits", { exact: true }).fill("3");
  await page.getByLabel("With the edits", { exact: true }).fill("2");

  // The plan, step by step.
  const plan = page.getByTestId("plan");
  await plan.locator('[data-testid="plan-step"][data-edited]').getByText("Live").waitFor();
  await until("six steps", async () => (await plan.getByTestId("plan-step").count()) === 6);
  await page.getByRole("button", { name: /^Start replay · \$/ }).waitFor();
  await inspect(page, "replay-new");
  await page.getByRole("button", { name: /^Start replay · \$/ }).click();

  // The verdict: too few attempts to tell. It says how many more would do, and they are made.
  const verdict = page.getByTestId("verdict");
  await verdict.waitFor({ timeout: 60_000 });
  const address = new URL(page.url()).pathname;
  const first = await verdict.getByTestId("replay-verdict").getAttribute("data-verdict");
  check(
    ["underpowered", "effect_likely", "within_noise"].includes(first),
    `five attempts can't tell: ${first}`,
  );
  await inspect(page, "replay-unsure");
  await verdict.getByRole("button", { name: "Run 4 more…" }).click();
  const dialog = page.getByRole("dialog");
  check(
    (await dialog.getByLabel("Total without the edits").inputValue()) === "5",
    "the numbers that the verdict asks for are filled in",
  );
  check(
    (await dialog.getByLabel("Total with the edits").inputValue()) === "4",
    "the numbers that the verdict asks for are filled in",
  );
  await dialog.getByRole("button", { name: /^Run 4 attempts/ }).click();
  await page
    .locator('[data-testid="verdict"] [data-verdict="effect_attributable"]')
    .waitFor({ timeout: 60_000 });
  await page.getByTestId("effects").getByText("different").first().waitFor();
  check(!(await page.getByTestId("effects").textContent()).includes("NaN"), "no effect is NaN");
  await inspect(page, "replay-verdict");
  await page.getByTestId("statistics").getByText("Statistics").click();
  await page.locator('[data-testid="channel"][data-found]').first().waitFor();
  await until("five measures", async () => (await page.getByTestId("channel").count()) === 5);
  check(!(await page.getByTestId("channels").textContent()).includes("NaN"), "no figure is NaN");
  await page.getByTestId("reproducibility").getByText("were live").waitFor();
  await inspect(page, "replay-statistics");

  // Attempts, and one beside the recorded run.
  await page.getByRole("tab", { name: "Attempts 9" }).click();
  await until("nine attempts ended", async () => (await page.locator('[data-testid="attempt"][data-status="succeeded"]').count()) === 9);
  await inspect(page, "replay-attempts");
  await page
    .locator('[data-testid="attempt"][data-role="treatment"]')
    .first()
    .getByRole("link", { name: "Difference" })
    .click();
  await page.getByTestId("step-source").first().waitFor();
  await page
    .locator('[data-testid="diff-step"][data-state="changed"]')
    .getByText("Shall I cancel order A17?")
    .first()
    .waitFor();
  await inspect(page, "replay-difference");
  await page.keyboard.press("n");
  await page.locator('[data-testid="diff-step"][data-current]').waitFor();
  await page.getByRole("tab", { name: "Edits" }).click();
  await page
    .getByTestId("edit-shown")
    .getByText(/Ask before you change anything/)
    .first()
    .waitFor();

  // The run of an attempt leads back; the recorded run names its replays.
  await page.goto(`${address}?tab=attempts`);
  await page.getByTestId("attempt").first().getByRole("link", { name: "Run" }).click();
  await page.getByTestId("run-replay").getByRole("link", { name: "Recorded run" }).click();
  await page.getByTestId("run-replays").getByText("Effect").waitFor();
  await inspect(page, "run-replays");
  await page.getByTestId("run-replays").getByRole("link", { name: "List" }).click();
  await page.getByTestId("replay-row").getByText("Effect").waitFor();
  await page.getByTestId("replay-row").getByText("System prompt of one step").waitFor();
  await inspect(page, "replays");

  // Renamed, and deleted after a question.
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /^Actions for/ }).click();
  await page.getByRole("menuitem", { name: "Rename…" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("Ask first");
  await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
  await page.getByRole("heading", { name: "Ask first" }).waitFor();
  await page.getByRole("button", { name: "Actions for Ask first" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page
    .getByRole("dialog")
    .getByText(/are deleted for good/)
    .waitFor();
  await page.getByRole("button", { name: "Delete replay" }).click();
  await page.getByText("No replays yet.").waitFor();

  // Attempts that end early say why and what to do, without what was recorded.
  const stopped = await page.evaluate(
    async ([headers, body]) => (await fetch("/v1/replays", { method: "POST", headers, body })).json(),
    [
      { ...(await sessionHeaders(page)), "Content-Type": "application/json" },
      JSON.stringify({
        run_id: runId,
        controls: 1,
        treatments: 1,
        edits: [{ target: "all", set: { system_prompt: "Search everywhere." } }],
      }),
    ],
  );
  await page.goto(`${project}/replays/${stopped.id}?tab=attempts`);
  const problem = page.getByTestId("attempt-problem");
  await problem.getByText('The recording has no call of the tool "find_order"').waitFor({ timeout: 60_000 });
  await problem.getByText(/Say what calls of the tool get/).waitFor();
  check(!(await problem.textContent()).includes("ann@example.com"), "no argument is quoted");
  await inspect(page, "replay-stopped");

  // Without the recorded run, the replay stays, and nothing that needs the run is offered.
  const removed = await page.evaluate(
    async ([headers, body]) => (await fetch("/v1/runs/_actions/delete", { method: "POST", headers, body })).status,
    [
      { ...(await sessionHeaders(page)), "Content-Type": "application/json" },
      JSON.stringify({ project_id: projectId, run_ids: [runId] }),
    ],
  );
  check(removed === 200, `the run is deleted: ${removed}`);
  await page.goto(`${project}/replays/${stopped.id}`);
  await page.getByText("which was deleted").waitFor();
  await page.getByTestId("verdict").waitFor();
  check((await page.getByRole("button", { name: /^Make / }).count()) === 0, "no attempts are offered");
});
