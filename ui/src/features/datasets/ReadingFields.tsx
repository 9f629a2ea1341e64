import { Select, Switch } from "@mantine/core";
import type { FileEncoding, FileFormat, ImportPreview, ImportPreviewQuery } from "@/api/types";
import classes from "./ImportPage.module.css";

/** How a file is read, as far as the user chose it. */
export type Reading = Pick<ImportPreviewQuery, "format" | "encoding" | "delimiter" | "header" | "sheet">;

const formats: { value: FileFormat; label: string }[] = [
  { value: "csv", label: "CSV" },
  { value: "jsonl", label: "JSONL" },
  { value: "json", label: "JSON" },
  { value: "yaml", label: "YAML" },
  { value: "parquet", label: "Parquet" },
  { value: "xlsx", label: "Excel (XLSX)" },
];

const encodings: { value: FileEncoding; label: string }[] = [
  { value: "utf-8", label: "UTF-8" },
  { value: "utf-16le", label: "UTF-16 LE" },
  { value: "utf-16be", label: "UTF-16 BE" },
  { value: "windows-1252", label: "Windows-1252" },
];

const delimiters = [
  { value: ",", label: "Comma" },
  { value: ";", label: "Semicolon" },
  { value: "\t", label: "Tab" },
  { value: "|", label: "Pipe" },
];

interface Props {
  reading: Reading;
  /** Says what was found in the file. */
  preview: ImportPreview | undefined;
  onChange: (reading: Reading) => void;
}

/** How the file is read: what was found in it, to correct. */
export function ReadingFields({ reading, preview, onChange }: Props) {
  const delimiter = reading.delimiter ?? preview?.delimiter ?? null;
  const header = reading.header ?? preview?.header ?? null;
  const common = { size: "xs", allowDeselect: false, w: 150 } as const;
  return (
    <div className={classes.fields}>
      <Select
        {...common}
        label="Format"
        placeholder="Not recognized"
        data={formats}
        value={reading.format ?? preview?.format ?? null}
        // The rest was found for another format.
        onChange={(value) => onChange({ format: (value as FileFormat | null) ?? undefined })}
      />
      {(reading.encoding || preview?.encoding) && (
        <Select
          {...common}
          label="Encoding"
          data={encodings}
          value={reading.encoding ?? preview?.encoding ?? null}
          onChange={(value) => onChange({ ...reading, encoding: value as FileEncoding })}
        />
      )}
      {delimiter !== null && (
        <Select
          {...common}
          label="Delimiter"
          data={
            delimiters.some(({ value }) => value === delimiter)
              ? delimiters
              : [...delimiters, { value: delimiter, label: delimiter }]
          }
          value={delimiter}
          onChange={(value) => onChange({ ...reading, delimiter: value ?? undefined })}
        />
      )}
      {preview && preview.sheets.length > 0 && (
        <Select
          {...common}
          w={220}
          label="Sheet"
          data={preview.sheets}
          value={reading.sheet ?? preview.sheet}
          onChange={(value) => onChange({ ...reading, sheet: value ?? undefined })}
        />
      )}
      {header !== null && (
        <Switch
          size="sm"
          mb={6}
          label="The first row has the names of the columns"
          checked={header}
          onChange={(event) => onChange({ ...reading, header: event.currentTarget.checked })}
        />
      )}
    </div>
  );
}
