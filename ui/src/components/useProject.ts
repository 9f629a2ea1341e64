import { useParams } from "react-router";
import { useMe } from "@/api/identity";
import type { ProjectAccess, Scope } from "@/api/types";

const storageKey = "looptrace.project";

/** The project of the address, with what the caller may do in it; undefined where it is none of theirs. */
export function useProject(): ProjectAccess | undefined {
  const { projectId } = useParams();
  return useMe().data?.projects.find((project) => project.id === projectId);
}

/** The id of the project in the address. */
export function useProjectId(): string {
  const { projectId } = useParams();
  if (!projectId) throw new Error("this page belongs to no project");
  return projectId;
}

/** Whether the caller may do what a scope allows. */
export function allows(project: ProjectAccess | undefined, scope: Scope): boolean {
  return project !== undefined && (project.scopes.includes(scope) || project.scopes.includes("admin"));
}

/** The project that was open last in this browser. */
export function recallProject(): string | null {
  try {
    return localStorage.getItem(storageKey);
  } catch {
    return null;
  }
}

/** Keeps the project for the next visit. */
export function rememberProject(id: string): void {
  try {
    localStorage.setItem(storageKey, id);
  } catch {
    // A browser that stores nothing opens the first project next time.
  }
}
