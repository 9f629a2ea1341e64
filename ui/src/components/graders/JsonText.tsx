import { useState } from "react";
import { parseJson, writeJson } from "@/api/json";
import { Code } from "@/components/Code";

interface Props {
  label: string;
  placeholder?: string;
  value: unknown;
  broken?: string;
  onChange: (value: unknown, broken?: string) => void;
}

/** A value as JSON. While a text isn't JSON, the value stays, and the text is handed on. Empty is no value. */
export function JsonText({ label, placeholder, value, broken, onChange }: Props) {
  // What was typed keeps its spaces and lines.
  const [text, setText] = useState(broken ?? (value === undefined ? "" : writeJson(value, 2)));
  return (
    <Code
      label={label}
      language="json"
      minHeight={24}
      maxHeight={300}
      placeholder={placeholder}
      value={text}
      onChange={(typed) => {
        setText(typed);
        if (typed.trim() === "") return onChange(undefined);
        let parsed: unknown;
        try {
          parsed = parseJson(typed);
        } catch {
          return onChange(value, typed);
        }
        onChange(parsed);
      }}
    />
  );
}
