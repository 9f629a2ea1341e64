import { expect, it } from "vitest";
import { membershipsOf } from "./memberships";

it("offers to leave where the user has a role of its own", () => {
  const list = membershipsOf([
    {
      id: "o1",
      name: "Acme",
      role: "viewer",
      workspaces: [
        { id: "w1", name: "Inherited", role: "viewer" },
        { id: "w2", name: "Stronger", role: "admin" },
      ],
    },
    { id: "o2", name: "Guest", role: null, workspaces: [{ id: "w3", name: "Only", role: "viewer" }] },
  ]);
  expect(list.map(({ name, mayLeave }) => [name, mayLeave])).toEqual([
    ["Acme", true],
    ["Inherited", false],
    ["Stronger", true],
    ["Guest", false],
    ["Only", true],
  ]);
});
