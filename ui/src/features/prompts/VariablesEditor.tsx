import { Checkbox, Select, TextInput } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { type Column, DataTable } from "@/components/DataTable";
import {
  type DraftError,
  type DraftVariable,
  newVariable,
  type VariableType,
} from "@/components/editor/draft";
import classes from "@/components/editor/Editor.module.css";
import { IconButton } from "@/components/IconButton";

const TYPES: VariableType[] = ["any", "string", "number", "integer", "boolean", "object", "array"];

type Row = DraftVariable & { isUsed: boolean };

interface Props {
  rows: Row[];
  variables: DraftVariable[];
  errors: readonly DraftError[];
  onChange: (variables: DraftVariable[]) => void;
}

/** The variables that the texts name, and what they accept. */
export function VariablesEditor({ rows, variables, errors, onChange }: Props) {
  const change = (name: string, changed: Partial<DraftVariable>) => {
    const known = variables.findIndex((variable) => variable.name === name);
    if (known < 0) onChange([...variables, { ...newVariable(name), ...changed }]);
    else onChange(variables.with(known, { ...(variables[known] as DraftVariable), ...changed }));
  };
  if (rows.length === 0) {
    return (
      <p className={classes.hint}>
        None yet. Write <code>{"{{name}}"}</code> in a message to add a variable.
      </p>
    );
  }
  const text = (
    member: "default" | "description" | "example",
    header: string,
    hint: string,
  ): Column<Row> => ({
    header,
    cell: (row) => (
      <TextInput
        size="xs"
        miw={90}
        aria-label={`${header} of ${row.name}`}
        placeholder={hint}
        maxLength={member === "description" ? 2000 : 100_000}
        value={row[member]}
        onChange={(event) => change(row.name, { [member]: event.currentTarget.value })}
        error={errors.find(({ at }) => at === `${member} ${row.name}`)?.message}
      />
    ),
  });
  return (
    <DataTable
      label="Variables"
      rows={rows}
      rowKey={({ name }) => name}
      rowProps={() => ({ "data-testid": "variable-row" })}
      columns={[
        {
          header: "Name",
          cell: ({ name, isUsed }) => (
            <span className={classes.variable}>
              <code>{name}</code>
              {!isUsed && <span className={classes.hint}>not in the messages</span>}
            </span>
          ),
        },
        {
          header: "Type",
          cell: (row) => (
            <Select
              size="xs"
              w={96}
              aria-label={`Type of ${row.name}`}
              data={TYPES}
              value={row.type}
              onChange={(type) => change(row.name, { type: (type ?? "any") as VariableType })}
              allowDeselect={false}
            />
          ),
        },
        {
          header: "Required",
          cell: (row) => (
            <Checkbox
              size="xs"
              aria-label={`${row.name} is required`}
              title="Without a value and default, a variable that is not required renders as nothing."
              checked={row.required}
              onChange={(event) => change(row.name, { required: event.currentTarget.checked })}
            />
          ),
        },
        text("default", "Default", "none"),
        text("example", "Example", "none"),
        text("description", "Description", ""),
        {
          header: "Remove",
          hideHeader: true,
          cell: (row) =>
            !row.isUsed && (
              <IconButton
                label={`Remove ${row.name}`}
                onClick={() => onChange(variables.filter(({ name }) => name !== row.name))}
                icon={<IconTrash size={14} />}
              />
            ),
        },
      ]}
    />
  );
}
