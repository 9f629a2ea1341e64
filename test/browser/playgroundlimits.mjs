// A user sends an image, meets limits of money, runs a column over a dataset while doing something else, and works while the server
// is slow or does not answer.
import { inspect } from "./inspect.mjs";
import { playgroundOf } from "./playgroundpage.mjs";
import { check, same, scenario, until } from "./scenario.mjs";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

await scenario(async (page, { projectId }) => {
  const { dialog, columns, column, answer, state, message, model, choose, run, action, chooseDataset, addTool, answerTool } =
    playgroundOf(page);
  const playground = `/p/${projectId}/playground`;
  await page.goto(playground);
  await choose(1, "text");

  // Images of files.
  await message(1, "system").fill("You describe images.");
  await page.getByRole("button", { name: "Add image" }).nth(1).click();
  await page.getByRole("textbox", { name: "Text, part 1 of message 2" }).fill("What is this?");
  const file = page.locator("input[type=file]");
  const refused = (text) => page.getByTestId("draft-error").getByText(text).waitFor();
  await file.setInputFiles({ name: "large.png", mimeType: "image/png", buffer: Buffer.alloc(5_000_001) });
  await refused("large.png is 5 MB; the limit is 5 MB. Choose a smaller image.");
  await file.setInputFiles({ name: "text.png", mimeType: "image/png", buffer: Buffer.from("no image") });
  await refused("text.png isn't an image that models can read. Choose a PNG, JPEG, WebP or GIF.");
  await file.setInputFiles({ name: "drawing.svg", mimeType: "image/svg+xml", buffer: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>') });
  await refused("drawing.svg isn't an image that models can read. Choose a PNG, JPEG, WebP or GIF.");
  await file.setInputFiles({ name: "pixel.png", mimeType: "image/png", buffer: Buffer.from(PIXEL, "base64") });
  const preview = page.getByRole("img", { name: "The chosen file, part 2 of message 2" });
  await preview.waitFor();
  check((await page.getByTestId("draft-error").count()) === 0, "the refusal is gone");
  await page.getByText("image/png, 70 B").waitFor();
  await run(1);
  await answer(1).getByText("The capital of France is Paris.").waitFor();
  await inspect(page, "playground-image");
  await page.getByRole("button", { name: "Remove part 2 of message 2" }).click();

  // The most that a column may cost.
  await message(2, "user").fill("{{ticket}}");
  await page.getByLabel("ticket", { exact: true }).fill("I was charged twice.");
  await choose(1, "tools");
  await addTool("look_up");
  await answerTool("look_up", "Nothing was found.");
  await page.getByRole("button", { name: /parameters of column 1$/ }).click();
  await columns.getByLabel("Max. output tokens").fill("100");
  await page.getByRole("button", { name: /parameters of column 1$/ }).click();
  await page.getByLabel("Cost ($)").fill("0.0101");
  await run(1);
  await column(1).getByText("Stopped: the next round could cost more than the limit.").waitFor();
  await same("what the first round called", [1, 1], () =>
    Promise.all(["tool-call", "tool-result"].map((kind) => column(1).getByTestId(kind).count())),
  );
  await inspect(page, "playground-cap");
  await page.getByLabel("Cost ($)").fill("0.0001");
  await run(1);
  await column(1).getByTestId("problem").getByText("The call could exceed its cost limit").waitFor();
  await choose(1, "text");
  await run(1);
  await column(1).getByTestId("problem").getByText("The model has no price").waitFor();
  await column(1).getByRole("button", { name: "Allow models without a price" }).click();
  await column(1).getByRole("button", { name: "Retry" }).click();
  await answer(1).getByText("The capital of France is Paris.").waitFor();
  await page.getByLabel("Cost ($)").fill("");

  // A batch goes on when its dialog is closed, and on other pages.
  const notice = page.getByTestId("batch-notice");
  const asks = () =>
    page.evaluate(() => {
      const leaving = new Event("beforeunload", { cancelable: true });
      window.dispatchEvent(leaving);
      return leaving.defaultPrevented;
    });
  check(!(await asks()), "nothing keeps the page");
  await choose(1, "text@2s");
  await action(1, "Run over a dataset…");
  await chooseDataset("tickets");
  await dialog.getByLabel("First items").fill("6");
  await dialog.getByRole("button", { name: "Run", exact: true }).click();
  await dialog.getByText("You can close this; it keeps running").waitFor();
  await page.keyboard.press("Escape");
  await notice.getByText("Column 1 over “tickets”").waitFor();
  check(await asks(), "the browser asks before it leaves the page");
  await page.getByRole("link", { name: "Prompts", exact: true }).click();
  await page.getByRole("heading", { name: "Prompts", exact: true }).waitFor();
  await page.getByRole("link", { name: "Playground", exact: true }).click();
  await notice.getByText(/of 6 done/).waitFor();
  await page.screenshot({ path: `${process.env.OUTPUT}/playground-batch-running.png` });
  await notice.getByText("6 of 6 done · 6 of unknown cost").waitFor();
  check(!(await asks()), "nothing keeps the page again");
  await notice.getByRole("button", { name: /^Show/ }).click();
  await same("answers", 6, () => dialog.getByTestId("batch-row").count());
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await inspect(page, "playground-batch-notice");
  await notice.getByRole("button", { name: /^Dismiss/ }).click();
  await notice.waitFor({ state: "detached" });
  await choose(1, "stall");
  await action(1, "Run over a dataset…");
  await chooseDataset("tickets");
  await dialog.getByRole("button", { name: "Run", exact: true }).click();
  await dialog.getByText("0 of 5 done").waitFor();
  await page.keyboard.press("Escape");
  await notice.getByRole("button", { name: /^Cancel/ }).click();
  await notice.getByText("0 of 5 done · 5 cancelled").waitFor();
  await notice.getByRole("button", { name: /^Dismiss/ }).click();

  // A server that is slow, and one that does not answer.
  const held = [];
  let reply = (route) => route.fallback();
  const hold = (route) => {
    held.push(route);
  };
  const fail = async () => {
    reply = (route) => route.abort("connectionrefused");
    for (const route of held.splice(0)) await route.abort("connectionrefused").catch(() => {});
  };
  await page.route(/\/v1\/(playground|providers)/, (route) => reply(route));
  const problem = page.getByTestId("problem");
  reply = hold;
  await choose(1, "echo");
  await run(1);
  await columns.getByText("Waiting for the model…").waitFor();
  await page.screenshot({ path: `${process.env.OUTPUT}/playground-slow.png` });
  await until("a request", () => held.length > 0);
  await fail();
  await problem.getByText("The server didn't respond").waitFor();
  await inspect(page, "playground-down");
  reply = (route) => route.fallback();
  await problem.getByRole("button", { name: "Retry" }).click();
  await until("it recovers", async () => (await state(1)) === "done");
  reply = hold;
  await page.goto(playground);
  await page.locator("[aria-busy=true] .mantine-Skeleton-root").first().waitFor();
  await page.screenshot({ path: `${process.env.OUTPUT}/playground-loading.png` });
  await fail();
  await problem.getByText("The server didn't respond").waitFor();
  await page.screenshot({ path: `${process.env.OUTPUT}/playground-unreached.png` });
  reply = (route) => route.fallback();
  await problem.getByRole("button", { name: "Retry" }).click();
  await same("the draft is there", "echo", () => model(1).inputValue());
});
