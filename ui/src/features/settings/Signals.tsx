import { Checkbox, Stack, Text } from "@mantine/core";
import { useProjectSignals, useSetProjectSignals } from "@/api/identity";
import type { ProjectAccess, Signal } from "@/api/types";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { Section } from "@/components/Section";
import { SIGNALS } from "@/components/signals";
import { allows } from "@/components/useProject";

/** Which signals the project's runs have. A change is saved at once. */
export function Signals({ project }: { project: ProjectAccess }) {
  const query = useProjectSignals(project.id);
  return (
    <Section
      title="Signals"
      description="What looks wrong with a run without being an error. Runs with a signal are groups on Failures. They don't count as failed."
    >
      <QueryState query={query} skeleton={<SkeletonRows count={7} height={36} />}>
        {({ off }) => <Form projectId={project.id} off={off} mayManage={allows(project, "admin")} />}
      </QueryState>
    </Section>
  );
}

interface FormProps {
  projectId: string;
  off: Signal[];
  mayManage: boolean;
}

function Form({ projectId, off, mayManage }: FormProps) {
  const save = useSetProjectSignals(projectId);
  return (
    <Stack gap="sm" align="flex-start" role="group" aria-label="Signals">
      {SIGNALS.map(({ value, label, meaning }) => (
        <Checkbox
          key={value}
          label={label}
          description={meaning}
          checked={!off.includes(value)}
          disabled={!mayManage || save.isPending}
          onChange={(event) =>
            save.mutate({
              off: event.currentTarget.checked ? off.filter((signal) => signal !== value) : [...off, value],
            })
          }
        />
      ))}
      {save.error && <ProblemPanel error={save.error} />}
      <Text size="sm" c="dimmed" role="status">
        {!mayManage ? "Only owners and admins can change this." : save.isSuccess ? "Saved." : ""}
      </Text>
    </Stack>
  );
}
