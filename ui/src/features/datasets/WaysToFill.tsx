import { Button } from "@mantine/core";
import { IconFileImport, IconListDetails, IconPlus } from "@tabler/icons-react";
import { Link } from "react-router";
import type { Dataset } from "@/api/types";
import { CodeBlock } from "@/components/CodeBlock";
import { PageHint, PageMessage } from "@/components/PageMessage";
import classes from "./Datasets.module.css";
import { writeSnippet } from "./snippet";

interface Props {
  dataset: Dataset;
  mayWrite: boolean;
  onAdd: () => void;
}

/** What an empty dataset shows: the ways to fill it. */
export function WaysToFill({ dataset, mayWrite, onAdd }: Props) {
  if (!mayWrite) {
    return (
      <PageMessage title="This dataset has no items yet.">
        <PageHint>Your role doesn't include adding items.</PageHint>
      </PageMessage>
    );
  }
  const project = `/p/${dataset.project_id}`;
  return (
    <PageMessage title="This dataset has no items yet.">
      <div className={classes.ways}>
        <section className={classes.way}>
          <h2>Import a file</h2>
          <p>
            CSV, JSON, JSONL, YAML, Parquet or Excel, and exports of other tools. You see a preview first.
          </p>
          <Button
            component={Link}
            to={`${project}/datasets/${dataset.id}/import`}
            leftSection={<IconFileImport size={14} />}
          >
            Import a file
          </Button>
        </section>
        <section className={classes.way}>
          <h2>Add items from runs</h2>
          <p>Find runs whose inputs and outputs you want to keep, and add them to this dataset.</p>
          <Button
            component={Link}
            to={`${project}/runs`}
            variant="default"
            leftSection={<IconListDetails size={14} />}
          >
            Open the runs
          </Button>
        </section>
        <section className={classes.way}>
          <h2>Write an item here</h2>
          <p>An input and, if you like, a reference output.</p>
          <Button variant="default" leftSection={<IconPlus size={14} />} onClick={onAdd}>
            Add item
          </Button>
        </section>
        <section className={classes.way} style={{ gridColumn: "1 / -1" }}>
          <h2>Write items from code</h2>
          <p>
            This needs a key with the scope datasets:write. Sending an item with the same key again updates
            it.
          </p>
          <CodeBlock code={writeSnippet(window.location.origin, dataset.id)} what="request" />
        </section>
      </div>
    </PageMessage>
  );
}
