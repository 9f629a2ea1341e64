import { Text, TextInput } from "@mantine/core";
import { Code } from "@/components/Code";
import type { DraftVariable } from "./draft";
import classes from "./Editor.module.css";
import { ErrorText } from "./ErrorText";

interface Props {
  variables: readonly DraftVariable[];
  placeholders: readonly string[];
  /** The typed values by name. Without one, a variable shows its example. */
  texts: Record<string, string>;
  /** The JSON of the placeholders' messages by name. */
  lists: Record<string, string>;
  /** What is wrong, by name. */
  errors: Record<string, string>;
  onText: (name: string, text: string) => void;
  onList: (name: string, text: string) => void;
}

/** Fields for what messages are rendered with. */
export function ValueFields(props: Props) {
  const { variables, placeholders, texts, lists, errors, onText, onList } = props;
  if (variables.length + placeholders.length === 0) return null;
  return (
    <div className={classes.values}>
      {variables.map((variable) => (
        <Value
          key={variable.name}
          variable={variable}
          text={texts[variable.name] ?? variable.example}
          error={errors[variable.name]}
          onChange={(text) => onText(variable.name, text)}
        />
      ))}
      {placeholders.map((name) => (
        <div key={name}>
          <span className={classes.label}>{name}</span>
          <Text size="xs" c="dimmed">
            A list of messages as JSON.
          </Text>
          <Code
            label={`Messages of ${name}`}
            language="json"
            minHeight={30}
            maxHeight={160}
            value={lists[name] ?? ""}
            placeholder='[{ "role": "user", "content": "Hello" }]'
            onChange={(text) => onList(name, text)}
          />
          {errors[name] && <ErrorText>{errors[name]}</ErrorText>}
        </div>
      ))}
    </div>
  );
}

interface ValueProps {
  variable: DraftVariable;
  text: string;
  error: string | undefined;
  onChange: (text: string) => void;
}

function Value({ variable, text, error, onChange }: ValueProps) {
  const { name, type, required, default: standard, description } = variable;
  return (
    <TextInput
      size="xs"
      label={name}
      description={description || undefined}
      placeholder={
        standard !== "" ? `default: ${standard}` : required ? (type === "any" ? "value" : type) : "nothing"
      }
      value={text}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
    />
  );
}
