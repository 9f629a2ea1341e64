import { Radio, Stack } from "@mantine/core";
import type { Role } from "@/api/types";
import { givableRoles, roleDescriptions, roleLabels } from "@/components/roles";

interface Props {
  value: Role;
  onChange: (role: Role) => void;
  /** The role of the user, who gives the role. */
  myRole: Role | null;
}

/** Chooses a role among those that the user may give. */
export function RoleField({ value, onChange, myRole }: Props) {
  return (
    <Radio.Group label="Role" value={value} onChange={(role) => onChange(role as Role)}>
      <Stack gap={8} mt={6}>
        {givableRoles(myRole).map((role) => (
          <Radio
            key={role}
            value={role}
            label={roleLabels[role]}
            description={roleDescriptions[role]}
            size="sm"
          />
        ))}
      </Stack>
    </Radio.Group>
  );
}
