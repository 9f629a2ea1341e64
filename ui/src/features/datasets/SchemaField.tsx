import { Code } from "@/components/Code";
import classes from "./Datasets.module.css";

interface Props {
  label: string;
  value: string;
  /** Missing: the schema is read-only. */
  onChange?: (value: string) => void;
  error?: string;
  /** At the right of the label. */
  action?: React.ReactNode;
  minHeight?: number;
}

/** The text of a JSON Schema. */
export function SchemaField({ label, value, onChange, error, action, minHeight = 90 }: Props) {
  return (
    <div>
      <div className={classes.label}>
        {label}
        {action}
      </div>
      <Code
        label={label}
        language="json"
        placeholder={onChange && '{"type": "object", "required": ["question"]}'}
        minHeight={minHeight}
        maxHeight={420}
        value={value}
        onChange={onChange}
      />
      {error && (
        <p className={classes.error} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
