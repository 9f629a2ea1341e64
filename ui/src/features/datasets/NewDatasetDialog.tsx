import { Button, Textarea, TextInput } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import { useNavigate } from "react-router";
import { useCreateDataset } from "@/api/datasets";
import { ApiError } from "@/api/problem";
import { FormDialog } from "@/components/FormDialog";
import classes from "./Datasets.module.css";
import { SchemaField } from "./SchemaField";
import { readSchema } from "./schemaText";

interface Props {
  projectId: string;
  onClose: () => void;
}

/** Creates an empty dataset and opens it. */
export function NewDatasetDialog({ projectId, onClose }: Props) {
  const navigate = useNavigate();
  const create = useCreateDataset(projectId);
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [hasSchema, setHasSchema] = useState(false);
  const [input, setInput] = useState("");
  const [reference, setReference] = useState("");
  const problem = create.error instanceof ApiError ? create.error : null;
  const isTaken = problem?.problem?.code === "name_taken";
  const [inputSchema, referenceSchema] = [readSchema(input), readSchema(reference)];
  const submit = () =>
    create.mutate(
      {
        name: name.trim(),
        description: description.trim(),
        schema:
          inputSchema.value || referenceSchema.value
            ? { input: inputSchema.value, reference_output: referenceSchema.value }
            : undefined,
      },
      { onSuccess: ({ id }) => navigate(`/p/${projectId}/datasets/${id}`) },
    );
  return (
    <FormDialog
      title="New dataset"
      action="Create dataset"
      mutation={create}
      onSubmit={submit}
      onClose={onClose}
      disabled={name.trim() === "" || inputSchema.error !== null || referenceSchema.error !== null}
      hideError={isTaken}
      size={hasSchema ? "lg" : "md"}
    >
      <TextInput
        label="Name"
        placeholder="faq"
        required
        withAsterisk={false}
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        maxLength={128}
        value={name}
        onChange={(event) => {
          create.reset();
          setName(event.currentTarget.value);
        }}
        error={
          isTaken ? "This project already has a dataset with this name." : problem?.fieldMessage("body.name")
        }
      />
      <Textarea
        label="Description"
        placeholder="What it is for"
        autosize
        minRows={2}
        maxRows={6}
        maxLength={2000}
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
      {hasSchema ? (
        <>
          <p className={classes.hint}>
            Items that don't fit a schema are refused. You can add or change schemas later.
          </p>
          <SchemaField
            label="Schema of the input"
            value={input}
            onChange={setInput}
            error={inputSchema.error ?? problem?.fieldMessage("body.schema.input")}
          />
          <SchemaField
            label="Schema of the reference output"
            value={reference}
            onChange={setReference}
            error={referenceSchema.error ?? problem?.fieldMessage("body.schema.reference_output")}
          />
        </>
      ) : (
        <Button
          variant="subtle"
          w="fit-content"
          leftSection={<IconPlus size={14} />}
          onClick={() => setHasSchema(true)}
        >
          JSON Schema
        </Button>
      )}
    </FormDialog>
  );
}
