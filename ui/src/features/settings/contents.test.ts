import { expect, it } from "vitest";
import { contentsText } from "./contents";

const contents = { name: "Acme", workspaces: 2, projects: 1, keys: 1, members: 2, runs: 1234 };

it.each([
  ["organization", "2 workspaces, 1 project, 1,234 runs and 1 key. 2 people lose their role in it."],
  ["workspace", "1 project, 1,234 runs and 1 key. 2 people lose their role in it."],
  ["project", "1,234 runs and 1 key."],
] as const)("counts what a deletion of the %s deletes", (container, want) =>
  expect(contentsText(container, contents)).toBe(want),
);
