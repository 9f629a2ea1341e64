import {
  Anchor,
  Button,
  Group,
  SegmentedControl,
  Stack,
  Text,
  TextInput,
  Title,
  useMantineColorScheme,
} from "@mantine/core";
import { useState } from "react";
import { useNavigate } from "react-router";
import { useCreateProject, useUpdateProject } from "@/api/identity";
import type { ProjectAccess } from "@/api/types";
import { CopyButton } from "@/components/CopyButton";
import { Page } from "@/components/Page";
import { ProblemPanel } from "@/components/ProblemPanel";
import { allows, useProject } from "@/components/useProject";
import classes from "./SettingsPage.module.css";

/** The project's name, new projects, the API and the theme. */
export function SettingsPage() {
  const project = useProject();
  if (!project) return null;
  return (
    <Page title="Settings" context={`${project.organization_name} · ${project.workspace_name}`}>
      <Rename project={project} />
      <Create project={project} />
      <Section title="API" description="Programs can do everything you can do here.">
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
    </Page>
  );
}

function Rename({ project }: { project: ProjectAccess }) {
  const update = useUpdateProject(project.id);
  const [name, setName] = useState(project.name);
  const mayManage = allows(project, "admin");
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    update.mutate({ name: name.trim() });
  };
  return (
    <Section title="Project" description="People see the name, programs use the id.">
      <form onSubmit={submit}>
        <Stack gap="sm" align="flex-start">
          <TextInput
            label="Project name"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={100}
            required
            withAsterisk={false}
            disabled={!mayManage}
            w="100%"
            maw={360}
          />
          <Group gap={4}>
            <Text size="xs" c="dimmed">
              Id <code>{project.id}</code>
            </Text>
            <CopyButton value={project.id} what="project id" />
          </Group>
          {update.isError && <ProblemPanel error={update.error} />}
          <Group gap="sm">
            <Button
              type="submit"
              loading={update.isPending}
              disabled={!mayManage || name.trim() === "" || name.trim() === project.name}
            >
              Rename
            </Button>
            <Text size="sm" c="dimmed" role="status">
              {update.isSuccess && name.trim() === project.name ? "Renamed" : ""}
            </Text>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

function Create({ project }: { project: ProjectAccess }) {
  const create = useCreateProject();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const submit = async (event: React.FormEvent) => {
    event.preventDefault();
    // mutateAsync waits for the list of projects, so that the next page finds the new one.
    const created = await create
      .mutateAsync({ workspace_id: project.workspace_id, name: name.trim() })
      .catch(() => null);
    if (created) navigate(`/p/${created.id}/start`);
  };
  return (
    <Section
      id="create"
      title="New project"
      description={`Has its own runs and keys. Belongs to the workspace ${project.workspace_name}.`}
    >
      <form onSubmit={submit}>
        <Stack gap="sm" align="flex-start">
          <TextInput
            label="Name of the new project"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={100}
            required
            withAsterisk={false}
            w="100%"
            maw={360}
          />
          {create.isError && <ProblemPanel error={create.error} />}
          <Button type="submit" variant="default" loading={create.isPending} disabled={name.trim() === ""}>
            Create project
          </Button>
        </Stack>
      </form>
    </Section>
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

interface SectionProps {
  id?: string;
  title: string;
  description: string;
  children: React.ReactNode;
}

function Section({ id, title, description, children }: SectionProps) {
  return (
    <section id={id} className={classes.section}>
      <div>
        <Title order={2} size="h5">
          {title}
        </Title>
        <Text size="sm" c="dimmed">
          {description}
        </Text>
      </div>
      <div>{children}</div>
    </section>
  );
}
