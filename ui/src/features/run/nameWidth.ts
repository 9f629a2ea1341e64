import type { RunTree } from "./outline";
import { modelBesideName } from "./spanModel";

/** Pixels of a level, of what stands before and after a name, and of a character on average. */
const INDENT = 14;
const AROUND = 62;
const TOKENS = 66;
const CHARACTER = 6.9;

/** Levels beyond this are not indented. */
export const MAX_INDENT = 18;

/** Longer names would leave no room for the waterfall. */
const MAX_CHARACTERS = 80;

/** The share of the names that have room. */
const ENOUGH = 0.95;

/** The width in pixels in which most names of a run are whole. */
export function nameWidth(tree: RunTree): number {
  const widths = new Float64Array(tree.size);
  for (let index = 0; index < tree.size; index++) {
    const name = tree.text.name(index) || "unnamed";
    const model = modelBesideName(tree.text.kind(index), name, tree.text.model(index));
    const characters = name.length + (model === "" ? 0 : model.length + 3);
    widths[index] =
      Math.min(tree.depth[index] as number, MAX_INDENT) * INDENT +
      AROUND +
      Math.min(characters, MAX_CHARACTERS) * CHARACTER +
      ((tree.tokens[index] as number) >= 0 ? TOKENS : 0);
  }
  widths.sort();
  return Math.round(widths[Math.ceil(tree.size * ENOUGH) - 1] ?? 0);
}
