import { expect, it } from "vitest";
import { queryText } from "./query";

it("repeats lists, omits missing values and names the members of objects", () => {
  const query = {
    status: ["ok", "error"],
    search: undefined,
    cursor: null,
    limit: 50,
    metadata: { tier: "free" },
  };
  expect(queryText(query)).toBe("status=ok&status=error&limit=50&metadata%5Btier%5D=free");
});

it("encodes any metadata key", () => {
  const metadata = { "a[0]": "x", "a&b=c": "1 + 1", "#%": "ü" };
  const read = new URLSearchParams(queryText({ metadata }));
  expect([...read]).toEqual([
    ["metadata[a[0]]", "x"],
    ["metadata[a&b=c]", "1 + 1"],
    ["metadata[#%]", "ü"],
  ]);
});
