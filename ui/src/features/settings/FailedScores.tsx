import { ActionIcon, Button, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useState } from "react";
import { useFailedScores, useSetFailedScores } from "@/api/identity";
import type { FailedScoreRule, ProjectAccess } from "@/api/types";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { Section } from "@/components/Section";
import { allows } from "@/components/useProject";
import { draftsOf, mistakeIn, type RuleDraft, rulesOf, takesValue, WHEN } from "./failedScores";

/** Which scores of a run mean that it failed. */
export function FailedScores({ project }: { project: ProjectAccess }) {
  const query = useFailedScores(project.id);
  return (
    <Section
      title="Failed scores"
      description="Which scores of a run mean that it failed. Where no rule names a score, false fails the run."
    >
      <QueryState query={query} skeleton={<SkeletonRows count={2} height={36} />}>
        {({ scores }) => <Form projectId={project.id} saved={scores} mayManage={allows(project, "admin")} />}
      </QueryState>
    </Section>
  );
}

interface FormProps {
  projectId: string;
  saved: FailedScoreRule[];
  mayManage: boolean;
}

function Form({ projectId, saved, mayManage }: FormProps) {
  const save = useSetFailedScores(projectId);
  const [drafts, setDrafts] = useState(() => draftsOf(saved));
  const mistaken = drafts.some((draft) => draft.name.trim() === "" || mistakeIn(draft) !== undefined);
  const unchanged = !mistaken && JSON.stringify(rulesOf(drafts)) === JSON.stringify(rulesOf(draftsOf(saved)));
  const edit = (next: RuleDraft[]) => {
    save.reset();
    setDrafts(next);
  };
  const change = (id: number, changed: Partial<RuleDraft>) =>
    edit(drafts.map((draft) => (draft.id === id ? { ...draft, ...changed } : draft)));
  const add = () => {
    const id = Math.max(-1, ...drafts.map((draft) => draft.id)) + 1;
    edit([...drafts, { id, name: "", when: "below", value: "" }]);
  };
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    save.mutate({ scores: rulesOf(drafts) });
  };
  return (
    <form onSubmit={submit} aria-label="Failed scores">
      <Stack gap="sm" align="flex-start">
        {drafts.length === 0 && (
          <Text size="sm" c="dimmed">
            No rules: only false fails a run.
          </Text>
        )}
        {drafts.map((draft, index) => (
          <Group key={draft.id} gap="xs" align="flex-start">
            <TextInput
              size="xs"
              aria-label={`Score ${index + 1}`}
              placeholder="score"
              value={draft.name}
              onChange={(event) => change(draft.id, { name: event.currentTarget.value })}
              maxLength={200}
              required
              readOnly={!mayManage}
            />
            <Select
              size="xs"
              w={120}
              aria-label={`Score ${index + 1} fails a run if it`}
              data={WHEN}
              value={draft.when}
              onChange={(when) => when && change(draft.id, { when: when as RuleDraft["when"] })}
              allowDeselect={false}
              readOnly={!mayManage}
            />
            {takesValue(draft.when) && (
              <TextInput
                size="xs"
                w={160}
                aria-label={`Score ${index + 1}: value`}
                placeholder={draft.when === "categories" ? "wrong, worse" : "1"}
                value={draft.value}
                onChange={(event) => change(draft.id, { value: event.currentTarget.value })}
                error={draft.value !== "" && mistakeIn(draft)}
                readOnly={!mayManage}
              />
            )}
            {mayManage && (
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={`Remove the rule for ${draft.name || "the score"}`}
                onClick={() => edit(drafts.filter(({ id }) => id !== draft.id))}
              >
                <IconX size={15} />
              </ActionIcon>
            )}
          </Group>
        ))}
        {save.error && <ProblemPanel error={save.error} />}
        {mayManage ? (
          <Group gap="sm">
            <Button type="button" variant="default" onClick={add} disabled={drafts.length >= 50}>
              Add rule
            </Button>
            <Button type="submit" variant="default" loading={save.isPending} disabled={mistaken || unchanged}>
              Save
            </Button>
            <Text size="sm" c="dimmed" role="status">
              {save.isSuccess && unchanged ? "Saved." : ""}
            </Text>
          </Group>
        ) : (
          <Text size="sm" c="dimmed">
            Only owners and admins can change this.
          </Text>
        )}
      </Stack>
    </form>
  );
}
