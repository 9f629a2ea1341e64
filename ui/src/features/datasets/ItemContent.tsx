import { Badge, Group, Text } from "@mantine/core";
import { Link } from "react-router";
import type { Dataset, DatasetItem } from "@/api/types";
import { Ago } from "@/components/Ago";
import { CopyButton } from "@/components/CopyButton";
import { Fact, FactList } from "@/components/Fact";
import { NONE } from "@/components/format";
import { JsonTree } from "@/components/JsonTree";
import { isBranch, type Json } from "@/components/json";
import { RecordedText } from "@/components/RecordedText";
import { useNow } from "@/components/useNow";
import classes from "./Datasets.module.css";

/** An item, to read. */
export function ItemContent({ item, dataset }: { item: DatasetItem; dataset: Dataset }) {
  const now = useNow(30_000);
  const run = `/p/${dataset.project_id}/runs/${item.source_run_id}`;
  return (
    <>
      <FactList inline>
        <Fact label="Key" value={item.key ?? NONE} />
        <Fact label="Split" value={item.split ?? NONE} />
        <Fact
          label="Tags"
          value={
            item.tags.length === 0 ? (
              NONE
            ) : (
              <Group gap={4} component="span">
                {item.tags.map((tag) => (
                  <Badge key={tag} size="sm" variant="light" color="gray" c="var(--lt-text)" tt="none">
                    {tag}
                  </Badge>
                ))}
              </Group>
            )
          }
        />
        <Fact
          label="Source"
          value={
            item.source_run_id === null ? (
              NONE
            ) : (
              <Link
                to={
                  item.source_span_id === null
                    ? run
                    : `${run}?${new URLSearchParams({ span: item.source_span_id })}`
                }
              >
                {item.source_span_id === null ? "run" : "span of a run"}
              </Link>
            )
          }
        />
        <Fact
          label="Last changed"
          value={
            <>
              in revision {item.revision_added}, <Ago time={item.created_at} now={now} />
            </>
          }
        />
        <Fact
          label="Id"
          value={
            <Group gap={4} component="span" wrap="nowrap">
              <code>{item.id}</code>
              <CopyButton value={item.id} what="item id" />
            </Group>
          }
        />
      </FactList>
      <ValueView title="Input" value={item.input as Json} />
      <ValueView title="Reference output" value={item.reference_output as Json} isOptional />
      {Object.keys(item.metadata).length > 0 && <ValueView title="Metadata" value={item.metadata as Json} />}
    </>
  );
}

interface ValueProps {
  title: string;
  value: Json;
  /** Null means that there is none. */
  isOptional?: boolean;
}

function ValueView({ title, value, isOptional = false }: ValueProps) {
  const isNone = isOptional && value === null;
  return (
    <section aria-label={title} data-testid={`item-${title.toLowerCase().replaceAll(" ", "-")}`}>
      <h2 className={classes.heading}>
        {title}
        {!isNone && <span>{typeName(value)}</span>}
      </h2>
      {isNone ? (
        <Text size="sm" c="dimmed">
          None
        </Text>
      ) : value === "" ? (
        <Text size="sm" c="dimmed">
          Empty text
        </Text>
      ) : typeof value === "string" ? (
        <div className={classes.box} dir="auto">
          <RecordedText text={value} what={title.toLowerCase()} plain framed={false} />
        </div>
      ) : (
        <JsonTree value={value} what={title.toLowerCase()} open={3} />
      )}
    </section>
  );
}

function typeName(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  if (isBranch(value)) return "object";
  return typeof value === "string" ? "text" : typeof value === "boolean" ? "boolean" : "number";
}
