import { isObject } from "@/components/json";

/** What an item has for variables. */
interface Values {
  input: unknown;
  reference_output: unknown;
  metadata: unknown;
}

const ROOTS = ["input", "reference_output", "metadata"];

/**
 * The value that an item gives a variable, as the server finds it: at the path, else the member of the input with its name;
 * `input` is the whole input. Undefined if the item has none.
 */
export function itemValue(item: Values, name: string, path: string): unknown {
  if (path.trim() !== "") {
    const [root = "", ...parts] = path.trim().split(".");
    if (!ROOTS.includes(root)) return undefined;
    return parts.reduce<unknown>(member, item[root as keyof Values]);
  }
  const found = member(item.input, name);
  return found === undefined && name === "input" ? item.input : found;
}

function member(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** More paths than someone chooses from. */
const MAX_PATHS = 50;
const MAX_DEPTH = 3;

/** The paths that items have, to choose from. */
export function pathsOf(items: readonly Values[]): string[] {
  const paths = new Set<string>(["input", "reference_output"]);
  const add = (value: unknown, path: string, depth: number) => {
    if (!isObject(value) || depth > MAX_DEPTH) return;
    for (const [name, inner] of Object.entries(value)) {
      if (paths.size >= MAX_PATHS || name.includes(".")) continue;
      paths.add(`${path}.${name}`);
      add(inner, `${path}.${name}`, depth + 1);
    }
  };
  for (const item of items) for (const root of ROOTS) add(item[root as keyof Values], root, 1);
  return [...paths];
}
