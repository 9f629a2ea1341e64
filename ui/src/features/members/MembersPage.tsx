import { Button, SegmentedControl } from "@mantine/core";
import { IconPlus, IconUserPlus } from "@tabler/icons-react";
import { useState } from "react";
import type { InvitationWithLink, OrganizationAccess, ProjectAccess } from "@/api/types";
import { formatTime } from "@/components/format";
import { isAtLeast, withArticle } from "@/components/roles";
import { SecretDialog } from "@/components/SecretDialog";
import { useAddress } from "@/components/useAddress";
import { useOrganization, useProject } from "@/components/useProject";
import { AddMemberDialog } from "./AddMemberDialog";
import { Invitations } from "./Invitations";
import { InviteDialog } from "./InviteDialog";
import { People } from "./People";
import type { Group } from "./rules";

/** The people of the project's organization or workspace, and the invitations to it. */
export function MembersPage() {
  const project = useProject();
  const organization = useOrganization(project);
  if (!project || !organization) return null;
  return <Members project={project} organization={organization} />;
}

type OpenDialog = { kind: "add" | "invite" } | { kind: "link"; invitation: InvitationWithLink };

function Members({ project, organization }: { project: ProjectAccess; organization: OrganizationAccess }) {
  const { params, set } = useAddress();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);

  const whole: Group = {
    kind: "organization",
    name: organization.name,
    place: { organization_id: organization.id },
    myRole: organization.role,
    organizationId: organization.id,
  };
  const workspaceGroup = ({ id, name, role }: OrganizationAccess["workspaces"][number]): Group => ({
    kind: "workspace",
    name,
    place: { workspace_id: id },
    myRole: role,
    organizationId: organization.id,
  });
  const workspace = workspaceGroup({
    id: project.workspace_id,
    name: project.workspace_name,
    role: project.role,
  });
  // People without a role in the organization see only their workspace.
  const seesOrganization = organization.role !== null;
  const group = seesOrganization && params.get("of") !== "workspace" ? whole : workspace;
  const isAdmin = isAtLeast(group.myRole, "admin");
  const showsInvitations = isAdmin && params.get("show") === "invitations";

  // The shown group first.
  const [invitable, ...otherInvitable] = [
    group,
    whole,
    ...organization.workspaces.map(workspaceGroup),
  ].filter(
    (candidate, index) => isAtLeast(candidate.myRole, "admin") && (index === 0 || !isSame(candidate, group)),
  );

  const tools = (seesOrganization || isAdmin) && (
    <>
      {seesOrganization && (
        <SegmentedControl
          size="xs"
          mr="sm"
          aria-label="Members of"
          value={group.kind}
          onChange={(value) => set({ of: value === "workspace" ? value : null }, true)}
          data={[
            { value: "organization", label: "Organization" },
            { value: "workspace", label: "Workspace" },
          ]}
        />
      )}
      {isAdmin && (
        <SegmentedControl
          size="xs"
          aria-label="Show"
          value={showsInvitations ? "invitations" : "people"}
          onChange={(value) => set({ show: value === "invitations" ? value : null }, true)}
          data={[
            { value: "people", label: "People" },
            { value: "invitations", label: "Invitations" },
          ]}
        />
      )}
    </>
  );
  const actions = isAdmin && (
    <>
      {group.kind === "workspace" && seesOrganization && (
        <Button
          variant="default"
          leftSection={<IconPlus size={14} />}
          onClick={() => setDialog({ kind: "add" })}
        >
          Add member
        </Button>
      )}
      <Button leftSection={<IconUserPlus size={14} />} onClick={() => setDialog({ kind: "invite" })}>
        Invite
      </Button>
    </>
  );
  const List = showsInvitations ? Invitations : People;
  return (
    <>
      <List key={group.kind} group={group} tools={tools} actions={actions} />
      {dialog?.kind === "add" && (
        <AddMemberDialog workspace={workspace} workspaceId={project.workspace_id} onClose={close} />
      )}
      {dialog?.kind === "invite" && invitable && (
        <InviteDialog
          groups={[invitable, ...otherInvitable]}
          onClose={close}
          onCreated={(invitation) => setDialog({ kind: "link", invitation })}
        />
      )}
      {dialog?.kind === "link" && <InvitationLink invitation={dialog.invitation} onClose={close} />}
    </>
  );
}

function isSame(a: Group, b: Group): boolean {
  return JSON.stringify(a.place) === JSON.stringify(b.place);
}

function InvitationLink({ invitation, onClose }: { invitation: InvitationWithLink; onClose: () => void }) {
  const { email, role, url, expires_at, organization_name, workspace_name } = invitation;
  return (
    <SecretDialog
      title={`Invitation to ${workspace_name ?? organization_name}`}
      secret={url}
      what="link"
      testId="one-time-link"
      onClose={onClose}
    >
      Send it to {email ?? "your colleague"} yourself; Looptrace sends no email. Whoever opens it
      {email && " with this address"} joins as {withArticle(role)}. It works once, until{" "}
      {formatTime(expires_at)}.
    </SecretDialog>
  );
}
