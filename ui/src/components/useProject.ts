import { useParams } from "react-router";
import { useMe } from "@/api/identity";
import type { OrganizationAccess, ProjectAccess, Scope } from "@/api/types";

const storageKey = "looptrace.project";

/**
 * The project in the address, with the user's scopes. Pages without one have the project that was last open, or the first.
 * Undefined if the user has no access.
 */
export function useProject(): ProjectAccess | undefined {
  const { projectId } = useParams();
  const projects = useMe().data?.projects ?? [];
  const find = (id: string | null | undefined) => projects.find((project) => project.id === id);
  return projectId === undefined ? (find(recallProject()) ?? projects[0]) : find(projectId);
}

/** The id of the project in the address. */
export function useProjectId(): string {
  const { projectId } = useParams();
  if (!projectId) throw new Error("this page has no project");
  return projectId;
}

/** The organization of a project, with the user's role in it. */
export function useOrganization(project: ProjectAccess | undefined): OrganizationAccess | undefined {
  return useMe().data?.organizations.find(({ id }) => id === project?.organization_id);
}

/** Whether the user has a scope in the project. */
export function allows(project: ProjectAccess | undefined, scope: Scope): boolean {
  return project !== undefined && (project.scopes.includes(scope) || project.scopes.includes("admin"));
}

/** The project that was last open in this browser. */
function recallProject(): string | null {
  try {
    return localStorage.getItem(storageKey);
  } catch {
    return null;
  }
}

/** Remembers the project for the next visit. */
export function rememberProject(id: string): void {
  try {
    localStorage.setItem(storageKey, id);
  } catch {
    // Without storage the first project opens next time.
  }
}
