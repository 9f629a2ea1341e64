import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const src = join(import.meta.dirname, "..");
const core = join(src, "../node_modules/@mantine/core");

/** The classes of Mantine in the source of a module and of those that it imports. */
function classesOf(module: string, seen: Set<string>): string[] {
  if (seen.has(module) || !existsSync(module)) return [];
  seen.add(module);
  const text = readFileSync(module, "utf8");
  const imported = [...text.matchAll(/from "(\.[^"]+)"/g)].map(([, path = ""]) => join(module, "..", path));
  return [...(text.match(/\bm_[0-9a-f]+\b/g) ?? []), ...imported.flatMap((path) => classesOf(path, seen))];
}

test("mantine.css has the styles of all parts that the UI uses", () => {
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.tsx?$/.test(file),
  );
  const names = files.flatMap((file) =>
    [...readFileSync(join(src, file), "utf8").matchAll(/\{([^}]*)\} from "@mantine\/core"/g)].flatMap(
      ([, list = ""]) => list.split(",").map((name) => name.trim()),
    ),
  );
  const seen = new Set<string>();
  const used = [...new Set(names)].flatMap((name) =>
    classesOf(join(core, "esm/components", name, `${name}.mjs`), seen),
  );
  const imports = [...readFileSync(join(src, "app/mantine.css"), "utf8").matchAll(/styles\/([\w-]+)\.css/g)];
  const styles = imports.map(([, name]) => readFileSync(join(core, `styles/${name}.css`), "utf8")).join("");
  const all = readFileSync(join(core, "styles.css"), "utf8");
  const missing = [...new Set(used)].filter(
    (name) => all.includes(`.${name}`) && !styles.includes(`.${name}`),
  );
  expect(used.length).toBeGreaterThan(50);
  expect(missing).toEqual([]);
});
