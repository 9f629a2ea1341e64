import { describe, expect, it } from "vitest";
import type { Member, Role } from "@/api/types";
import { type Allowed, allowedActions, ownRole, sourceText } from "./rules";

function member(organizationRole: Role | null, workspaceRole: Role | null = null): Member {
  return {
    user_id: "other",
    email: "other@example.com",
    role: organizationRole ?? workspaceRole ?? "viewer",
    organization_role: organizationRole,
    workspaces:
      workspaceRole === null ? [] : [{ workspace_id: "w", workspace_name: "Default", role: workspaceRole }],
    joined_at: "2026-01-01T00:00:00Z",
    deactivated_at: null,
  };
}

function names(allowed: Allowed): string {
  return Object.entries(allowed)
    .filter(([, is]) => is)
    .map(([name]) => name)
    .join(" ");
}

describe("allowedActions", () => {
  it.each([
    ["an admin with a member", "organization", "admin", member("member"), "changeRole remove manageAccount"],
    ["an admin with an owner", "organization", "admin", member("owner"), ""],
    ["an owner with an owner", "organization", "owner", member("owner"), "changeRole remove manageAccount"],
    ["a member with a viewer", "organization", "member", member("viewer"), ""],
    ["someone without a role in the organization", "organization", null, member("viewer"), ""],
    [
      "an admin with someone of a workspace",
      "organization",
      "admin",
      member(null, "viewer"),
      "changeRole remove manageAccount",
    ],
    [
      "an admin with the owner of a workspace",
      "organization",
      "admin",
      member(null, "owner"),
      "changeRole remove",
    ],
    ["a workspace admin", "workspace", "admin", member(null, "member"), "changeRole remove"],
    ["a workspace admin with an inherited role", "workspace", "admin", member("viewer"), "changeRole"],
    ["a workspace admin with an owner of the organization", "workspace", "admin", member("owner"), ""],
  ] as const)("%s", (_, kind, myRole, of, want) =>
    expect(names(allowedActions({ kind, myRole }, of, "me"))).toBe(want),
  );

  it.each([
    ["organization", "viewer", member("viewer"), "leave"],
    ["organization", "owner", member("owner"), "changeRole leave"],
    ["workspace", "viewer", member("viewer"), ""],
    ["workspace", "member", member("viewer", "member"), "leave"],
  ] as const)("the user in the %s as %s", (kind, myRole, of, want) =>
    expect(names(allowedActions({ kind, myRole }, { ...of, user_id: "me" }, "me"))).toBe(want),
  );
});

it("tells the own role from an inherited one", () => {
  expect(ownRole({ kind: "workspace" }, member("admin"))).toBeNull();
  expect(ownRole({ kind: "workspace" }, member("viewer", "member"))).toBe("member");
  expect(ownRole({ kind: "organization" }, member(null, "member"))).toBeNull();
});

it.each([
  [member("admin"), "organization"],
  [member(null, "viewer"), "this workspace"],
  [member("viewer", "member"), "organization (viewer), this workspace (member)"],
] as const)("says where access comes from", (of, want) => expect(sourceText(of)).toBe(want));
