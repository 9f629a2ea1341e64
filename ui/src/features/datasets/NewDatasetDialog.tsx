import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import { useNavigate } from "react-router";
import { useCreateDataset } from "@/api/datasets";
import { ApiError } from "@/api/problem";
import { DescriptionField } from "@/components/DescriptionField";
import { FormDialog } from "@/components/FormDialog";
import classes from "./Datasets.module.css";
import { isNameTaken, NameField } from "./NameField";
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
      hideError={isNameTaken(create.error)}
      size={hasSchema ? "lg" : "md"}
    >
      <NameField
        placeholder="faq"
        value={name}
        error={create.error}
        onChange={(value) => {
          create.reset();
          setName(value);
        }}
      />
      <DescriptionField placeholder="What it is for" value={description} onChange={setDescription} />
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
