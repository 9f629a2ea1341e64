import { Button, Group, SegmentedControl, Stack, Textarea, TextInput } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { Code } from "@/components/Code";
import { FormDialog } from "@/components/FormDialog";
import { IconButton } from "@/components/IconButton";
import { isObject } from "@/components/json";
import { type DraftError, describeTool, type Item, newId, pretty, readTools } from "./draft";
import classes from "./Editor.module.css";
import { ErrorText } from "./ErrorText";

interface Props {
  tools: Item[];
  errors: readonly DraftError[];
  onChange: (tools: Item[]) => void;
}

/** The tools that the model may call. */
export function ToolsEditor({ tools, errors, onChange }: Props) {
  const [isAdding, setAdding] = useState(false);
  return (
    <div>
      {tools.length === 0 && <p className={classes.hint}>None. The model can't call tools.</p>}
      {tools.map(({ id, json }, index) => {
        const { name, description } = describeTool(json);
        const error = errors.find(({ at }) => at === id)?.message;
        return (
          <details key={id} className={classes.tool} data-testid="tool-editor">
            <summary>
              <strong>
                <bdi>{name || `Tool ${index + 1}`}</bdi>
              </strong>
              {description && (
                <span className={classes.hint}>
                  {" "}
                  <bdi>{description}</bdi>
                </span>
              )}
              {error && <span className={classes.error}> {error}</span>}
            </summary>
            <Group gap={6} wrap="nowrap" align="flex-start" mt={6}>
              <div className={classes.partBody}>
                <Code
                  label={`Tool ${name || index + 1}`}
                  language="json"
                  value={json}
                  onChange={(changed) => onChange(tools.with(index, { id, json: changed }))}
                />
                {error && <ErrorText>{error}</ErrorText>}
              </div>
              <IconButton
                label={`Remove the tool ${name || index + 1}`}
                onClick={() => onChange(tools.toSpliced(index, 1))}
                icon={<IconTrash size={14} />}
              />
            </Group>
          </details>
        );
      })}
      <Button
        mt="xs"
        size="compact-sm"
        variant="default"
        leftSection={<IconPlus size={13} />}
        onClick={() => setAdding(true)}
      >
        Tool
      </Button>
      {isAdding && (
        <AddToolDialog
          onClose={() => setAdding(false)}
          onAdd={(added) => {
            onChange([...tools, ...added.map((tool) => ({ id: newId(), json: pretty(tool) }))]);
            setAdding(false);
          }}
        />
      )}
    </div>
  );
}

const NO_PARAMETERS = pretty({ type: "object", properties: {}, required: [] });

const idle = { isPending: false, error: null };

interface AddToolProps {
  onClose: () => void;
  onAdd: (tools: Record<string, unknown>[]) => void;
}

function AddToolDialog({ onClose, onAdd }: AddToolProps) {
  const [mode, setMode] = useState("form");
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [parameters, setParameters] = useState(NO_PARAMETERS);
  const [pasted, setPasted] = useState("");
  const schema = readSchema(parameters);
  const tools = readTools(pasted);
  const isComplete = mode === "form" ? /^[A-Za-z0-9_-]{1,64}$/.test(name) && schema !== null : tools !== null;
  const submit = () => {
    if (mode === "paste") {
      if (tools) onAdd(tools);
      return;
    }
    const described = description.trim() === "" ? {} : { description: description.trim() };
    onAdd([{ type: "function", function: { name, ...described, parameters: schema } }]);
  };
  return (
    <FormDialog
      title="Add a tool"
      action={mode === "paste" && tools && tools.length > 1 ? `Add ${tools.length} tools` : "Add tool"}
      mutation={idle}
      onSubmit={submit}
      onClose={onClose}
      disabled={!isComplete}
      size="lg"
    >
      <SegmentedControl
        size="xs"
        aria-label="How to add it"
        value={mode}
        onChange={setMode}
        data={[
          { value: "form", label: "Describe it" },
          { value: "paste", label: "Paste JSON" },
        ]}
      />
      {mode === "form" ? (
        <>
          <TextInput
            label="Name"
            placeholder="search_tickets"
            data-autofocus
            maxLength={64}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={
              name !== "" && !/^[A-Za-z0-9_-]+$/.test(name)
                ? "Only letters, digits, _ and - are allowed."
                : undefined
            }
          />
          <Textarea
            label="Description"
            placeholder="When the model should call it"
            autosize
            minRows={2}
            maxRows={6}
            value={description}
            onChange={(event) => setDescription(event.currentTarget.value)}
          />
          <Stack gap={4}>
            <span className={classes.label}>Parameters (JSON Schema)</span>
            <Code
              label="Parameters"
              language="json"
              minHeight={120}
              maxHeight={300}
              value={parameters}
              onChange={setParameters}
            />
            {schema === null && <ErrorText>A JSON object is expected.</ErrorText>}
          </Stack>
        </>
      ) : (
        <Stack gap={4}>
          <span className={classes.hint}>
            A tool, a list of tools, or a whole request in the format of OpenAI.
          </span>
          <Code
            label="JSON of the tools"
            language="json"
            minHeight={180}
            maxHeight={360}
            value={pasted}
            onChange={setPasted}
          />
          {pasted.trim() !== "" && tools === null && <ErrorText>No tools found in this JSON.</ErrorText>}
        </Stack>
      )}
    </FormDialog>
  );
}

function readSchema(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
