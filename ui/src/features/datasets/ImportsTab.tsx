import { Button, Progress, Text } from "@mantine/core";
import { IconFileImport } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link } from "react-router";
import { isFinished, useImports } from "@/api/imports";
import { keys } from "@/api/queryKeys";
import type { Dataset, Import } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import { DataTable } from "@/components/DataTable";
import { NONE } from "@/components/format";
import { LoadMore } from "@/components/LoadMore";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useNow } from "@/components/useNow";
import { useRowFocus } from "@/components/useRowFocus";
import classes from "./Datasets.module.css";
import { ImportStatusMark } from "./ImportStatusMark";
import { failureText, modeLabels, progressText, readShare, resultText } from "./progress";

/** The imports into a dataset, with the progress of those that run. */
export function ImportsTab({ dataset, mayWrite }: { dataset: Dataset; mayWrite: boolean }) {
  const query = useImports(dataset.id);
  const queryClient = useQueryClient();
  const list = useRowFocus();
  const now = useNow(30_000);
  const address = `/p/${dataset.project_id}/datasets/${dataset.id}`;
  const open = query.data?.pages.flatMap(({ data }) => data).filter((one) => !isFinished(one)).length ?? 0;
  // An import that ends changes the dataset.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a change of the number matters
  useEffect(() => {
    if (query.data) void queryClient.invalidateQueries({ queryKey: keys.dataset.detail(dataset.id) });
  }, [open]);
  const start = mayWrite && (
    <Button component={Link} to={`${address}/import`} leftSection={<IconFileImport size={14} />}>
      Import a file
    </Button>
  );
  return (
    <QueryState query={query} skeleton={<SkeletonRows count={4} height={32} />} page>
      {({ pages }) => {
        const imports = pages.flatMap(({ data }) => data);
        if (imports.length === 0) {
          return (
            <PageMessage title="No imports yet.">
              <PageHint>
                An import reads a file of items. It shows a preview first, and names every row that it can't
                use.
              </PageHint>
              {start}
            </PageMessage>
          );
        }
        return (
          <div ref={list}>
            <DataTable
              label="Imports"
              stacks
              rows={imports}
              rowKey={({ id }) => id}
              rowProps={({ status }) => ({ "data-testid": "import-row", "data-status": status })}
              columns={[
                {
                  header: "File",
                  cell: ({ id, file_name: name }) => (
                    <Link to={`${address}/imports/${id}`} className={classes.name} data-row-focus>
                      {name ?? "unnamed file"}
                    </Link>
                  ),
                },
                { header: "Status", cell: ({ status }) => <ImportStatusMark status={status} /> },
                { header: "Rows", ownLine: true, cell: (one) => <Rows state={one} /> },
                { header: "Mode", cell: ({ mode }) => modeLabels[mode] },
                {
                  header: "Revision",
                  number: true,
                  cell: ({ revision }) =>
                    revision === null ? (
                      NONE
                    ) : (
                      <Link to={`?tab=revisions&compare=${revision - 1}...${revision}`}>{revision}</Link>
                    ),
                },
                { header: "By", cell: ({ created_by }) => authorName(created_by) },
                {
                  header: "Started",
                  number: true,
                  cell: ({ created_at }) => <Ago time={created_at} now={now} />,
                },
              ]}
            />
            <LoadMore query={query} what="imports" />
          </div>
        );
      }}
    </QueryState>
  );
}

function Rows({ state }: { state: Import }) {
  if (state.status === "failed") return failureText(state);
  if (state.status === "cancelled") return "Nothing was changed";
  if (state.status === "succeeded") return resultText(state);
  const share = readShare(state);
  return (
    <>
      <Text size="xs">{progressText(state)}</Text>
      {share !== null && (
        <Progress
          size="sm"
          value={100 * share}
          aria-label={`Progress of ${state.file_name ?? "the import"}`}
        />
      )}
    </>
  );
}
