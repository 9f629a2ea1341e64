import { Button, Group } from "@mantine/core";
import { useState } from "react";
import { Link, Navigate, useSearchParams } from "react-router";
import { usePromptNamed } from "@/api/prompts";
import { nameError } from "@/components/editor/names";
import { Page } from "@/components/Page";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { PageState } from "@/components/PageState";
import { SkeletonRows } from "@/components/QueryState";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { readVersion } from "./comparison";
import { NewPromptDialog } from "./NewPromptDialog";

/** Opens the prompt that a run names, by `name` or `id`, at its `version`. */
export function PromptByNamePage() {
  const projectId = useProjectId();
  const [params] = useSearchParams();
  const name = params.get("name") ?? "";
  const id = params.get("id");
  const version = readVersion(params.get("version"));
  const query = version === null ? "" : `?version=${version}`;
  if (name !== "") return <ByName projectId={projectId} name={name} query={query} />;
  return (
    <Navigate to={id === null ? `/p/${projectId}/prompts` : `../${id}${query}`} relative="path" replace />
  );
}

interface Props {
  projectId: string;
  name: string;
  /** The query of the prompt's page. */
  query: string;
}

function ByName({ projectId, name, query: search }: Props) {
  // The API refuses other names, and no prompt has one.
  const isPossible = nameError(name) === null;
  if (!isPossible) return <Missing projectId={projectId} name={name} />;
  return <Search projectId={projectId} name={name} query={search} />;
}

function Search({ projectId, name, query: search }: Props) {
  const query = usePromptNamed(projectId, name);
  return (
    <PageState
      query={query}
      skeleton={<SkeletonRows count={6} height={40} />}
      title="Prompt"
      above={{ label: "Back to the prompts", to: `/p/${projectId}/prompts` }}
    >
      {(prompt) =>
        prompt === null ? (
          <Missing projectId={projectId} name={name} />
        ) : (
          <Navigate to={`../${prompt.id}${search}`} relative="path" replace />
        )
      }
    </PageState>
  );
}

function Missing({ projectId, name }: { projectId: string; name: string }) {
  const mayWrite = allows(useProject(), "prompts:write");
  const [isOpen, setOpen] = useState(false);
  const isPossible = nameError(name) === null;
  return (
    <Page title={name}>
      <PageMessage title="This prompt isn't in Looptrace.">
        <PageHint>
          Runs use it, so it's kept outside Looptrace or was deleted.{" "}
          {isPossible
            ? "Create it under this name, and the runs appear on its page."
            : "Prompts in Looptrace can't have this name."}
        </PageHint>
        <Group gap="xs">
          <Button variant="default" component={Link} to={`/p/${projectId}/prompts`}>
            All prompts
          </Button>
          {mayWrite && isPossible && <Button onClick={() => setOpen(true)}>Create prompt</Button>}
        </Group>
      </PageMessage>
      {isOpen && (
        <NewPromptDialog projectId={projectId} folder="" name={name} onClose={() => setOpen(false)} />
      )}
    </Page>
  );
}
