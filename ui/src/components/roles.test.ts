import { describe, expect, it } from "vitest";
import { givableRoles, isAtLeast, withArticle } from "./roles";

describe("isAtLeast", () => {
  it.each([
    ["owner", "admin", true],
    ["admin", "admin", true],
    ["member", "admin", false],
    ["viewer", "viewer", true],
    [null, "viewer", false],
    [undefined, "viewer", false],
  ] as const)("%s, %s", (role, needed, want) => expect(isAtLeast(role, needed)).toBe(want));
});

describe("givableRoles", () => {
  it("lets only owners give the role owner", () => {
    expect(givableRoles("admin")).toEqual(["viewer", "member", "admin"]);
    expect(givableRoles("owner")).toEqual(["viewer", "member", "admin", "owner"]);
  });
});

it("uses the right article", () => {
  expect((["owner", "admin", "member", "viewer"] as const).map(withArticle)).toEqual([
    "an owner",
    "an admin",
    "a member",
    "a viewer",
  ]);
});
