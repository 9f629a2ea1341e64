import { Badge, Group as Line, Menu, Text } from "@mantine/core";
import {
  IconDoorExit,
  IconKey,
  IconUserCheck,
  IconUserEdit,
  IconUserMinus,
  IconUserOff,
} from "@tabler/icons-react";
import { useState } from "react";
import { useNavigate } from "react-router";
import { useMe } from "@/api/identity";
import { useCreatePasswordReset, useLeave, useMembers, useSetMemberActive } from "@/api/members";
import type { Member, PasswordReset } from "@/api/types";
import { Ago } from "@/components/Ago";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { type Column, DataTable } from "@/components/DataTable";
import { formatTime, NONE } from "@/components/format";
import { ListPage } from "@/components/ListPage";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { SecretDialog } from "@/components/SecretDialog";
import { useNow } from "@/components/useNow";
import { RemoveDialog } from "./RemoveDialog";
import { RoleDialog } from "./RoleDialog";
import { allowedActions, type Group, sourceText } from "./rules";

type OpenDialog =
  | { kind: "role" | "remove" | "leave" | "deactivate" | "reactivate" | "reset"; member: Member }
  | { kind: "link"; member: Member; link: PasswordReset };

interface Props {
  group: Group;
  tools: React.ReactNode;
  actions: React.ReactNode;
}

/** The people of a group with their roles. */
export function People({ group, tools, actions }: Props) {
  const query = useMembers(group.place);
  const myId = useMe().data?.user?.id ?? "";
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const now = useNow(30_000);
  const isOrganization = group.kind === "organization";
  const columns: Column<Member>[] = [
    { header: "Email", cell: (member) => <Name member={member} isMe={member.user_id === myId} /> },
    {
      header: "Role",
      cell: (member) => (isOrganization ? (member.organization_role ?? NONE) : member.role),
    },
    isOrganization
      ? {
          header: "Roles in workspaces",
          ownLine: true,
          cell: ({ workspaces }) =>
            workspaces.map(({ workspace_name, role }) => `${workspace_name} (${role})`).join(", "),
        }
      : { header: "Through", cell: sourceText },
    {
      header: "Joined",
      number: true,
      cell: ({ joined_at }) => <Ago time={joined_at} now={now} />,
    },
    {
      header: "Actions",
      hideHeader: true,
      cell: (member) => <Actions group={group} member={member} myId={myId} onOpen={setDialog} />,
    },
  ];
  return (
    <>
      <ListPage
        title="Members"
        context={
          isOrganization
            ? `Everyone in the organization ${group.name}. A role in it applies to all its workspaces.`
            : `Everyone with access to the workspace ${group.name} and its projects.`
        }
        tools={tools}
        actions={actions}
        query={query}
        what="members"
        rowHeight={36}
        emptyTitle="No members."
      >
        {(members) => (
          <DataTable
            label="Members"
            columns={columns}
            rows={members}
            rowKey={({ user_id }) => user_id}
            rowProps={({ deactivated_at }) => ({
              "data-testid": "member-row",
              "data-dim": deactivated_at ? "true" : undefined,
            })}
            stacks
          />
        )}
      </ListPage>
      {dialog && <Dialogs group={group} dialog={dialog} onOpen={setDialog} />}
    </>
  );
}

function Name({ member, isMe }: { member: Member; isMe: boolean }) {
  return (
    <Line gap={8} wrap="nowrap">
      <Text size="sm" fw={550} truncate title={member.email}>
        {member.email}
      </Text>
      {isMe && (
        <Badge size="sm" variant="default" tt="none" flex="none">
          you
        </Badge>
      )}
      {member.deactivated_at && (
        <Badge
          size="sm"
          variant="default"
          tt="none"
          flex="none"
          title={`Deactivated ${formatTime(member.deactivated_at)}`}
        >
          deactivated
        </Badge>
      )}
    </Line>
  );
}

interface ActionsProps {
  group: Group;
  member: Member;
  myId: string;
  onOpen: (dialog: OpenDialog) => void;
}

function Actions({ group, member, myId, onOpen }: ActionsProps) {
  const allowed = allowedActions(group, member, myId);
  const open = (kind: Exclude<OpenDialog["kind"], "link">) => () => onOpen({ kind, member });
  if (!Object.values(allowed).some(Boolean)) return null;
  return (
    <RowMenu name={member.email}>
      {allowed.changeRole && (
        <Menu.Item leftSection={<IconUserEdit size={15} />} onClick={open("role")}>
          Change role…
        </Menu.Item>
      )}
      {allowed.manageAccount && !member.deactivated_at && (
        <Menu.Item leftSection={<IconKey size={15} />} onClick={open("reset")}>
          Create password reset link…
        </Menu.Item>
      )}
      {allowed.manageAccount &&
        (member.deactivated_at ? (
          <Menu.Item leftSection={<IconUserCheck size={15} />} onClick={open("reactivate")}>
            Reactivate account…
          </Menu.Item>
        ) : (
          <DangerItem icon={IconUserOff} onClick={open("deactivate")}>
            Deactivate account…
          </DangerItem>
        ))}
      {allowed.remove && (
        <DangerItem icon={IconUserMinus} onClick={open("remove")}>
          Remove from the {group.kind}…
        </DangerItem>
      )}
      {allowed.leave && (
        <DangerItem icon={IconDoorExit} onClick={open("leave")}>
          Leave the {group.kind}…
        </DangerItem>
      )}
    </RowMenu>
  );
}

interface DialogsProps {
  group: Group;
  dialog: OpenDialog;
  onOpen: (dialog: OpenDialog | null) => void;
}

function Dialogs({ group, dialog, onOpen }: DialogsProps) {
  const leave = useLeave();
  const setActive = useSetMemberActive(group.organizationId);
  const reset = useCreatePasswordReset(group.organizationId);
  const navigate = useNavigate();
  const close = () => onOpen(null);
  const { member } = dialog;
  const { email, user_id: userId } = member;
  const inherited = group.kind === "workspace" ? member.organization_role : null;
  switch (dialog.kind) {
    case "role":
      return <RoleDialog group={group} member={member} onClose={close} />;
    case "remove":
      return (
        <RemoveDialog group={group} member={member} onClose={close}>
          {inherited
            ? `They lose their role in this workspace, but keep access as ${inherited} of the organization.`
            : group.kind === "workspace"
              ? "They lose access to all projects of the workspace. Their account stays."
              : "They lose access to all workspaces and projects of the organization. Their account stays."}
        </RemoveDialog>
      );
    case "leave":
      return (
        <ConfirmDialog
          title={`Leave ${group.name}?`}
          action={`Leave the ${group.kind}`}
          mutation={leave}
          onConfirm={() =>
            // mutateAsync waits for the list of projects, so that the next page does not open a lost one.
            leave.mutateAsync(group.place).then(
              () => navigate("/", { replace: true }),
              () => undefined, // the dialog shows the error
            )
          }
          onClose={close}
        >
          {inherited
            ? `You lose your role in this workspace, but keep access as ${inherited} of the organization.`
            : `You lose access to all projects of the ${group.kind}. Only an admin can let you in again.`}
        </ConfirmDialog>
      );
    case "deactivate":
      return (
        <ConfirmDialog
          title={`Deactivate the account ${email}?`}
          action="Deactivate account"
          mutation={setActive}
          onConfirm={() => setActive.mutate({ userId, active: false }, { onSuccess: close })}
          onClose={close}
        >
          They are logged out everywhere at once and can't log in to any organization until the account is
          reactivated. Their roles and the keys they created are kept.
        </ConfirmDialog>
      );
    case "reactivate":
      return (
        <ConfirmDialog
          title={`Reactivate the account ${email}?`}
          action="Reactivate account"
          mutation={setActive}
          onConfirm={() => setActive.mutate({ userId, active: true }, { onSuccess: close })}
          onClose={close}
          destructive={false}
        >
          They can log in again with their password, and have the same roles as before.
        </ConfirmDialog>
      );
    case "reset":
      return (
        <ConfirmDialog
          title={`Create a password reset link for ${email}?`}
          action="Create link"
          mutation={reset}
          onConfirm={() =>
            reset.mutate(userId, { onSuccess: (link) => onOpen({ kind: "link", member, link }) })
          }
          onClose={close}
          destructive={false}
        >
          With the link they set a new password. It works once, for 24 hours, and replaces an earlier link.
          The old password works until then.
        </ConfirmDialog>
      );
    case "link":
      return (
        <SecretDialog
          title={`Password reset link for ${email}`}
          secret={dialog.link.url}
          what="link"
          testId="one-time-link"
          onClose={close}
        >
          Send it to {email} yourself; Looptrace sends no email. It works once, until{" "}
          {formatTime(dialog.link.expires_at)}.
        </SecretDialog>
      );
  }
}
