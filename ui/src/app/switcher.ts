import type { Me, ProjectAccess } from "@/api/types";
import { isAtLeast } from "@/components/roles";

/** A workspace in the switcher, with its projects. */
export interface ProjectGroup {
  workspaceId: string;
  workspaceName: string;
  organizationName: string;
  projects: ProjectAccess[];
}

/** The projects by organization and workspace, with workspaces that have none. */
export function projectGroups(me: Pick<Me, "organizations" | "projects">): ProjectGroup[] {
  return me.organizations.flatMap((organization) =>
    organization.workspaces.map((workspace) => ({
      workspaceId: workspace.id,
      workspaceName: workspace.name,
      organizationName: organization.name,
      projects: me.projects.filter((project) => project.workspace_id === workspace.id),
    })),
  );
}

/** A place in which the user may create something. */
interface Parent {
  id: string;
  name: string;
}

/** What the user may create, and where. */
export interface Creatable {
  /** The workspaces that can get a project. */
  workspaces: Parent[];
  /** The organizations that can get a workspace. */
  organizations: Parent[];
  /** Whether the user may create an organization: owners may. */
  organization: boolean;
}

/** What the user may create by their roles. */
export function creatableBy(organizations: Me["organizations"]): Creatable {
  const workspaces = organizations.flatMap((organization) =>
    organization.workspaces.map((workspace) => ({ ...workspace, organization: organization.name })),
  );
  return {
    workspaces: workspaces
      .filter(({ role }) => isAtLeast(role, "admin"))
      .map(({ id, name, organization }) => ({ id, name: `${organization} · ${name}` })),
    organizations: organizations
      .filter(({ role }) => isAtLeast(role, "admin"))
      .map(({ id, name }) => ({ id, name })),
    organization: [...organizations, ...workspaces].some(({ role }) => isAtLeast(role, "owner")),
  };
}
