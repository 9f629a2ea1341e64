import {
  Anchor,
  Button,
  Group,
  SegmentedControl,
  Stack,
  Text,
  TextInput,
  useMantineColorScheme,
} from "@mantine/core";
import { useState } from "react";
import { useUpdateProject } from "@/api/identity";
import { type Container, useRenameOrganization, useRenameWorkspace } from "@/api/organizations";
import type { ProjectAccess } from "@/api/types";
import { CopyButton } from "@/components/CopyButton";
import { Page } from "@/components/Page";
import { ProblemPanel } from "@/components/ProblemPanel";
import { isAtLeast } from "@/components/roles";
import { Section } from "@/components/Section";
import { allows, useOrganization, useProject } from "@/components/useProject";
import { Deletions } from "./Deletions";
import { FailedScores } from "./FailedScores";
import { Signals } from "./Signals";

/** The project with its workspace and organization: names and deletion. Also the API and the theme. */
export function SettingsPage() {
  const project = useProject();
  if (!project) return null;
  return (
    <Page title="Settings" context={`${project.organization_name} · ${project.workspace_name}`}>
      <ProjectName key={project.id} project={project} />
      <FailedScores key={`${project.id} scores`} project={project} />
      <Signals key={`${project.id} signals`} project={project} />
      <WorkspaceName key={project.workspace_id} project={project} />
      <OrganizationName key={project.organization_id} project={project} />
      <Section title="API" description="For programs, with a key.">
        <Stack gap={4} align="flex-start">
          <Anchor href="/v1/docs" target="_blank" size="sm">
            API reference
          </Anchor>
          <Anchor href="/v1/openapi.json" target="_blank" size="sm">
            OpenAPI document
          </Anchor>
        </Stack>
      </Section>
      <Theme />
      <Deletions project={project} />
    </Page>
  );
}

function ProjectName({ project }: { project: ProjectAccess }) {
  const update = useUpdateProject(project.id);
  return (
    <Section title="Project" description="People see the name, programs use the id.">
      <Name
        what="project"
        id={project.id}
        name={project.name}
        mayRename={allows(project, "admin")}
        rename={{ ...update, mutate: (name) => update.mutate({ name }) }}
      />
    </Section>
  );
}

function WorkspaceName({ project }: { project: ProjectAccess }) {
  return (
    <Section title="Workspace" description="Contains projects. A role in it applies to all of them.">
      <Name
        what="workspace"
        id={project.workspace_id}
        name={project.workspace_name}
        mayRename={isAtLeast(project.role, "admin")}
        rename={useRenameWorkspace(project.workspace_id)}
      />
    </Section>
  );
}

function OrganizationName({ project }: { project: ProjectAccess }) {
  const organization = useOrganization(project);
  return (
    <Section title="Organization" description="Contains workspaces. A role in it applies to all of them.">
      <Name
        what="organization"
        id={project.organization_id}
        name={project.organization_name}
        mayRename={isAtLeast(organization?.role, "admin")}
        rename={useRenameOrganization(project.organization_id)}
      />
    </Section>
  );
}

interface NameProps {
  what: Container;
  id: string;
  name: string;
  mayRename: boolean;
  rename: {
    isPending: boolean;
    isSuccess: boolean;
    error: Error | null;
    mutate: (name: string) => void;
  };
}

function Name({ what, id, name: saved, mayRename, rename }: NameProps) {
  const [name, setName] = useState(saved);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    rename.mutate(name.trim());
  };
  return (
    <form onSubmit={submit} aria-label={`Rename the ${what}`}>
      <Stack gap="sm" align="flex-start">
        <TextInput
          label={`${what.charAt(0).toUpperCase()}${what.slice(1)} name`}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={100}
          required
          withAsterisk={false}
          readOnly={!mayRename}
          w="100%"
          maw={360}
        />
        <Group gap={4}>
          <Text size="xs" c="dimmed">
            Id <code>{id}</code>
          </Text>
          <CopyButton value={id} what={`${what} id`} />
        </Group>
        {rename.error && <ProblemPanel error={rename.error} />}
        {mayRename ? (
          <Group gap="sm">
            <Button
              type="submit"
              variant="default"
              loading={rename.isPending}
              disabled={name.trim() === "" || name.trim() === saved}
            >
              Rename
            </Button>
            <Text size="sm" c="dimmed" role="status">
              {rename.isSuccess && name.trim() === saved ? "Renamed" : ""}
            </Text>
          </Group>
        ) : (
          <Text size="sm" c="dimmed">
            Only admins and owners of the {what === "organization" ? what : "workspace"} can rename it.
          </Text>
        )}
      </Stack>
    </form>
  );
}

function Theme() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Section title="Theme" description="Applies to this browser.">
      <SegmentedControl
        aria-label="Theme"
        value={colorScheme}
        onChange={(value) => setColorScheme(value as typeof colorScheme)}
        data={[
          { value: "auto", label: "System" },
          { value: "light", label: "Light" },
          { value: "dark", label: "Dark" },
        ]}
      />
    </Section>
  );
}
