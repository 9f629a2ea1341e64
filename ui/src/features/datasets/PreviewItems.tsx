import { writeJson } from "@/api/json";
import type { ImportPreview, ImportPreviewRow } from "@/api/types";
import { type Column, DataTable } from "@/components/DataTable";
import { firstWords, formatCount } from "@/components/format";
import { PageMessage } from "@/components/PageMessage";
import classes from "./ImportPage.module.css";
import { formatRows } from "./progress";

/** The items that the first rows of a file would make. */
export function PreviewItems({ preview }: { preview: ImportPreview }) {
  const { rows, rows_read: read, complete, partial } = preview;
  if (rows.length === 0) return <PageMessage title="The file has no rows." />;
  const rejected = rows.filter(({ item }) => item === null).length;
  const has = (member: "key" | "split" | "reference_output") =>
    rows.some(({ item }) => item?.[member] !== undefined && item[member] !== null);
  const columns: Column<ImportPreviewRow>[] = [
    { header: "Line", cell: ({ line }) => <span className={classes.line}>{formatCount(line)}</span> },
    ...(has("key") ? [{ header: "Key", cell: ({ item }: ImportPreviewRow) => item?.key }] : []),
    {
      header: "Input",
      ownLine: true,
      cell: (row) => (row.item ? <Value value={row.item.input} /> : <Errors row={row} />),
    },
    ...(has("reference_output")
      ? [
          {
            header: "Reference output",
            ownLine: true,
            cell: ({ item }: ImportPreviewRow) =>
              item && item.reference_output !== undefined && <Value value={item.reference_output} />,
          },
        ]
      : []),
    ...(has("split") ? [{ header: "Split", cell: ({ item }: ImportPreviewRow) => item?.split }] : []),
    ...(rows.some(({ item }) => (item?.tags ?? []).length > 0)
      ? [{ header: "Tags", cell: ({ item }: ImportPreviewRow) => item?.tags?.join(", ") }]
      : []),
    ...(rows.some(({ item }) => Object.keys(item?.metadata ?? {}).length > 0)
      ? [
          {
            header: "Metadata",
            cell: ({ item }: ImportPreviewRow) => item?.metadata && <Value value={item.metadata} />,
          },
        ]
      : []),
  ];
  return (
    <div data-testid="preview-items" data-rejected={rejected}>
      <p className={classes.summary} role="status">
        {complete
          ? `The file has ${formatRows(read)}.`
          : `Found in the first ${formatRows(read)} of the file.`}{" "}
        {rows.length < read ? `The first ${formatCount(rows.length)} are shown` : "All are shown"}
        {rejected === 0 ? "; all can be imported." : `; ${formatCount(rejected)} of them can't be imported.`}
        {partial && " Long values are cut here, not in the import."}
      </p>
      <DataTable
        label="Items"
        stacks
        maxHeight={420}
        rows={rows}
        rowKey={({ line }) => String(line)}
        rowProps={({ item }) => ({
          "data-testid": "preview-row",
          "data-rejected": item === null ? "true" : undefined,
        })}
        columns={columns}
      />
    </div>
  );
}

function Value({ value }: { value: unknown }) {
  const text = typeof value === "string" ? value : writeJson(value);
  return (
    <span className={classes.value} dir="auto">
      {firstWords(text, 300)}
    </span>
  );
}

function Errors({ row }: { row: ImportPreviewRow }) {
  return (
    <ul className={classes.errors}>
      {row.errors.map(({ column, reason, value }) => (
        <li key={`${column} ${reason}`}>
          {column !== null && <strong>{column}: </strong>}
          {reason}
          {value !== null && (
            <>
              {" "}
              <code>{firstWords(value, 80)}</code>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}
