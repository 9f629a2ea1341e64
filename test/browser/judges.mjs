// A user starts an eval-run with judges, reads how far they can be trusted and where they split, labels outputs, drops a judge, and reads
// preferences in a comparison; a viewer only reads.
import { createAccount, invite, otherBrowser } from "./colleague.mjs";
import { inspect } from "./inspect.mjs";
import { check, same, scenario, until } from "./scenario.mjs";

await scenario(async (page, { base, projectId, dataset, comparison, email, password }, context) => {
  const project = `/p/${projectId}`;
  const items = page.getByTestId("eval-run-item");
  const detail = page.getByTestId("item-detail");
  const typeModel = async (of, name) => {
    const field = page.getByRole("combobox", { name: `Model of ${of}`, exact: true });
    await field.fill(name);
    await field.press("Escape");
    await field.blur();
  };
  const sum = async (list) => {
    const counts = (await list.locator("[class*=count]").allTextContents()).map(Number);
    check(counts.slice(0, -1).reduce((total, one) => total + one, 0) === counts.at(-1), `the votes don't add up: ${counts}`);
    return counts.at(-1);
  };

  // From a dataset, with what is missing said at the fields.
  await page.goto(`${project}/datasets/${dataset}`);
  await page.getByRole("link", { name: "Evaluate", exact: true }).click();
  await page.getByRole("button", { name: "Panel of judges" }).click();
  await page.getByRole("menuitem", { name: /^Correctness/ }).click();
  await page.getByRole("button", { name: "Start eval-run" }).click();
  await page.getByText("Enter a name.").waitFor();
  await page.getByText("Choose a model.").nth(1).waitFor();
  await page.getByLabel("Name", { exact: true }).fill("numbers");
  await page.getByTestId("side-target").getByRole("textbox", { name: "Message 1, system" }).fill("You answer with a number.");
  await page.getByTestId("side-target").getByRole("textbox", { name: "Message 2, user" }).fill("{{question}}");
  await typeModel("the target", "model-a");
  await page.getByTestId("side-target").getByText("Parameters, tools and response format").click();
  await page.getByTestId("side-target").getByLabel("Max. output tokens").fill("20");
  await page.getByLabel("Repeats").fill("2");

  // A panel of three, one after the advice.
  const rubric = page.getByRole("textbox", { name: "Rubric of correctness" });
  check((await rubric.inputValue()).includes("The reference output is right"), "the rubric of a ready-made judge can be read");
  await typeModel("judge 1 of correctness", "gpt-judge");
  await page.getByText("With one judge, nothing says how far judges agree.").waitFor();
  await page.getByRole("button", { name: "Add a judge of another family" }).click();
  await typeModel("judge 2 of correctness", "claude-judge");
  await page.getByRole("button", { name: "Judge", exact: true }).click();
  await typeModel("judge 3 of correctness", "qwen-judge");
  await page.getByTestId("estimate").getByText(/183 of them of judges/).waitFor();

  // Tried before it is paid for.
  await page.getByText("Try on five items").click();
  await page.getByRole("button", { name: "Judge 5 items" }).click();
  const tried = page.getByTestId("try-results");
  await tried.getByText("Canary: held.").waitFor();
  check((await tried.getByTestId("vote").count()) === 5, "five votes");
  await tried.getByText("What it was sent", { exact: true }).first().click();
  await tried.getByText(/⟦output [0-9a-f]{16}⟧/).first().waitFor();
  await inspect(page, "eval-run-new");
  await page.getByRole("button", { name: "Start eval-run" }).click();

  // How far it can be trusted.
  const trust = page.getByTestId("trust");
  await trust.getByTestId("panel-sentence").waitFor();
  const evalRun = new URL(page.url()).pathname;
  await page.getByTestId("sentence").getByText(/correctness/).waitFor();
  await trust.getByText("How the judges agree").click();
  await page.locator('[data-judge="qwen-judge"]').getByText("58 of 60 valid, 2 unreadable").waitFor();
  check((await page.getByTestId("judge-row").count()) === 3, "three judges");
  await page.locator('[data-figure="krippendorff_alpha"]').waitFor();
  await page.getByRole("columnheader", { name: "All repeats pass" }).waitFor();
  check((await sum(page.getByTestId("votes-sum").getByTestId("vote-sum"))) === 180, "30 items, 2 repeats, 3 judges");
  await inspect(page, "eval-run-judged");
  await trust.scrollIntoViewIfNeeded();
  await page.screenshot({ path: `${process.env.OUTPUT}/eval-run-trust.png` });

  // Where they split, and a label by keyboard.
  await trust.getByRole("link", { name: "Read where they split" }).click();
  await until("six items on which they split", async () => (await items.count()) === 6);
  await detail.getByText("judges differ").waitFor();
  await detail.locator('[data-judge="qwen-judge"]').getByRole("link", { name: "Run" }).waitFor();
  await page.getByLabel("Hide votes until I have labelled").click();
  await detail.getByText("hidden until you have labelled").waitFor();
  check((await detail.getByTestId("vote").count()) === 0, "votes are hidden");
  await page.keyboard.press("2");
  await detail.getByText(/^Saved\./).waitFor();
  check((await detail.getByTestId("vote").count()) === 3, "votes are shown");
  await page.keyboard.press("n");
  await page.keyboard.type("not the number");
  await page.keyboard.press("Enter");
  await until("the note is kept", async () => (await page.getByLabel("Note of your label").inputValue()) === "not the number");
  await inspect(page, "eval-run-labelled");
  const second = await items.nth(1).getAttribute("data-item");
  await page.keyboard.press("j");
  await same("the next item", second, () => detail.getAttribute("data-item"));
  await detail.getByText("hidden until you have labelled").waitFor();

  // A vote that failed says why.
  await page.goto(`${evalRun}?tab=items`);
  await items.filter({ hasText: "q07" }).click();
  await detail.locator('[data-judge="qwen-judge"]').getByText("Unreadable answer").waitFor();
  await page.goto(`${evalRun}?tab=configuration`);
  await page.getByText("Whole numbers from 1 to 5").waitFor();

  // Without a judge, and the same outputs once more: the votes that are there cost nothing.
  await page.goto(evalRun);
  await trust.getByText("How the judges agree").click();
  await page.locator('[data-judge="qwen-judge"]').getByRole("link", { name: /^Drop this judge/ }).click();
  await page.getByTestId("prefilled").getByText(/^Without the judge “qwen-judge” of “correctness”/).waitFor();
  check((await page.getByTestId("judge-form").count()) === 2, "two judges are left");
  await page.goto(evalRun);
  await page.getByRole("button", { name: /^Actions for/ }).click();
  await page.getByRole("menuitem", { name: "Judge these outputs again…" }).click();
  await page.getByTestId("prefilled").getByText(/judged again/).waitFor();
  await page.getByTestId("estimate").getByText(/for 30 items/).waitFor();
  await page.getByRole("button", { name: "Start eval-run" }).click();
  await page.getByTestId("votes-sum").getByText(/178 of the valid votes were reused/).waitFor();
  await page.getByTestId("labels").waitFor();

  // The trend of both.
  await page.goto(`${project}/eval-runs?dataset=${dataset}`);
  await page.getByTestId("trend").locator("canvas").waitFor();
  await inspect(page, "eval-runs-trend");

  // Preferences in a comparison.
  await page.goto(`${project}/comparisons/${comparison}`);
  await page.getByTestId("panel").getByTestId("panel-sentence").waitFor();
  await inspect(page, "comparison-judged");
  await page.goto(`${project}/comparisons/${comparison}?tab=items`);
  await page.getByTestId("preference").waitFor();
  check((await page.getByTestId("preference").getByTestId("vote").count()) === 4, "two judges, both orders");

  // A viewer.
  await page.goto(`${project}/settings/members`);
  const link = await invite(page, "Viewer");
  const guest = await otherBrowser(context, base);
  await createAccount(guest, link, email, password);
  await guest.goto(evalRun);
  await guest.getByTestId("trust").getByText("How the judges agree").click();
  await guest.getByTestId("judge-row").first().waitFor();
  check((await guest.getByText(/Drop this judge|Label outputs|Resume…/).count()) === 0, "a viewer changes nothing");
  await guest.goto(`${evalRun}?tab=items`);
  await guest.getByTestId("votes").waitFor();
  check((await guest.getByText("Hide votes until I have labelled").count()) === 0, "a viewer doesn't label");
  await guest.goto(`${project}/eval-runs/new`);
  await guest.getByText("You can't start eval-runs.").waitFor();
  await guest.goto(`${project}/rules`);
  await guest.getByText("No rules yet.").waitFor();
  check((await guest.getByText("New rule").count()) === 0, "a viewer makes no rule");
  await guest.goto(`${project}/rules/new`);
  await guest.getByText("You can't change rules.").waitFor();
});
