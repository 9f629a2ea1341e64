// Writes src/api/schema.gen.ts from the API's OpenAPI document.
import { writeFile } from "node:fs/promises";
import { render, target } from "./schema.mjs";

await writeFile(target, await render());
