import { expect, it } from "vitest";
import { choose } from "./importFile";

const file = (name: string, ...parts: (string | Uint8Array<ArrayBuffer>)[]) => new File(parts, name);
const mega = "x".repeat(1024 * 1024);

it("previews the beginning of a long text file", async () => {
  const { chosen, isPartial, isTooLarge } = await choose(file("a.csv", "a,b\n", mega));
  expect([isPartial, isTooLarge, chosen.sample.size]).toEqual([true, false, 1024 * 1024]);
});

it("previews the whole of a short file", async () => {
  const { chosen, isPartial } = await choose(file("a.jsonl", '{"a": 1}\n'));
  expect([isPartial, chosen.sample.size]).toEqual([false, 9]);
});

it.each(["PAR1", "PK\u0003\u0004"])("previews the whole of a file that starts with %j", async (start) => {
  const { chosen, isPartial, isTooLarge } = await choose(file("data", start, mega, mega));
  expect([isPartial, isTooLarge, chosen.sample.size]).toEqual([false, false, 4 + 2 * 1024 * 1024]);
});

it("can't preview a Parquet file of more than 64 MiB", async () => {
  const { isTooLarge } = await choose(file("data.parquet", "PAR1", new Uint8Array(64 * 1024 * 1024)));
  expect(isTooLarge).toBe(true);
});
