import { Select, Skeleton, Text } from "@mantine/core";
import { useState } from "react";
import { useAllMembers, useSetMemberRole } from "@/api/members";
import type { Role } from "@/api/types";
import { FormDialog } from "@/components/FormDialog";
import { QueryState } from "@/components/QueryState";
import { RoleField } from "./RoleField";
import type { Group } from "./rules";

interface Props {
  workspace: Group;
  workspaceId: string;
  onClose: () => void;
}

/** Gives someone of the organization a role in a workspace. */
export function AddMemberDialog({ workspace, workspaceId, onClose }: Props) {
  const people = useAllMembers({ organization_id: workspace.organizationId });
  const add = useSetMemberRole(workspace.place);
  const [userId, setUserId] = useState<string | null>(null);
  const [role, setRole] = useState<Role>("member");
  return (
    <FormDialog
      title={`Add a member to ${workspace.name}`}
      action="Add member"
      mutation={add}
      onSubmit={() => userId && add.mutate({ userId, role }, { onSuccess: onClose })}
      onClose={onClose}
      disabled={userId === null}
    >
      <QueryState query={people} skeleton={<Skeleton height={56} />}>
        {(members) => {
          const others = members.filter(
            (member) => !member.workspaces.some((item) => item.workspace_id === workspaceId),
          );
          if (others.length === 0)
            return <Text size="sm">Everyone in the organization already has a role in this workspace.</Text>;
          return (
            <Select
              label="Person"
              description="Someone who belongs to the organization. Invite others by a link."
              placeholder="Search people"
              searchable
              nothingFoundMessage="No one in the organization matches."
              data-autofocus
              data={others.map(({ user_id, email }) => ({ value: user_id, label: email }))}
              value={userId}
              onChange={(value) => {
                add.reset();
                setUserId(value);
              }}
            />
          );
        }}
      </QueryState>
      <RoleField value={role} onChange={setRole} kind="workspace" myRole={workspace.myRole} />
    </FormDialog>
  );
}
