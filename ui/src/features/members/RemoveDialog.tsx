import { Checkbox, Skeleton, Text } from "@mantine/core";
import { useState } from "react";
import { useMe } from "@/api/identity";
import { useMemberKeys, useRemoveMember } from "@/api/members";
import type { Member } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { ProblemPanel } from "@/components/ProblemPanel";
import type { Group } from "./rules";

/** More keys than a dialog can show. */
const SHOWN = 8;

interface Props {
  group: Group;
  member: Member;
  onClose: () => void;
  /** What they lose. */
  children: React.ReactNode;
}

/** Asks before a member is removed, and what becomes of the keys that they created. */
export function RemoveDialog({ group, member, onClose, children }: Props) {
  const { email, user_id: userId } = member;
  const remove = useRemoveMember(group.place);
  const query = useMemberKeys(group.place, userId);
  const projects = useMe().data?.projects ?? [];
  const [revokeKeys, setRevokeKeys] = useState(false);
  const made = query.data?.data ?? [];
  const more = made.length - SHOWN;
  return (
    <ConfirmDialog
      title={`Remove ${email} from ${group.name}?`}
      action="Remove"
      mutation={remove}
      disabled={query.isPending}
      onConfirm={() => remove.mutate({ userId, revokeKeys }, { onSuccess: onClose })}
      onClose={onClose}
    >
      {children}
      {query.isPending && <Skeleton mt="sm" height={20} aria-label="Looking for keys" />}
      {query.isError && <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />}
      {query.isSuccess && made.length === 0 && " They have created no keys that work here."}
      {made.length > 0 && (
        <div data-testid="keys-of-member">
          <Text size="sm" mt="sm">
            These keys, which they created, keep working:
          </Text>
          <ul>
            {made.slice(0, SHOWN).map(({ id, name, project_id, public_id }) => (
              <li key={id}>
                {name} (<code>lt_{public_id}</code>) in{" "}
                {projects.find((project) => project.id === project_id)?.name ?? "another project"}
              </li>
            ))}
            {more > 0 && <li>{query.data?.has_more ? `more than ${more}` : more} more</li>}
          </ul>
          <Checkbox
            label="Revoke their keys, too"
            description="Programs that use them lose access within 5 seconds. You can't undo this."
            checked={revokeKeys}
            onChange={(event) => setRevokeKeys(event.currentTarget.checked)}
          />
        </div>
      )}
    </ConfirmDialog>
  );
}
