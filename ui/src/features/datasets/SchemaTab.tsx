import { Alert, Button, Group, Stack, Text, VisuallyHidden } from "@mantine/core";
import { IconWand } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { fetchItems, useUpdateDataset } from "@/api/datasets";
import { writeJson } from "@/api/json";
import { ApiError } from "@/api/problem";
import type { Dataset } from "@/api/types";
import { formatCount, formatCountOf } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import classes from "./Datasets.module.css";
import { inferSchema } from "./inferSchema";
import { SchemaField } from "./SchemaField";
import { readSchema, readViolation, schemaText, type Violation } from "./schemaText";

/** How many items a suggestion reads. */
const SAMPLE = 100;

const PARTS = [
  { part: "input", label: "Schema of the input" },
  { part: "reference_output", label: "Schema of the reference output" },
] as const;

/** What the items of a dataset must look like. */
export function SchemaTab({ dataset, mayWrite }: { dataset: Dataset; mayWrite: boolean }) {
  const update = useUpdateDataset(dataset);
  const stored = {
    input: schemaText(dataset.schema.input),
    reference_output: schemaText(dataset.schema.reference_output),
  };
  const [texts, setTexts] = useState(stored);
  const [suggested, setSuggested] = useState<string | null>(null);
  const read = { input: readSchema(texts.input), reference_output: readSchema(texts.reference_output) };
  const edited = PARTS.filter(({ part }) => texts[part].trim() !== stored[part].trim());
  const problem = update.error instanceof ApiError ? update.error.problem : null;
  const violations = (problem?.errors ?? []).flatMap(({ location, message }) => {
    const violation = readViolation(message);
    return violation ? [{ ...violation, location }] : [];
  });
  const set = (part: keyof typeof texts, text: string) => {
    // The outcome of a save under way must still be told.
    if (!update.isPending) update.reset();
    setTexts((current) => ({ ...current, [part]: text }));
  };
  const suggest = useMutation({
    mutationFn: async (part: keyof typeof texts) => {
      const { data } = await fetchItems(dataset.id, {}, SAMPLE);
      return { part, values: data.map((item) => item[part]) };
    },
    onSuccess: ({ part, values }) => {
      set(part, writeJson(inferSchema(values), 2));
      setSuggested(
        values.length < dataset.item_count
          ? `Based on the first ${formatCount(values.length)} of ${formatCountOf(dataset.item_count, "item")}. Other items may not fit; saving checks all of them.`
          : `Based on ${values.length === 1 ? "the item" : `all ${formatCount(values.length)} items`}.`,
      );
    },
  });
  const save = () =>
    update.mutate(
      { schema: Object.fromEntries(edited.map(({ part }) => [part, read[part].value])) },
      { onSuccess: () => setSuggested(null) },
    );
  return (
    <Stack className={classes.body} gap="md">
      <Text size="sm" c="dimmed" maw={760}>
        A{" "}
        <a href="https://json-schema.org/learn/getting-started-step-by-step" target="_blank" rel="noreferrer">
          JSON Schema
        </a>{" "}
        (draft 2020-12) says what inputs and reference outputs must look like. Items that don't fit are
        refused, in this page, in the API and in imports. Leave a schema empty to allow anything.
      </Text>
      <div className={classes.columns}>
        {PARTS.map(({ part, label }) => (
          <SchemaField
            key={part}
            label={label}
            value={texts[part]}
            onChange={mayWrite ? (text) => set(part, text) : undefined}
            minHeight={220}
            error={
              read[part].error ??
              problem?.errors?.find(
                ({ location, message }) =>
                  location === `body.schema.${part}` && readViolation(message) === null,
              )?.message
            }
            action={
              mayWrite &&
              dataset.item_count > 0 && (
                <Button
                  size="compact-xs"
                  variant="subtle"
                  leftSection={<IconWand size={13} />}
                  loading={suggest.isPending && suggest.variables === part}
                  disabled={suggest.isPending || update.isPending}
                  onClick={() => suggest.mutate(part)}
                >
                  Suggest from items<VisuallyHidden> for {label.toLowerCase()}</VisuallyHidden>
                </Button>
              )
            }
          />
        ))}
      </div>
      {suggest.error && <ProblemPanel error={suggest.error} />}
      {violations.length > 0 ? (
        <Violations violations={violations} />
      ) : (
        update.error && !problem?.errors && <ProblemPanel error={update.error} />
      )}
      {mayWrite ? (
        <Group gap="sm">
          <Button
            loading={update.isPending}
            disabled={
              suggest.isPending || edited.length === 0 || edited.some(({ part }) => read[part].error !== null)
            }
            onClick={save}
          >
            Save schema
          </Button>
          {edited.length > 0 && (
            <Button
              variant="default"
              onClick={() => {
                update.reset();
                setSuggested(null);
                setTexts(stored);
              }}
            >
              Discard changes
            </Button>
          )}
          <Text size="sm" c="dimmed" role="status">
            {update.isSuccess && edited.length === 0 ? "Saved. All items fit." : suggested}
          </Text>
        </Group>
      ) : (
        <Text size="sm" c="dimmed">
          Your role doesn't include changing schemas.
        </Text>
      )}
    </Stack>
  );
}

/** The API names at most so many items. */
const MAX_VIOLATIONS = 100;

function Violations({ violations }: { violations: (Violation & { location: string })[] }) {
  return (
    <Alert
      role="alert"
      variant="outline"
      color="red"
      title={
        violations.length >= MAX_VIOLATIONS
          ? `The schema was not saved: at least ${MAX_VIOLATIONS} items don't fit`
          : `The schema was not saved: ${violations.length === 1 ? "1 item doesn't" : `${violations.length} items don't`} fit`
      }
      data-testid="violations"
    >
      <ul className={classes.list}>
        {violations.map(({ item, hasKey, reason, location }) => (
          <li key={`${location} ${item}`}>
            <Link to={`?${new URLSearchParams(hasKey ? { search: item } : { item })}`}>{item}</Link>{" "}
            <Text span size="xs" c="dimmed">
              {location === "body.schema.input" ? "input" : "reference output"}: {reason}
            </Text>
          </li>
        ))}
      </ul>
    </Alert>
  );
}
