import { describe, expect, it } from "vitest";
import { EventStreamParser } from "./sse";

const text = [
  ": a comment\n\n",
  'event: start\ndata: {"run_id":"1"}\n\n',
  "data:no space\r\ndata:  two spaces\r\n\r\n",
  "event: delta\rdata: é😀\r\r",
  "event: no data\n\n",
  "data\n\n",
  "id: 7\nretry: 10\nunknown: x\ndata: last: one\n\n",
  "data: cut off",
].join("");

const want = [
  { event: "start", data: '{"run_id":"1"}' },
  { event: "message", data: "no space\n two spaces" },
  { event: "delta", data: "é😀" },
  { event: "message", data: "" },
  { event: "message", data: "last: one", id: "7" },
];

describe("EventStreamParser", () => {
  it("reads a whole stream", () => expect(new EventStreamParser().push(text)).toEqual(want));

  it.each([1, 2, 3, 5, 7, 16])("reads pieces of %d characters", (size) => {
    const parser = new EventStreamParser();
    const events = [];
    for (let at = 0; at < text.length; at += size) events.push(...parser.push(text.slice(at, at + size)));
    expect(events).toEqual(want);
  });

  it("drops a byte order mark at the start only", () => {
    const parser = new EventStreamParser();
    expect(parser.push("\uFEFFdata: a\n\ndata: \uFEFFb\n\n")).toEqual([
      { event: "message", data: "a" },
      { event: "message", data: "\uFEFFb" },
    ]);
  });

  it("takes an empty first piece", () => {
    const parser = new EventStreamParser();
    expect(parser.push("")).toEqual([]);
    expect(parser.push("\uFEFFdata: a\n\n")).toHaveLength(1);
  });
});
