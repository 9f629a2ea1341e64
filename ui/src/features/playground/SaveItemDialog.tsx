import { SegmentedControl, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { useAddItem } from "@/api/datasets";
import { parseJson } from "@/api/json";
import type { Dataset } from "@/api/types";
import { Code } from "@/components/Code";
import { DatasetChoice } from "@/components/DatasetChoice";
import { Dialog } from "@/components/Dialog";
import { pretty } from "@/components/editor/draft";
import { ErrorText } from "@/components/editor/ErrorText";
import { FormDialog } from "@/components/FormDialog";

interface Props {
  projectId: string;
  /** The values of the variables. */
  variables: Record<string, unknown>;
  /** The rendered messages. */
  messages: unknown[];
  /** The answer: JSON as its value, else the text. */
  output: unknown;
  runId: string | null;
  onClose: () => void;
}

/** Adds an item to a dataset: what was sent, and the answer as what is expected. */
export function SaveItemDialog({ projectId, variables, messages, output, runId, onClose }: Props) {
  const hasVariables = Object.keys(variables).length > 0;
  const [dataset, setDataset] = useState<Dataset | null>(null);
  const [part, setPart] = useState(hasVariables ? "variables" : "messages");
  const inputOf = (chosen: string) => pretty(chosen === "variables" ? variables : { messages });
  const [input, setInput] = useState(() => inputOf(part));
  const [reference, setReference] = useState(() => pretty(output));
  const [split, setSplit] = useState("");
  const add = useAddItem(dataset ?? ({ id: "", project_id: projectId } as Dataset));
  const submit = useMutation({
    mutationFn: () =>
      add.mutateAsync({
        input: parseJson(input) as never,
        ...(reference.trim() === "" ? {} : { reference_output: parseJson(reference) as never }),
        ...(split.trim() === "" ? {} : { split: split.trim() }),
        ...(runId === null ? {} : { source_run_id: runId }),
      }),
  });
  if (submit.isSuccess && dataset) {
    return (
      <Dialog onClose={onClose} title="Item added">
        <Text size="sm">
          The item is in {dataset.name}.{" "}
          <Link to={`/p/${projectId}/datasets/${dataset.id}`}>Open the dataset</Link>
        </Text>
      </Dialog>
    );
  }
  const isInputValid = isJson(input);
  const isReferenceValid = reference.trim() === "" || isJson(reference);
  return (
    <FormDialog
      title="Add to dataset"
      action="Add item"
      mutation={submit}
      onSubmit={() => submit.mutate()}
      onClose={onClose}
      disabled={dataset === null || !isInputValid || !isReferenceValid}
      size="lg"
    >
      <DatasetChoice projectId={projectId} value={dataset} onChange={setDataset} />
      <Stack gap={4}>
        <SegmentedControl
          size="xs"
          aria-label="What the input is"
          value={part}
          onChange={(chosen) => {
            setPart(chosen);
            setInput(inputOf(chosen));
          }}
          data={[
            { value: "variables", label: "Variables", disabled: !hasVariables },
            { value: "messages", label: "Messages" },
          ]}
        />
        <Code label="Input" language="json" maxHeight={200} value={input} onChange={setInput} />
        {!isInputValid && <ErrorText>This isn't valid JSON.</ErrorText>}
      </Stack>
      <Stack gap={4}>
        <Text size="sm" fw={500}>
          Reference output
        </Text>
        <Code
          label="Reference output"
          language="json"
          maxHeight={200}
          value={reference}
          onChange={setReference}
        />
        {!isReferenceValid && <ErrorText>This isn't valid JSON.</ErrorText>}
      </Stack>
      <TextInput
        label="Split"
        placeholder="test"
        maxLength={64}
        autoComplete="off"
        value={split}
        onChange={(event) => setSplit(event.currentTarget.value)}
      />
    </FormDialog>
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
