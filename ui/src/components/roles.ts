import type { Role } from "@/api/types";

const strongestFirst: readonly Role[] = ["owner", "admin", "member", "viewer"];

/** Whether a role includes another one. No role includes none. */
export function isAtLeast(role: Role | null | undefined, needed: Role): boolean {
  return !!role && strongestFirst.indexOf(role) <= strongestFirst.indexOf(needed);
}

/** The roles that someone with a role may give, weakest first. */
export function givableRoles(mine: Role | null): Role[] {
  return strongestFirst.filter((role) => role !== "owner" || mine === "owner").toReversed();
}

export const roleLabels: Record<Role, string> = {
  owner: "Owner",
  admin: "Admin",
  member: "Member",
  viewer: "Viewer",
};

/** What a role in an organization or a workspace allows. */
export function roleDescription(role: Role, kind: "organization" | "workspace"): string {
  if (role === "owner" && kind === "workspace") return "Also manages owners, and deletes the workspace.";
  return roleDescriptions[role];
}

const roleDescriptions: Record<Role, string> = {
  viewer: "Reads runs. Changes nothing.",
  member: "Also deletes runs, adds scores and saves views.",
  admin: "Also manages projects, keys, limits, prices, people and invitations.",
  owner: "Also manages owners, and deletes workspaces and the organization.",
};

/** A role in a sentence: "an admin". */
export function withArticle(role: Role): string {
  return `${/^[ao]/.test(role) ? "an" : "a"} ${role}`;
}
