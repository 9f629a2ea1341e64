import { Button, Group, NumberInput, Stack, Table, Text, VisuallyHidden } from "@mantine/core";
import { useState } from "react";
import { useProjectLimits, useSetProjectLimits } from "@/api/identity";
import { ApiError } from "@/api/problem";
import type { ProjectLimits } from "@/api/types";
import { Page } from "@/components/Page";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { allows, useProject, useProjectId } from "@/components/useProject";
import classes from "./LimitsPage.module.css";
import {
  type Field,
  type Fields,
  fieldsOf,
  limitsOf,
  measures,
  mistakeIn,
  parts,
  sameFields,
  subjects,
} from "./limits";

const subjectLabels = { project: "Project", key: "Each key" };
const measureLabels = { requests: "Requests", spans: "Spans", bytes: "Bytes" };
const partLabels = { rate: "Per second", burst: "Burst" };

/** How much may be sent to the project. */
export function LimitsPage() {
  const projectId = useProjectId();
  const query = useProjectLimits(projectId);
  return (
    <Page
      title="Limits"
      context="How much may be sent to this project. Requests above a limit get status 429, and clients retry them."
    >
      <QueryState query={query} skeleton={<SkeletonRows count={6} height={30} />}>
        {(limits) => <Form projectId={projectId} saved={limits} />}
      </QueryState>
    </Page>
  );
}

function Form({ projectId, saved }: { projectId: string; saved: ProjectLimits }) {
  const save = useSetProjectLimits(projectId);
  const [fields, setFields] = useState(() => fieldsOf(saved));
  const mayManage = allows(useProject(), "admin");
  const unchanged = sameFields(fields, fieldsOf(saved));
  const problem = save.error instanceof ApiError ? save.error : null;
  const message = (field: Field) => mistakeIn(field, fields[field]) ?? problem?.fieldMessage(`body.${field}`);
  const areWrong = (Object.keys(fields) as Field[]).some((field) => mistakeIn(field, fields[field]));

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
        <Text size="sm" c="dimmed" maw={560}>
          {Object.keys(fields).length === 0 && "This project uses the default limits. "}
          Empty fields use the installation's defaults; 0 per second means no limit. Burst: the most allowed
          at once. Defaults to the per-second limit.
        </Text>
        <Table className={classes.limits} withRowBorders={false} verticalSpacing={3} horizontalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>
                <VisuallyHidden>Limit</VisuallyHidden>
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
                              ? "per second"
                              : "configured"
                          }
                          thousandSeparator=" "
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
            <Button type="submit" loading={save.isPending} disabled={unchanged || areWrong}>
              Save limits
            </Button>
            <Text size="sm" c="dimmed" role="status">
              {save.isSuccess && unchanged ? "Saved. It takes effect within 5 seconds." : ""}
            </Text>
          </Group>
        ) : (
          <Text size="sm" c="dimmed">
            Only owners and admins can change limits.
          </Text>
        )}
      </Stack>
    </form>
  );
}
