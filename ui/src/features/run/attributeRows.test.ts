import { expect, it } from "vitest";
import { attributeRows } from "./attributeRows";

const attributes = { "gen_ai.request.model": "gpt-4o", count: 3, list: ["a"], nothing: null };

it.each([
  ["", ["count=3", "gen_ai.request.model=gpt-4o", 'list=["a"]', "nothing=null"]],
  ["GPT", ["gen_ai.request.model=gpt-4o"]],
  [" count ", ["count=3"]],
  ["absent", []],
])("filter %j", (filter, want) => {
  expect(attributeRows(attributes, filter).map(({ key, text }) => `${key}=${text}`)).toEqual(want);
});
