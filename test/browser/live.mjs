// A user watches: the list announces runs that start and end, and an open run stays up to date.
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { check, same, scenario, until } from "./scenario.mjs";

await scenario(async (page, { base, projectId, key }) => {
  const session = `live-${randomUUID()}`;
  const now = Date.now();
  const at = (second) => new Date(now + second * 1_000).toISOString();
  const send = async (envelope) => {
    const answer = await fetch(`${base}/v1/runs`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Api-Key": key },
      body: JSON.stringify(envelope),
    });
    check(answer.status === 202, `the request is accepted: ${answer.status} ${await answer.text()}`);
  };
  const begun = (name, second) => ({ run_id: randomUUID(), name, session_id: session, start_time: at(second) });
  const ended = (run, second) => ({ ...run, end_time: at(second) });
  const rows = page.getByTestId("run-row");
  const news = page.getByTestId("new-runs");
  const names = () => rows.locator("[data-run]").allTextContents();
  const list = `/p/${projectId}/runs?session_id=${session}`;

  const first = begun("first", -60);
  await send({ runs: [first, ended(begun("third", -30), -20)] });
  await page.goto(list);
  await until("both runs", async () => (await rows.count()) === 2);

  // It started before the newest run, and arrives after it.
  await send({ runs: [ended(begun("second", -45), -40)] });
  await same("the late run in order, by itself", ["third", "second", "first"], names);

  await page.goto(`${list}&status=running`);
  await same("what is running", ["first"], names);
  await send({ runs: [ended(first, -10)] });
  await until("the run has ended", async () => (await rows.first().getAttribute("data-status")) === "ok");
  check((await news.count()) === 0, "a run that doesn't match the filter is not announced");

  await page.goto(`${list}&order=duration_ms`);
  await same("the shortest first", ["second", "third", "first"], names);
  await send({ runs: [ended(begun("fourth", -8), -7)] });
  await same("the new one among them", ["fourth", "second", "third", "first"], names);
  await pause(1_000);
  check((await news.count()) === 0, "runs that are shown are not announced again");

  // Further down, new runs wait for a click.
  const many = `${session}-many`;
  const inMany = (name, second) => ({ ...ended(begun(name, second), second + 1), session_id: many });
  await send({ runs: Array.from({ length: 45 }, (_, index) => inMany(`old ${index}`, -200 + index)) });
  await page.goto(`/p/${projectId}/runs?session_id=${many}`);
  await until("the runs", async () => (await names()).includes("old 44"));
  const scroller = page.getByTestId("run-list").locator("xpath=..");
  await until("all runs", async () => (await scroller.evaluate((element) => element.scrollHeight)) > 45 * 36);
  await scroller.evaluate((element) => element.scrollTo(0, 400));
  await until("rows further down", async () => (await scroller.evaluate((element) => element.scrollTop)) === 400);
  await send({ runs: [inMany("newest", -6)] });
  await news.getByText("1 new run").click();
  await same("the new run at the top", "newest", () => rows.first().locator("[data-run]").textContent());
  await news.waitFor({ state: "detached" });

  const run = begun("answer", -5);
  const call = { span_id: "00000000000000c1", run_id: run.run_id, name: "ask", kind: "llm", start_time: at(-4) };
  const question = '{"order_id": 1234567890123456789}';
  await send({ runs: [run], spans: [{ ...call, inputs: question }] });
  const address = `/p/${projectId}/runs/${run.run_id}`;
  await until("the run", async () => {
    await page.goto(`${address}?view=transcript`);
    await page.getByTestId("transcript").or(page.getByTestId("problem")).waitFor();
    return (await page.getByTestId("turn").count()) > 1;
  });
  await page.getByText(/^So far, /).waitFor();
  await send({
    runs: [ended(run, -1)],
    spans: [{ ...call, end_time: at(-2), outputs: "It was shipped." }],
  });
  await page.getByTestId("turn").getByText("It was shipped.").waitFor();
  await page.getByText(/^End of the run, /).waitFor();

  await page.goto(`${address}?span=${call.span_id}&tab=io`);
  const detail = page.getByTestId("span-detail");
  await detail.getByText("1234567890123456789").waitFor();
});
