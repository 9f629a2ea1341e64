import { Button, Menu } from "@mantine/core";
import { IconPencil, IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { Link, useSearchParams } from "react-router";
import { useDatasets } from "@/api/datasets";
import type { Dataset } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import { DataTable } from "@/components/DataTable";
import { EmptyHint } from "@/components/EmptyHint";
import { formatCount, NONE } from "@/components/format";
import { ListPage } from "@/components/ListPage";
import { PageHint } from "@/components/PageMessage";
import { PausedSearch } from "@/components/PausedSearch";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import classes from "./Datasets.module.css";
import { DeleteDatasetDialog } from "./DeleteDatasetDialog";
import { DetailsDialog } from "./DetailsDialog";
import { NewDatasetDialog } from "./NewDatasetDialog";

type OpenDialog = { kind: "new" } | { kind: "details" | "delete"; dataset: Dataset };

/** The datasets of a project. */
export function DatasetsPage() {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "datasets:write");
  const [params, setParams] = useSearchParams();
  const search = params.get("search") ?? "";
  const query = useDatasets(projectId, search);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const now = useNow(30_000);
  const newDataset = mayWrite && (
    <Button leftSection={<IconPlus size={14} />} onClick={() => setDialog({ kind: "new" })}>
      New dataset
    </Button>
  );
  return (
    <>
      <ListPage<Dataset>
        title="Datasets"
        context="Inputs with the outputs you expect, to evaluate prompts and agents on. Each change is a numbered revision."
        tools={
          <search>
            <PausedSearch
              label="Search datasets"
              placeholder="Search names and descriptions"
              value={search}
              onChange={(value) => setParams(value === "" ? {} : { search: value }, { replace: true })}
            />
          </search>
        }
        actions={newDataset}
        query={query}
        what="datasets"
        rowHeight={36}
        emptyTitle="No datasets yet."
        emptyHint={
          <EmptyHint
            purpose="A dataset is a list of inputs, each with a reference output that shows a good answer, to test prompts, models and agents on. Each change creates a new revision, so results stay comparable."
            action={newDataset || <PageHint>Your role doesn't include creating datasets.</PageHint>}
            samples="datasets"
          >
            {mayWrite && (
              <div className={classes.ways}>
                <section className={classes.way}>
                  <h2>Import a file</h2>
                  <p>
                    CSV, JSON, JSONL, YAML, Parquet or Excel, and exports of other tools. You see a preview
                    first.
                  </p>
                </section>
                <section className={classes.way}>
                  <h2>Add items from runs</h2>
                  <p>Take inputs and outputs from recorded runs. Each item links to its run.</p>
                </section>
                <section className={classes.way}>
                  <h2>Write items from code</h2>
                  <p>Send items to the API from a script or a pipeline. A new dataset shows the request.</p>
                </section>
              </div>
            )}
          </EmptyHint>
        }
        onClearFilters={search === "" ? undefined : () => setParams({})}
      >
        {(rows) => (
          <DataTable
            label="Datasets"
            stacks
            rows={rows}
            rowKey={({ id }) => id}
            rowProps={() => ({ "data-testid": "dataset-row" })}
            columns={[
              {
                header: "Name",
                cell: ({ id, name }) => (
                  <Link to={id} className={classes.name} data-row-focus>
                    {name}
                  </Link>
                ),
              },
              {
                header: "Description",
                ownLine: true,
                title: ({ description }) => description,
                cell: ({ description }) =>
                  description && <span className={classes.value}>{description}</span>,
              },
              { header: "Items", number: true, cell: ({ item_count }) => formatCount(item_count) },
              {
                header: "Revision",
                number: true,
                cell: ({ revision }) => (revision === 0 ? NONE : formatCount(revision)),
              },
              { header: "Created by", cell: ({ created_by }) => authorName(created_by) },
              {
                header: "Changed",
                number: true,
                cell: ({ updated_at }) => <Ago time={updated_at} now={now} />,
              },
              {
                header: "Actions",
                hideHeader: true,
                cell: (dataset) =>
                  mayWrite && (
                    <RowMenu name={dataset.name}>
                      <Menu.Item
                        leftSection={<IconPencil size={15} />}
                        onClick={() => setDialog({ kind: "details", dataset })}
                      >
                        Rename, describe…
                      </Menu.Item>
                      <DangerItem icon={IconTrash} onClick={() => setDialog({ kind: "delete", dataset })}>
                        Delete…
                      </DangerItem>
                    </RowMenu>
                  ),
              },
            ]}
          />
        )}
      </ListPage>
      {dialog?.kind === "new" && <NewDatasetDialog projectId={projectId} onClose={close} />}
      {dialog?.kind === "details" && <DetailsDialog dataset={dialog.dataset} onClose={close} />}
      {dialog?.kind === "delete" && (
        <DeleteDatasetDialog dataset={dialog.dataset} onClose={close} onDeleted={close} />
      )}
    </>
  );
}
