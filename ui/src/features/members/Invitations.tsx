import { Badge, Group as Line, Text } from "@mantine/core";
import { IconBan } from "@tabler/icons-react";
import { useState } from "react";
import { useInvitations, useRevokeInvitation } from "@/api/invitations";
import type { Invitation } from "@/api/types";
import { Ago } from "@/components/Ago";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { DataTable } from "@/components/DataTable";
import { formatMoment, formatTime } from "@/components/format";
import { ListPage } from "@/components/ListPage";
import { PageHint } from "@/components/PageMessage";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { useNow } from "@/components/useNow";
import type { Group } from "./rules";

interface Props {
  group: Group;
  tools: React.ReactNode;
  actions: React.ReactNode;
}

/** The invitations to a group: who can still join, and what became of the others. */
export function Invitations({ group, tools, actions }: Props) {
  const query = useInvitations(group.place);
  const revoke = useRevokeInvitation();
  const [revoking, setRevoking] = useState<Invitation | null>(null);
  const now = useNow(30_000);
  const close = () => {
    revoke.reset();
    setRevoking(null);
  };
  return (
    <>
      <ListPage
        title="Members"
        context={
          group.kind === "organization"
            ? `Invitations to the organization ${group.name} and its workspaces.`
            : `Invitations to the workspace ${group.name}.`
        }
        tools={tools}
        actions={query.data?.pages.some(({ data }) => data.length > 0) ? actions : undefined}
        query={query}
        what="invitations"
        rowHeight={36}
        emptyTitle="No invitations yet."
        emptyHint={
          <>
            <PageHint>Invite a colleague with a link that you send them yourself.</PageHint>
            {actions}
          </>
        }
      >
        {(invitations) => (
          <DataTable
            label="Invitations"
            stacks
            columns={[
              { header: "For", cell: (invitation) => <For invitation={invitation} /> },
              { header: "Role", cell: ({ role }) => role },
              {
                header: "In",
                cell: ({ organization_name, workspace_name }) => workspace_name ?? organization_name,
              },
              { header: "Invited by", cell: ({ created_by }) => created_by ?? "a deleted user" },
              {
                header: "Created",
                number: true,
                cell: ({ created_at }) => <Ago time={created_at} now={now} />,
              },
              {
                header: "Expires",
                number: true,
                title: ({ expires_at }) => formatTime(expires_at),
                cell: ({ state, expires_at }) =>
                  state === "pending" || state === "expired" ? formatMoment(expires_at, now) : null,
              },
              {
                header: "Actions",
                hideHeader: true,
                cell: (invitation) =>
                  invitation.state === "pending" && (
                    <RowMenu name={`the invitation ${nameOf(invitation)}`}>
                      <DangerItem icon={IconBan} onClick={() => setRevoking(invitation)}>
                        Revoke…
                      </DangerItem>
                    </RowMenu>
                  ),
              },
            ]}
            rows={invitations}
            rowKey={({ id }) => id}
            rowProps={({ state }) => ({
              "data-testid": "invitation-row",
              "data-state": state,
              "data-dim": state === "pending" ? undefined : "true",
            })}
          />
        )}
      </ListPage>
      {revoking && (
        <ConfirmDialog
          title={`Revoke the invitation ${nameOf(revoking)}?`}
          action="Revoke invitation"
          mutation={revoke}
          onConfirm={() => revoke.mutate(revoking.id, { onSuccess: close })}
          onClose={close}
        >
          Its link stops working at once. You can't undo this, but you can create another invitation.
        </ConfirmDialog>
      )}
    </>
  );
}

function nameOf({ email, workspace_name, organization_name }: Invitation): string {
  return email ? `for ${email}` : `to ${workspace_name ?? organization_name}`;
}

function For({ invitation }: { invitation: Invitation }) {
  const { email, state, accepted_by } = invitation;
  return (
    <Line gap={8} wrap="nowrap">
      <Text size="sm" fw={550} truncate title={accepted_by ?? email ?? undefined}>
        {accepted_by ?? email ?? "anyone with the link"}
      </Text>
      <Badge size="sm" variant="default" tt="none" flex="none">
        {state}
      </Badge>
    </Line>
  );
}
