import { Button, Group, NumberInput, Skeleton, Stack, Table, Text, VisuallyHidden } from "@mantine/core";
import { useState } from "react";
import { useProjectLimits, useSetProjectLimits } from "@/api/identity";
import { ApiError } from "@/api/problem";
import type { ProjectAccess, ProjectLimits } from "@/api/types";
import { Delayed } from "@/components/Delayed";
import { ProblemPanel } from "@/components/ProblemPanel";
import { allows } from "@/components/useProject";
import { type Field, type Fields, fieldsOf, limitsOf, measures, parts, sameFields, subjects } from "./limits";
import { Section } from "./Section";
import classes from "./SettingsPage.module.css";

const subjectLabels = { project: "The project", key: "Each key" };
const measureLabels = { requests: "Requests", spans: "Spans", bytes: "Bytes" };
const partLabels = { rate: "A second", burst: "At once" };

/** What the project may send, where it differs from how ingest is configured. */
export function Limits({ project }: { project: ProjectAccess }) {
  const query = useProjectLimits(project.id);
  return (
    <Section
      id="limits"
      title="Limits"
      what="What may be sent to this project. More is refused with 429, and clients send it again later."
    >
      {query.data ? (
        <Form project={project} saved={query.data} />
      ) : query.isError ? (
        <ProblemPanel error={query.error} onRetry={() => query.refetch()} />
      ) : (
        <Delayed>
          <Stack gap={6} maw={480} aria-busy="true">
            {[0, 1, 2, 3, 4, 5].map((row) => (
              <Skeleton key={row} h={30} />
            ))}
          </Stack>
        </Delayed>
      )}
    </Section>
  );
}

function Form({ project, saved }: { project: ProjectAccess; saved: ProjectLimits }) {
  const save = useSetProjectLimits(project.id);
  const [fields, setFields] = useState(() => fieldsOf(saved));
  const mayManage = allows(project, "admin");
  const unchanged = sameFields(fields, fieldsOf(saved));
  const none = Object.keys(fields).length === 0;
  // Errors of fields stand at the fields.
  const problem = save.error instanceof ApiError ? save.error : null;
  const message = (field: Field) => problem?.fieldMessage(`body.${field}`);

  const change = (field: Field, value: number | string | bigint) => {
    save.reset();
    setFields((before) => {
      const after: Fields = { ...before };
      delete after[field];
      if (value !== "") after[field] = String(value);
      return after;
    });
  };
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    save.mutate(limitsOf(fields), { onSuccess: (limits) => setFields(fieldsOf(limits)) });
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm" align="flex-start">
        <Text size="sm" c="dimmed">
          {none ? "No limits of its own. " : ""}An empty field is as this installation is configured; 0 a
          second is no limit. “At once” is after a rest; empty, it is as much as in a second.
        </Text>
        <Table className={classes.limits} withRowBorders={false} verticalSpacing={3} horizontalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>
                <VisuallyHidden>What</VisuallyHidden>
              </Table.Th>
              {parts.map((part) => (
                <Table.Th key={part}>{partLabels[part]}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          {subjects.map((subject) => (
            <Table.Tbody key={subject}>
              <Table.Tr>
                <Table.Th colSpan={3} scope="rowgroup">
                  {subjectLabels[subject]}
                </Table.Th>
              </Table.Tr>
              {measures.map((measure) => (
                <Table.Tr key={measure}>
                  <Table.Td>{measureLabels[measure]}</Table.Td>
                  {parts.map((part) => {
                    const field: Field = `${subject}.${measure}.${part}`;
                    return (
                      <Table.Td key={part}>
                        <NumberInput
                          size="xs"
                          aria-label={`${subjectLabels[subject]}: ${measureLabels[measure].toLowerCase()}, ${partLabels[part].toLowerCase()}`}
                          value={fields[field] ?? ""}
                          onChange={(value) => change(field, value)}
                          error={message(field)}
                          readOnly={!mayManage}
                          placeholder={
                            part === "burst" && fields[`${subject}.${measure}.rate`]
                              ? "as a second"
                              : "as configured"
                          }
                          thousandSeparator=" "
                          allowNegative={false}
                          allowDecimal={part === "rate"}
                          hideControls
                        />
                      </Table.Td>
                    );
                  })}
                </Table.Tr>
              ))}
            </Table.Tbody>
          ))}
        </Table>
        {save.isError && <ProblemPanel error={save.error} />}
        {mayManage ? (
          <Group gap="sm">
            <Button type="submit" loading={save.isPending} disabled={unchanged}>
              Save limits
            </Button>
            <Text size="sm" c="dimmed" role="status">
              {save.isSuccess && unchanged ? "Saved; it counts everywhere within 5 seconds" : ""}
            </Text>
          </Group>
        ) : (
          <Text size="sm" c="dimmed">
            Owners and admins may change them.
          </Text>
        )}
      </Stack>
    </form>
  );
}
