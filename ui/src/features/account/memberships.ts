import type { OrganizationAccess, Place, Role } from "@/api/types";

/** An organization or workspace that the user belongs to. */
export interface Membership {
  kind: "organization" | "workspace";
  id: string;
  name: string;
  organizationName: string;
  place: Place;
  /** Null for an organization in which the user only belongs to a workspace. */
  role: Role | null;
  /** Whether the user has a role of its own there, and not only that of the organization. */
  mayLeave: boolean;
}

/** Each organization, followed by its workspaces. */
export function membershipsOf(organizations: readonly OrganizationAccess[]): Membership[] {
  return organizations.flatMap(({ id, name, role, workspaces }) => [
    {
      kind: "organization" as const,
      id,
      name,
      organizationName: name,
      place: { organization_id: id },
      role,
      mayLeave: role !== null,
    },
    ...workspaces.map((workspace) => ({
      kind: "workspace" as const,
      id: workspace.id,
      name: workspace.name,
      organizationName: name,
      place: { workspace_id: workspace.id },
      role: workspace.role,
      // Its role is the stronger of both. A different one than the organization's is its own.
      mayLeave: workspace.role !== role,
    })),
  ]);
}
