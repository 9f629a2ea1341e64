import { describe, expect, it } from "vitest";
import { DEFAULT_LAYOUT } from "./columns";
import { MAX_WIDTH, MIN_WIDTH, readLayout, withWidth, writeLayout } from "./layout";

describe("layout", () => {
  it("is stored and read", () => {
    const layout = {
      columns: ["words", "score:a,b", "metadata:tier", "age"] as const,
      widths: { name: 300, "score:a,b": 70 },
    };
    expect(readLayout(writeLayout(layout), "user")).toEqual(layout);
    expect(readLayout(writeLayout({ columns: [], widths: {} }), "user")).toEqual({ columns: [], widths: {} });
  });
  it.each([null, "", "{", "[]", "null", '{"columns":5}'])("is the default instead of %j", (stored) => {
    expect(readLayout(stored, null)).toEqual(DEFAULT_LAYOUT);
    expect(readLayout(stored, "user,words").columns).toEqual(["words", "user"]);
  });
  it("leaves out what it does not know", () => {
    const stored =
      '{"columns":["nonsense","age","score:",7,"words"],"widths":{"name":"x","age":5,"words":99999}}';
    expect(readLayout(stored, null)).toEqual({
      columns: ["words", "age"],
      widths: { age: MIN_WIDTH, words: MAX_WIDTH },
    });
  });
  it("has widths that can be set and reset", () => {
    const widths = withWidth(withWidth({}, "name", 250.4), "age", 60);
    expect(widths).toEqual({ name: 250, age: 60 });
    expect(withWidth(widths, "name", null)).toEqual({ age: 60 });
  });
});
