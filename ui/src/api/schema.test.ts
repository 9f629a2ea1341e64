import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { render, target } from "../../scripts/schema.mjs";

it("is generated from the API as it is now (npm run generate)", async () => {
  expect(await readFile(target, "utf8")).toBe(await render());
});
