import { Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { useNavigate } from "react-router";
import { useCreateProject } from "@/api/identity";
import { type Container, useCreateOrganization, useCreateWorkspace } from "@/api/organizations";
import { FormDialog } from "@/components/FormDialog";
import type { Creatable } from "./switcher";

/** What to create. A project may have its workspace already, and a workspace its organization. */
export interface NewItem {
  kind: Container;
  parentId?: string;
}

interface Props {
  item: NewItem;
  creatable: Creatable;
  onChange: (item: NewItem | null) => void;
}

/** Creates a project, a workspace or an organization, and opens it. */
export function NewDialog({ item, creatable, onChange }: Props) {
  const close = () => onChange(null);
  switch (item.kind) {
    case "project":
      return <NewProject workspaces={creatable.workspaces} workspaceId={item.parentId} onClose={close} />;
    case "workspace":
      return (
        <NewWorkspace
          organizations={creatable.organizations}
          organizationId={item.parentId}
          onClose={close}
          // A workspace opens with its first project.
          onCreated={(id) => onChange({ kind: "project", parentId: id })}
        />
      );
    case "organization":
      return <NewOrganization onClose={close} />;
  }
}

interface ProjectProps {
  workspaces: Creatable["workspaces"];
  workspaceId?: string;
  onClose: () => void;
}

function NewProject({ workspaces, workspaceId, onClose }: ProjectProps) {
  const create = useCreateProject();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const [workspace, setWorkspace] = useState(workspaceId ?? workspaces[0]?.id ?? null);
  const submit = async () => {
    if (workspace === null) return;
    // mutateAsync waits for the list of projects, so that the next page finds the new one.
    const created = await create
      .mutateAsync({ workspace_id: workspace, name: name.trim() })
      .catch(() => null);
    if (created === null) return;
    onClose();
    navigate(`/p/${created.id}/connect`);
  };
  return (
    <FormDialog
      title="New project"
      action="Create project"
      mutation={create}
      onSubmit={() => void submit()}
      onClose={onClose}
      disabled={name.trim() === "" || workspace === null}
    >
      <Name description="A project has its own runs and keys." value={name} onChange={setName} />
      <ParentSelect label="Workspace" parents={workspaces} value={workspace} onChange={setWorkspace} />
    </FormDialog>
  );
}

interface WorkspaceProps {
  organizations: Creatable["organizations"];
  organizationId?: string;
  onClose: () => void;
  onCreated: (id: string) => void;
}

function NewWorkspace({ organizations, organizationId, onClose, onCreated }: WorkspaceProps) {
  const create = useCreateWorkspace();
  const [name, setName] = useState("");
  const [organization, setOrganization] = useState(organizationId ?? organizations[0]?.id ?? null);
  const submit = async () => {
    if (organization === null) return;
    // mutateAsync waits for the list of workspaces, which the next dialog shows.
    const created = await create
      .mutateAsync({ organization_id: organization, name: name.trim() })
      .catch(() => null);
    if (created !== null) onCreated(created.id);
  };
  return (
    <FormDialog
      title="New workspace"
      action="Create workspace"
      mutation={create}
      onSubmit={() => void submit()}
      onClose={onClose}
      disabled={name.trim() === "" || organization === null}
    >
      <Name
        description="A workspace has projects, and people who may see them. You create its first project next."
        value={name}
        onChange={setName}
      />
      <ParentSelect
        label="Organization"
        parents={organizations}
        value={organization}
        onChange={setOrganization}
      />
    </FormDialog>
  );
}

function NewOrganization({ onClose }: { onClose: () => void }) {
  const create = useCreateOrganization();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const submit = () =>
    create.mutate(name.trim(), {
      onSuccess: (project) => {
        onClose();
        navigate(project ? `/p/${project.id}/connect` : "/");
      },
    });
  return (
    <FormDialog
      title="New organization"
      action="Create organization"
      mutation={create}
      onSubmit={submit}
      onClose={onClose}
      disabled={name.trim() === ""}
    >
      <Name
        description="You become its owner. It starts with a workspace and a project, both named Default."
        value={name}
        onChange={setName}
      />
    </FormDialog>
  );
}

interface NameProps {
  description: string;
  value: string;
  onChange: (name: string) => void;
}

function Name({ description, value, onChange }: NameProps) {
  return (
    <TextInput
      label="Name"
      description={description}
      required
      withAsterisk={false}
      data-autofocus
      maxLength={100}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

interface ParentProps {
  label: string;
  parents: readonly { id: string; name: string }[];
  value: string | null;
  onChange: (id: string | null) => void;
}

function ParentSelect({ label, parents, value, onChange }: ParentProps) {
  return (
    <Select
      label={label}
      data={parents.map(({ id, name }) => ({ value: id, label: name }))}
      value={value}
      onChange={onChange}
      allowDeselect={false}
      searchable
    />
  );
}
