import { SegmentedControl, Select, Text } from "@mantine/core";
import type { ColumnType, ImportColumn, ImportMapping, ImportPreview, ImportShape } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import { formatCount } from "@/components/format";
import classes from "./ImportPage.module.css";
import {
  assign,
  columnsOf,
  isPlain,
  mappingByNames,
  type Role,
  roleLabels,
  rolesOf,
  setPlain,
  setType,
  shapeLabels,
  shapeNames,
  type Target,
  targetText,
} from "./mapping";
import { formatRows } from "./progress";

interface Props {
  mapping: ImportMapping;
  /** The mapping was found in the file, not chosen. */
  isFound: boolean;
  preview: ImportPreview;
  onChange: (mapping: ImportMapping) => void;
}

const LEFT_OUT = "";
const TARGETS: readonly Target[] = ["input", "reference_output", "metadata"];

const types: { value: ColumnType; label: string }[] = [
  { value: "text", label: "Text" },
  { value: "number", label: "Number" },
  { value: "boolean", label: "Boolean" },
  { value: "json", label: "JSON" },
];

/** Which part of an item each column becomes. */
export function MappingEditor({ mapping, isFound, preview, onChange }: Props) {
  const order = preview.columns.map(({ name }) => name);
  const hasTypes = preview.format === "csv" || preview.format === "xlsx";
  return (
    <div data-testid="mapping" data-shape={mapping.shape}>
      <Select
        size="xs"
        w={260}
        label="The rows are"
        data={Object.entries(shapeLabels).map(([value, label]) => ({ value, label }))}
        value={mapping.shape}
        allowDeselect={false}
        onChange={(value) =>
          value !== null &&
          value !== mapping.shape &&
          onChange(value === "columns" ? mappingByNames(preview.columns) : { shape: value as ImportShape })
        }
      />
      {mapping.shape !== "columns" && (
        <Text size="sm" c="dimmed" mt={6}>
          {isFound && `Looks like ${shapeNames[mapping.shape]}. `}
          The rows define the input and reference output. Choose Columns to map them yourself.
        </Text>
      )}
      {mapping.shape === "columns" && (
        <div className={classes.columns}>
          <DataTable
            label="Columns"
            stacks
            rows={preview.columns}
            rowKey={({ name }) => name}
            rowProps={({ name }) => ({ "data-testid": "column-row", "data-column": name })}
            columns={[
              { header: "Column", cell: ({ name }) => name },
              {
                header: "Values",
                cell: (column) => (
                  <span
                    title={`${formatCount(column.filled)} of ${formatRows(preview.rows_read)} have a value`}
                  >
                    {kindsText(column, preview.rows_read)}
                  </span>
                ),
              },
              {
                header: "Examples",
                ownLine: true,
                cell: ({ examples }) => (
                  <span className={classes.example} title={examples.join("\n")}>
                    {examples.map((example, index) => (
                      <span key={example}>
                        {index > 0 && " · "}
                        <bdi>{example}</bdi>
                      </span>
                    ))}
                  </span>
                ),
              },
              ...(hasTypes
                ? [
                    {
                      header: "Read as",
                      cell: ({ name, type }: ImportColumn) => (
                        <Select
                          size="xs"
                          w={110}
                          aria-label={`Type of ${name}`}
                          data={types}
                          value={mapping.types?.[name] ?? type}
                          allowDeselect={false}
                          onChange={(value) => onChange(setType(mapping, name, value as ColumnType))}
                        />
                      ),
                    },
                  ]
                : []),
              {
                header: "Goes to",
                cell: ({ name }) => (
                  <Destination
                    name={name}
                    roles={rolesOf(mapping, name)}
                    onChange={(role) => onChange(assign(mapping, order, name, role))}
                  />
                ),
              },
            ]}
          />
          <div className={classes.targets}>
            {TARGETS.map((target) => (
              <TargetLine
                key={target}
                target={target}
                mapping={mapping}
                onChange={(plain) => onChange(setPlain(mapping, target, plain))}
              />
            ))}
          </div>
        </div>
      )}
    </div>
  );
}

/** What the cells of a column look like: "48 numbers, 2 texts, 1 empty". */
function kindsText({ kinds, filled }: ImportColumn, rows: number): string {
  const found = Object.entries(kinds)
    .filter(([kind, count]) => count > 0 && kind !== "null")
    .sort(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${formatCount(count)} ${kind}${count === 1 ? "" : "s"}`);
  const empty = rows - filled;
  return [...found, ...(empty > 0 ? [`${formatCount(empty)} empty`] : [])].join(", ");
}

interface DestinationProps {
  name: string;
  roles: Role[];
  onChange: (role: Role | null) => void;
}

function Destination({ name, roles, onChange }: DestinationProps) {
  const several = roles.length > 1 ? roles.join(" ") : null;
  return (
    <Select
      size="xs"
      w={160}
      aria-label={`Where ${name} goes`}
      data={[
        ...(several === null
          ? []
          : [{ value: several, label: roles.map((role) => roleLabels[role]).join(" and ") }]),
        ...Object.entries(roleLabels).map(([value, label]) => ({ value, label })),
        { value: LEFT_OUT, label: "Left out" },
      ]}
      value={several ?? roles[0] ?? LEFT_OUT}
      allowDeselect={false}
      onChange={(value) =>
        value !== null && value !== several && onChange(value === LEFT_OUT ? null : (value as Role))
      }
    />
  );
}

interface TargetProps {
  target: Target;
  mapping: ImportMapping;
  onChange: (plain: boolean) => void;
}

function TargetLine({ target, mapping, onChange }: TargetProps) {
  const value = mapping[target];
  const columns = columnsOf(value);
  return (
    <div className={classes.target} data-testid={`target-${target}`}>
      <strong>{roleLabels[target]}</strong>
      {target === "input" && columns.length === 0 ? (
        <Text size="sm" c="var(--lt-error-text)" role="alert">
          Choose at least one column.
        </Text>
      ) : (
        <code>{targetText(value)}</code>
      )}
      {columns.length === 1 && (
        <SegmentedControl
          size="xs"
          aria-label={`Form of the ${roleLabels[target].toLowerCase()}`}
          value={isPlain(value) ? "plain" : "object"}
          onChange={(form) => onChange(form === "plain")}
          data={[
            { value: "plain", label: "Value as it is" },
            { value: "object", label: "Object" },
          ]}
        />
      )}
    </div>
  );
}
