import { Radio, Stack } from "@mantine/core";
import type { Role } from "@/api/types";
import { givableRoles, roleDescription, roleLabels } from "@/components/roles";
import type { Group } from "./rules";

interface Props {
  value: Role;
  onChange: (role: Role) => void;
  /** What the role is in. */
  kind: Group["kind"];
  /** The role of the user, who gives the role. */
  myRole: Role | null;
}

/** Chooses a role among those that the user may give. */
export function RoleField({ value, onChange, kind, myRole }: Props) {
  return (
    <Radio.Group label="Role" value={value} onChange={(role) => onChange(role as Role)}>
      <Stack gap={8} mt={6}>
        {givableRoles(myRole).map((role) => (
          <Radio
            key={role}
            value={role}
            label={roleLabels[role]}
            description={roleDescription(role, kind)}
            size="sm"
          />
        ))}
      </Stack>
    </Radio.Group>
  );
}
