import { expect, it } from "vitest";
import { further, stepsToList, type Way } from "./way";

const list: Way = { fromList: true };

it.each([
  [list, -1],
  [further(list), -2],
  [further(further(list)), -3],
  [further(null), null],
  [null, null],
])("%j leads to the list by %s", (way, want) => expect(stepsToList(way)).toBe(want));
