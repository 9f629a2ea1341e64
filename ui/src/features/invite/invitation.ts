import { ApiError } from "@/api/problem";
import type { InvitationPreview, Me } from "@/api/types";

/** What an invitation is to. */
export function invitedTo({ workspace_name, organization_name }: InvitationPreview): string {
  return workspace_name ?? organization_name;
}

/** Where the new member starts: a project that the invitation gave access to, or the home page. */
export function startOf(me: Me, { organization_name, workspace_name }: InvitationPreview): string {
  const project = me.projects.find(
    (candidate) =>
      candidate.organization_name === organization_name &&
      (workspace_name === null || candidate.workspace_name === workspace_name),
  );
  return project ? `/p/${project.id}/runs` : "/";
}

const titles: Record<string, string> = {
  invitation_accepted: "Invitation already used",
  invitation_revoked: "Invitation revoked",
  invitation_expired: "Invitation expired",
};

/** Why the link of an invitation does not work, and what to do. Null if the error says nothing about the link. */
export function endOf(error: Error | null): { title: string; advice: string } | null {
  if (!(error instanceof ApiError)) return null;
  if (error.status === 404 || error.status === 422) {
    return {
      title: "Invitation not found",
      advice: "Check that you opened the whole link, or ask for a new one.",
    };
  }
  const title = titles[error.problem?.code ?? ""];
  return title ? { title, advice: error.problem?.detail ?? "Ask for a new one." } : null;
}
