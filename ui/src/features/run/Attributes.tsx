import { TextInput } from "@mantine/core";
import { IconFilter } from "@tabler/icons-react";
import { useState } from "react";
import type { Span } from "@/api/types";
import { CopyButton } from "@/components/CopyButton";
import { formatBytes } from "@/components/format";
import { attributeRows } from "./attributeRows";
import classes from "./SpanDetail.module.css";

/** The recorded attributes of the span and its resource. */
export function Attributes({ span }: { span: Span }) {
  const [filter, setFilter] = useState("");
  const scope = [span.scope_name, span.scope_version].filter(Boolean).join(" ");
  return (
    <>
      <TextInput
        size="xs"
        mb="sm"
        type="search"
        aria-label="Filter attributes"
        placeholder="Filter by key or value"
        leftSection={<IconFilter size={14} aria-hidden="true" />}
        value={filter}
        onChange={(event) => setFilter(event.currentTarget.value)}
      />
      <List title="Span" attributes={span.attributes ?? {}} filter={filter} />
      <List title="Resource" attributes={span.resource_attributes ?? {}} filter={filter} />
      {scope && (
        <p className={classes.none}>
          Instrumentation scope: <bdi>{scope}</bdi>
        </p>
      )}
    </>
  );
}

interface ListProps {
  title: string;
  attributes: Record<string, unknown>;
  filter: string;
}

function List({ title, attributes, filter }: ListProps) {
  const rows = attributeRows(attributes, filter);
  const total = Object.keys(attributes).length;
  return (
    <section aria-label={`${title} attributes`}>
      <h3 className={classes.subtitle}>
        {title} <span>{filter === "" ? total : `${rows.length} of ${total}`}</span>
      </h3>
      {rows.length > 0 && (
        <table className={classes.attributes}>
          <tbody>
            {rows.map(({ key, text }) => (
              <tr key={key}>
                <th scope="row">
                  <bdi>{key}</bdi>
                </th>
                <td dir="auto">
                  <Value text={text} />
                </td>
                <td>
                  <CopyButton value={text} what={key} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

const MAX_CHARACTERS = 400;

function Value({ text }: { text: string }) {
  const [isExpanded, setExpanded] = useState(false);
  if (isExpanded || text.length <= MAX_CHARACTERS) return text;
  return (
    <>
      {text.slice(0, MAX_CHARACTERS)}…{" "}
      <button type="button" className={classes.more} onClick={() => setExpanded(true)}>
        show all ({formatBytes(new Blob([text]).size)})
      </button>
    </>
  );
}
