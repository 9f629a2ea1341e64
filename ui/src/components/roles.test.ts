import { describe, expect, it } from "vitest";
import { givableRoles, isAtLeast, roleDescription, withArticle } from "./roles";

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

it("says of a workspace's owner only what they may do in it", () => {
  expect(roleDescription("owner", "organization")).toContain("the organization");
  expect(roleDescription("owner", "workspace")).not.toContain("organization");
  expect(roleDescription("admin", "workspace")).toBe(roleDescription("admin", "organization"));
});

it("uses the right article", () => {
  expect((["owner", "admin", "member", "viewer"] as const).map(withArticle)).toEqual([
    "an owner",
    "an admin",
    "a member",
    "a viewer",
  ]);
});
