import { Text } from "@mantine/core";
import { useState } from "react";
import { useSetMemberRole } from "@/api/members";
import type { Member, Role } from "@/api/types";
import { FormDialog } from "@/components/FormDialog";
import { RoleField } from "./RoleField";
import { type Group, ownRole } from "./rules";

interface Props {
  group: Group;
  member: Member;
  onClose: () => void;
}

/** Changes the role of a member in a group. */
export function RoleDialog({ group, member, onClose }: Props) {
  const own = ownRole(group, member);
  const save = useSetMemberRole(group.place);
  const [role, setRole] = useState<Role>(own ?? member.role);
  const change = (chosen: Role) => {
    save.reset();
    setRole(chosen);
  };
  return (
    <FormDialog
      title={`Role of ${member.email} in ${group.name}`}
      action="Save role"
      mutation={save}
      onSubmit={() => save.mutate({ userId: member.user_id, role }, { onSuccess: onClose })}
      onClose={onClose}
      disabled={role === own}
    >
      {group.kind === "workspace" && member.organization_role && (
        <Text size="sm">
          They already have the role {member.organization_role} through the organization. The stronger role
          counts.
        </Text>
      )}
      <RoleField value={role} onChange={change} kind={group.kind} myRole={group.myRole} />
    </FormDialog>
  );
}
