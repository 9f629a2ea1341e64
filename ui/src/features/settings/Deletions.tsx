import { Button, Group, Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { useNavigate } from "react-router";
import { type Container, useContents, useDeleteContainer } from "@/api/organizations";
import type { ProjectAccess } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { QueryState } from "@/components/QueryState";
import { isAtLeast } from "@/components/roles";
import { Section } from "@/components/Section";
import { useOrganization } from "@/components/useProject";
import { contentsText } from "./contents";

interface Target {
  container: Container;
  id: string;
  name: string;
}

/** Deletes the project, its workspace or its organization. Shows only what the user may delete. */
export function Deletions({ project }: { project: ProjectAccess }) {
  const organization = useOrganization(project);
  const [target, setTarget] = useState<Target | null>(null);
  const targets: Target[] = [];
  if (isAtLeast(project.role, "admin"))
    targets.push({ container: "project", id: project.id, name: project.name });
  if (isAtLeast(project.role, "owner"))
    targets.push({ container: "workspace", id: project.workspace_id, name: project.workspace_name });
  if (isAtLeast(organization?.role, "owner"))
    targets.push({ container: "organization", id: project.organization_id, name: project.organization_name });
  if (targets.length === 0) return null;
  return (
    <Section title="Delete" description="Deletes everything inside for good.">
      <Stack gap="sm">
        {targets.map((item) => (
          <Group key={item.container} gap="sm">
            <Button color="red" variant="outline" onClick={() => setTarget(item)}>
              Delete the {item.container}…
            </Button>
            <Text size="sm" c="dimmed">
              {item.name}
            </Text>
          </Group>
        ))}
      </Stack>
      {target && <DeleteDialog target={target} onClose={() => setTarget(null)} />}
    </Section>
  );
}

function DeleteDialog({ target, onClose }: { target: Target; onClose: () => void }) {
  const { container, id, name } = target;
  const contents = useContents(container, id);
  const remove = useDeleteContainer(container, id);
  const navigate = useNavigate();
  const [typed, setTyped] = useState("");
  const confirm = async () => {
    // mutateAsync waits for the list of projects, so that the next page does not open a deleted one.
    const isDeleted = await remove.mutateAsync(typed).then(
      () => true,
      () => false,
    );
    if (isDeleted) navigate("/", { replace: true });
  };
  return (
    <ConfirmDialog
      title={`Delete the ${container} “${name}”?`}
      action={`Delete ${container}`}
      mutation={remove}
      onConfirm={() => void confirm()}
      onClose={onClose}
      disabled={!contents.data || typed !== contents.data.name}
    >
      <Stack gap="sm">
        <QueryState query={contents} skeleton={<Skeleton height={20} aria-label="Counting" />}>
          {(counted) => (
            <div data-testid="contents">
              This deletes {contentsText(container, counted)} You can't undo this.
            </div>
          )}
        </QueryState>
        <TextInput
          label={`Type ${name} to confirm`}
          autoComplete="off"
          spellCheck={false}
          maxLength={100}
          value={typed}
          onChange={(event) => {
            if (remove.isError) remove.reset();
            setTyped(event.currentTarget.value);
          }}
        />
      </Stack>
    </ConfirmDialog>
  );
}
