import type { Member, Place, Role } from "@/api/types";
import { isAtLeast } from "@/components/roles";

/** The organization or workspace whose people a page lists. */
export interface Group {
  kind: "organization" | "workspace";
  name: string;
  place: Place;
  /** The user's role in it. A workspace inherits the role of its organization. */
  myRole: Role | null;
  organizationId: string;
}

/** The member's own role in the group. Null if they only have one through a workspace, or through the organization. */
export function ownRole(group: Pick<Group, "kind">, member: Member): Role | null {
  if (group.kind === "organization") return member.organization_role;
  return member.workspaces[0]?.role ?? null;
}

export interface Allowed {
  changeRole: boolean;
  remove: boolean;
  leave: boolean;
  /** Deactivate and reactivate the account, reset its password. */
  manageAccount: boolean;
}

/** What the user `me` may do with a member of a group. The API has the last word. */
export function allowedActions(group: Pick<Group, "kind" | "myRole">, member: Member, me: string): Allowed {
  const own = ownRole(group, member);
  const isMe = member.user_id === me;
  const isAdmin = isAtLeast(group.myRole, "admin");
  const outranks = (role: Role | null) => isAdmin && (role !== "owner" || group.myRole === "owner");
  const isInOrganization = group.kind === "organization";
  return {
    // Nothing adds to the role of an owner of the organization.
    changeRole: outranks(own) && (isInOrganization || member.organization_role !== "owner"),
    remove: outranks(own) && !isMe && (isInOrganization || own !== null),
    leave: isMe && own !== null,
    manageAccount: isInOrganization && !isMe && outranks(member.role),
  };
}

/** Where a member's access to a workspace comes from. */
export function sourceText(member: Member): string {
  const own = ownRole({ kind: "workspace" }, member);
  const inherited = member.organization_role;
  if (inherited === null) return "this workspace";
  if (own === null) return "organization";
  return `organization (${inherited}), this workspace (${own})`;
}

/** Expiry of invitations in days. The API allows 30 days, and 28 leave room for clocks that differ. */
export const expiries = [
  { value: "1", label: "In a day" },
  { value: "7", label: "In 7 days" },
  { value: "28", label: "In 4 weeks" },
];
