import { Button, Menu } from "@mantine/core";
import {
  IconDownload,
  IconFileImport,
  IconPencil,
  IconScale,
  IconTestPipe,
  IconTrash,
} from "@tabler/icons-react";
import { useState } from "react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";
import { useDataset } from "@/api/datasets";
import type { Dataset } from "@/api/types";
import { Ago } from "@/components/Ago";
import { newComparisonPath } from "@/components/comparisonStart";
import { newEvalRunPath } from "@/components/evalRunStart";
import { PageHeader } from "@/components/PageHeader";
import { PageState } from "@/components/PageState";
import { PageTabs } from "@/components/PageTabs";
import { SkeletonRows } from "@/components/QueryState";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { useBack } from "@/components/useBack";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import classes from "./Datasets.module.css";
import { DeleteDatasetDialog } from "./DeleteDatasetDialog";
import { DetailsDialog } from "./DetailsDialog";
import { ExportDialog } from "./ExportDialog";
import { ImportsTab } from "./ImportsTab";
import { ItemsTab } from "./ItemsTab";
import { NearDuplicatesTab } from "./NearDuplicatesTab";
import { RevisionsTab } from "./RevisionsTab";
import { formatItems, readRevision } from "./revisions";
import { SchemaTab } from "./SchemaTab";

/** One dataset: its items, revisions, schema, imports and near-duplicates. */
export function DatasetPage() {
  const projectId = useProjectId();
  const { datasetId = "" } = useParams();
  const query = useDataset(datasetId);
  return (
    <PageState
      query={query}
      skeleton={<SkeletonRows count={8} height={40} />}
      title="Dataset"
      above={{ label: "Back to the datasets", to: `/p/${projectId}/datasets` }}
    >
      {(dataset) => <View key={dataset.id} dataset={dataset} />}
    </PageState>
  );
}

const TABS = ["revisions", "schema", "imports", "near-duplicates"] as const;

type OpenDialog = "details" | "export" | "delete";

function View({ dataset }: { dataset: Dataset }) {
  const projectId = useProjectId();
  const project = useProject();
  const mayWrite = allows(project, "datasets:write");
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const back = useBack();
  const now = useNow(30_000);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const tab = TABS.find((name) => name === params.get("tab")) ?? "items";
  return (
    <div className={classes.page}>
      <PageHeader
        title={dataset.name}
        back={{ label: "Back to the datasets", onClick: back }}
        context={
          <>
            {formatItems(dataset.item_count)} ·{" "}
            {dataset.revision === 0 ? "no revisions" : `revision ${dataset.revision}`} · changed{" "}
            <Ago time={dataset.updated_at} now={now} />
            {dataset.description !== "" && ` · ${dataset.description}`}
          </>
        }
        actions={
          <>
            {mayWrite && (
              <Button
                component={Link}
                to={`/p/${projectId}/datasets/${dataset.id}/import`}
                variant="default"
                leftSection={<IconFileImport size={14} />}
              >
                Import
              </Button>
            )}
            {allows(project, "evals:write") && dataset.item_count > 0 && (
              <Button
                component={Link}
                to={newComparisonPath(projectId, { datasetId: dataset.id })}
                variant="default"
                leftSection={<IconScale size={14} />}
              >
                Compare
              </Button>
            )}
            {allows(project, "evals:write") && (
              <Button
                component={Link}
                to={newEvalRunPath(projectId, { datasetId: dataset.id })}
                variant="default"
                leftSection={<IconTestPipe size={14} />}
              >
                Evaluate
              </Button>
            )}
            <RowMenu name={dataset.name}>
              {allows(project, "evals:read") && (
                <Menu.Item
                  component={Link}
                  to={`/p/${projectId}/comparisons?dataset=${dataset.id}`}
                  leftSection={<IconScale size={15} />}
                >
                  Comparisons on it
                </Menu.Item>
              )}
              {allows(project, "evals:read") && (
                <Menu.Item
                  component={Link}
                  to={`/p/${projectId}/eval-runs?dataset=${dataset.id}`}
                  leftSection={<IconTestPipe size={15} />}
                >
                  Eval-runs on it
                </Menu.Item>
              )}
              <Menu.Item leftSection={<IconDownload size={15} />} onClick={() => setDialog("export")}>
                Export…
              </Menu.Item>
              {mayWrite && (
                <>
                  <Menu.Item leftSection={<IconPencil size={15} />} onClick={() => setDialog("details")}>
                    Rename, describe…
                  </Menu.Item>
                  <DangerItem icon={IconTrash} onClick={() => setDialog("delete")}>
                    Delete…
                  </DangerItem>
                </>
              )}
            </RowMenu>
          </>
        }
      />
      <PageTabs
        label="Parts of the dataset"
        value={tab}
        onChange={(value) => setParams(value === "items" ? {} : { tab: value })}
        tabs={[
          { value: "items", label: "Items", content: <ItemsTab dataset={dataset} mayWrite={mayWrite} /> },
          { value: "revisions", label: "Revisions", content: <RevisionsTab dataset={dataset} /> },
          { value: "schema", label: "Schema", content: <SchemaTab dataset={dataset} mayWrite={mayWrite} /> },
          {
            value: "imports",
            label: "Imports",
            content: <ImportsTab dataset={dataset} mayWrite={mayWrite} />,
          },
          {
            value: "near-duplicates",
            label: "Near-duplicates",
            content: <NearDuplicatesTab dataset={dataset} mayWrite={mayWrite} />,
          },
        ]}
      />
      {dialog === "details" && <DetailsDialog dataset={dataset} onClose={close} />}
      {dialog === "export" && (
        <ExportDialog dataset={dataset} revision={readRevision(params.get("revision"))} onClose={close} />
      )}
      {dialog === "delete" && (
        <DeleteDatasetDialog
          dataset={dataset}
          onClose={close}
          onDeleted={() => navigate(`/p/${projectId}/datasets`, { replace: true })}
        />
      )}
    </div>
  );
}
