import { Button, Group } from "@mantine/core";
import { useState } from "react";
import { Navigate } from "react-router";
import { useMe } from "@/api/identity";
import { onDemand } from "@/components/onDemand";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { useProject } from "@/components/useProject";
import type { NewItem } from "./NewDialog";
import { creatableBy } from "./switcher";

const NewDialog = onDemand(async () => (await import("./NewDialog")).NewDialog);

/** Opens the last project, or the first. Without a project it says what to do. */
export function Home() {
  const project = useProject();
  if (project) return <Navigate to={`/p/${project.id}/runs`} replace />;
  return <NoProject />;
}

function NoProject() {
  const organizations = useMe().data?.organizations ?? [];
  const creatable = creatableBy(organizations);
  const [newItem, setNewItem] = useState<NewItem | null>(null);
  const title = <title>Welcome · Looptrace</title>;
  if (organizations.length === 0) {
    return (
      <PageMessage title="You don't belong to an organization.">
        {title}
        <PageHint>
          Ask an admin for an invitation link, and open it in this browser. Your account stays as it is.
        </PageHint>
      </PageMessage>
    );
  }
  if (creatable.workspaces.length === 0 && creatable.organizations.length === 0) {
    return (
      <PageMessage title="You don't have a project yet.">
        {title}
        <PageHint>
          Ask an admin of {organizations.map(({ name }) => name).join(" or ")} to create one, or to give you a
          role in its workspace.
        </PageHint>
      </PageMessage>
    );
  }
  return (
    <PageMessage title="No projects yet.">
      {title}
      <PageHint>A project has runs and keys of its own. It belongs to a workspace.</PageHint>
      <Group gap="sm">
        {creatable.workspaces.length > 0 && (
          <Button onClick={() => setNewItem({ kind: "project" })}>New project</Button>
        )}
        {creatable.organizations.length > 0 && (
          <Button
            variant={creatable.workspaces.length > 0 ? "default" : "filled"}
            onClick={() => setNewItem({ kind: "workspace" })}
          >
            New workspace
          </Button>
        )}
      </Group>
      {newItem && <NewDialog key={newItem.kind} item={newItem} creatable={creatable} onChange={setNewItem} />}
    </PageMessage>
  );
}
