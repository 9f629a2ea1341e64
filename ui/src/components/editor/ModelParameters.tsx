import { Select, SimpleGrid, Stack, TagsInput, TextInput } from "@mantine/core";
import { Code } from "@/components/Code";
import { type DraftError, type DraftModel, describeTool, type Item } from "./draft";
import classes from "./Editor.module.css";
import { ErrorText } from "./ErrorText";

interface Props {
  model: DraftModel;
  tools: readonly Item[];
  errors: readonly DraftError[];
  onChange: (model: DraftModel) => void;
  /** What empty fields mean; the provider's defaults if it is missing. */
  inherited?: DraftModel;
  /** A field before the others. */
  children?: React.ReactNode;
}

/** The settings of a model. Empty fields leave the choice to the program or the provider. */
export function ModelParameters({ model, tools, errors, onChange, inherited, children }: Props) {
  const message = (at: string) => errors.find((error) => error.at === at)?.message;
  const field = (
    label: string,
    member: "temperature" | "topP" | "maxOutputTokens" | "seed" | "reasoningEffort",
    at: string,
    placeholder: string,
  ) => (
    <TextInput
      size="xs"
      label={label}
      placeholder={inherited?.[member] || placeholder}
      maxLength={200}
      inputMode={member === "reasoningEffort" ? undefined : "decimal"}
      value={model[member]}
      onChange={(event) => onChange({ ...model, [member]: event.currentTarget.value })}
      error={message(at)}
    />
  );
  return (
    <Stack gap="xs">
      <SimpleGrid type="container" cols={{ base: 2, "430px": 3 }} spacing="xs" verticalSpacing="xs">
        {children}
        {field("Temperature", "temperature", "temperature", "default")}
        {field("Top P", "topP", "top_p", "default")}
        {field("Max. output tokens", "maxOutputTokens", "max_output_tokens", "default")}
        {field("Seed", "seed", "seed", "none")}
        {field("Reasoning effort", "reasoningEffort", "reasoning_effort", "default")}
        <Select
          size="xs"
          label="Tool choice"
          placeholder={inherited?.toolChoice || "default"}
          data={toolChoices(model, tools)}
          value={model.toolChoice || null}
          onChange={(toolChoice) => onChange({ ...model, toolChoice: toolChoice ?? "" })}
          clearable
        />
        <TagsInput
          size="xs"
          label="Stop sequences"
          placeholder={model.stop.length === 0 ? inherited?.stop.join(", ") || "Enter adds one" : undefined}
          maxTags={16}
          splitChars={[]}
          value={model.stop}
          onChange={(stop) => onChange({ ...model, stop })}
        />
      </SimpleGrid>
      <details open={model.extra !== "" || undefined}>
        <summary className={classes.summary}>Other parameters</summary>
        <p className={classes.hint}>Parameters of the provider that have no field here, as a JSON object.</p>
        <Code
          label="Other parameters"
          language="json"
          minHeight={50}
          value={model.extra}
          placeholder={inherited?.extra || '{ "service_tier": "flex" }'}
          onChange={(extra) => onChange({ ...model, extra })}
        />
        {message("extra") && <ErrorText>{message("extra")}</ErrorText>}
      </details>
    </Stack>
  );
}

function toolChoices({ toolChoice }: DraftModel, tools: readonly Item[]) {
  const named = tools
    .map(({ json }) => describeTool(json).name)
    .filter((name) => name !== "")
    .map((name) => ({ value: JSON.stringify({ type: "function", function: { name } }), label: name }));
  const choices = [
    ...["auto", "none", "required"].map((value) => ({ value, label: value })),
    ...named.filter(({ value }, index) => named.findIndex((other) => other.value === value) === index),
  ];
  const isKnown = toolChoice === "" || choices.some(({ value }) => value === toolChoice);
  return isKnown ? choices : [...choices, { value: toolChoice, label: toolChoice }];
}
