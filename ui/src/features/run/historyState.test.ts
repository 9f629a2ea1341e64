import { expect, it } from "vitest";
import { type HistoryState, nextEntry, stepsToList } from "./historyState";

const list: HistoryState = { fromList: true };

it.each([
  [list, -1],
  [nextEntry(list), -2],
  [nextEntry(nextEntry(list)), -3],
  [nextEntry(null), null],
  [null, null],
])("%j is %s steps from the list", (state, want) => expect(stepsToList(state)).toBe(want));
