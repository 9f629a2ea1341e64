import { expect, it } from "vitest";
import { hasWork, mayGoOn, workText } from "./resume";

it.each([
  [3, 0, "3 outputs"],
  [1, 2000, "1 output and 2,000 votes"],
  [0, 1, "1 vote"],
  [0, 0, "0 outputs"],
])("%s outputs and %s votes are %s", (outputs, votes, want) => expect(workText(outputs, votes)).toBe(want));

it("has work if anything is missing or failed", () => {
  const none = { outputs: 0, failedOutputs: 0, votes: 0, failedVotes: 0 };
  expect(hasWork(none)).toBe(false);
  for (const name of Object.keys(none)) expect(hasWork({ ...none, [name]: 1 }), name).toBe(true);
});

it("can't go on without a connection", () => {
  expect(mayGoOn({ error: null })).toBe(true);
  expect(mayGoOn({ error: { code: "provider_key_refused", detail: "" } })).toBe(true);
  expect(mayGoOn({ error: { code: "provider_deleted", detail: "" } })).toBe(false);
});
