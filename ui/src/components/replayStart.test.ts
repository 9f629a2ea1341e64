import { expect, it } from "vitest";
import { newBatchPath, readBatchStart } from "./replayStart";

function read(path: string) {
  return readBatchStart(new URLSearchParams(path.split("?")[1]));
}

it("keeps the runs of a batch in the address of its form", () => {
  const filter = { run_filter: "agent_name=a%26b&metadata%5Bplan%5D=pro" };
  expect(read(newBatchPath("p", filter, "r"))).toEqual({ runs: filter, typical: "r" });
  const named = { run_ids: ["a", "b"] };
  expect(read(newBatchPath("p", named))).toEqual({ runs: named, typical: "a" });
});

it("needs runs, and one whose recorded values are shown", () => {
  expect(read("/x?")).toBeNull();
  expect(read("/x?typical=r")).toBeNull();
  expect(read("/x?runs=agent_name%3Da")).toBeNull();
});
