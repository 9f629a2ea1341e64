import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { render, target } from "../../scripts/schema.mjs";

it("is up to date with the OpenAPI document (npm run generate)", async () => {
  expect(await readFile(target, "utf8")).toBe(await render());
}, 60_000);
