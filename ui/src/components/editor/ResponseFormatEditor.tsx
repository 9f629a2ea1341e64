import { SegmentedControl } from "@mantine/core";
import { Code } from "@/components/Code";
import { isObject } from "@/components/json";
import { pretty } from "./draft";
import classes from "./Editor.module.css";
import { ErrorText } from "./ErrorText";

const SCHEMA = pretty({
  type: "json_schema",
  json_schema: {
    name: "answer",
    strict: true,
    schema: { type: "object", properties: {}, required: [], additionalProperties: false },
  },
});

interface Props {
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}

/** The format of the model's answer. */
export function ResponseFormatEditor({ value, error, onChange }: Props) {
  const kind = kindOf(value);
  return (
    <div>
      <SegmentedControl
        size="xs"
        aria-label="Response format"
        value={kind}
        onChange={(chosen) => {
          if (chosen === kind) return;
          if (chosen === "none") onChange("");
          else onChange(chosen === "json_schema" ? SCHEMA : pretty({ type: chosen }));
        }}
        data={[
          { value: "none", label: "Default" },
          { value: "json_object", label: "JSON object" },
          { value: "json_schema", label: "JSON Schema" },
          ...(kind === "other" ? [{ value: "other", label: "Other" }] : []),
        ]}
      />
      {kind !== "none" && kind !== "json_object" && (
        <div className={classes.more}>
          <Code
            label="JSON of the response format"
            language="json"
            minHeight={80}
            value={value}
            onChange={onChange}
          />
          {error && <ErrorText>{error}</ErrorText>}
        </div>
      )}
    </div>
  );
}

/** JSON that is not valid yet stays what the editor shows. */
function kindOf(value: string): "none" | "json_object" | "json_schema" | "other" {
  if (value === "") return "none";
  try {
    const format: unknown = JSON.parse(value);
    if (!isObject(format)) return "other";
    if (format.type === "json_schema") return "json_schema";
    return format.type === "json_object" && Object.keys(format).length === 1 ? "json_object" : "other";
  } catch {
    return /"json_schema"/.test(value) ? "json_schema" : "other";
  }
}
