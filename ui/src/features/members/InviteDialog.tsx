import { Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { useInvite } from "@/api/invitations";
import { ApiError } from "@/api/problem";
import type { InvitationWithLink, Role } from "@/api/types";
import { FormDialog } from "@/components/FormDialog";
import { RoleField } from "./RoleField";
import { expiries, type Group } from "./rules";

const DEFAULT_DAYS = "7";

interface Props {
  /** The groups that the user may invite to. The first one is selected. */
  groups: readonly [Group, ...Group[]];
  onClose: () => void;
  onCreated: (invitation: InvitationWithLink) => void;
}

/** Asks for the group, role and expiry of an invitation. */
export function InviteDialog({ groups, onClose, onCreated }: Props) {
  const invite = useInvite();
  const [chosen, setChosen] = useState("0");
  const [role, setRole] = useState<Role>("member");
  const [email, setEmail] = useState("");
  const [days, setDays] = useState(DEFAULT_DAYS);
  const group = groups[Number(chosen)] ?? groups[0];
  const emailError = invite.error instanceof ApiError ? invite.error.fieldMessage("body.email") : undefined;
  const submit = () => {
    const address = email.trim();
    invite.mutate(
      {
        ...group.place,
        role,
        ...(address !== "" && { email: address }),
        ...(days !== DEFAULT_DAYS && {
          expires_at: new Date(Date.now() + Number(days) * 86_400_000).toISOString(),
        }),
      },
      { onSuccess: onCreated },
    );
  };
  return (
    <FormDialog
      title="Invite someone"
      action="Create invitation link"
      mutation={invite}
      onSubmit={submit}
      onClose={onClose}
      hideError={emailError !== undefined}
      size="lg"
    >
      <Select
        label="To"
        data={groups.map(({ kind, name }, index) => ({
          value: String(index),
          label: kind === "organization" ? `Organization ${name}` : `Workspace ${name}`,
        }))}
        description={
          group.kind === "organization" ? "The role applies to all its workspaces and projects." : undefined
        }
        value={chosen}
        onChange={(value) => {
          setChosen(value ?? "0");
          setRole("member");
        }}
        allowDeselect={false}
      />
      <RoleField value={role} onChange={setRole} kind={group.kind} myRole={group.myRole} />
      <TextInput
        label="Email (optional)"
        description="If given, only this address can accept the invitation. Looptrace sends no email."
        type="email"
        autoComplete="off"
        maxLength={254}
        value={email}
        onChange={(event) => {
          invite.reset();
          setEmail(event.currentTarget.value);
        }}
        error={emailError}
      />
      <Select
        label="Expires"
        data={expiries}
        value={days}
        onChange={(value) => setDays(value ?? DEFAULT_DAYS)}
        allowDeselect={false}
        maw={200}
      />
    </FormDialog>
  );
}
