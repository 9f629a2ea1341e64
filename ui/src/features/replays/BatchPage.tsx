import { Button, Menu } from "@mantine/core";
import { IconPencil, IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import {
  isBatchOpen,
  useCancelReplayBatch,
  useDeleteReplayBatch,
  useRenameReplayBatch,
  useReplayBatch,
} from "@/api/replayBatches";
import type { ReplayBatch } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import shared from "@/components/evaluation/Evaluation.module.css";
import { EvaluationDialogs } from "@/components/evaluation/EvaluationDialogs";
import { EvaluationStatusMark } from "@/components/evaluation/Marks";
import { costText } from "@/components/evaluation/progress";
import { Fact } from "@/components/Fact";
import { KeepBatch } from "@/components/findings/KeepBatch";
import { formatCount, formatCountOf } from "@/components/format";
import { PageHeader } from "@/components/PageHeader";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { BatchParts, BatchStatistics } from "./BatchParts";
import { BatchRuns } from "./BatchRuns";
import { chosenText, missingOf, replayableRuns } from "./batches";
import { EditsShown, graderText } from "./EditsTab";
import { ExtendBatch } from "./ExtendDialogs";
import { ReplayFacts } from "./ReplayFacts";
import { ReplayProblem } from "./ReplayProblem";
import { Running } from "./ResultTab";
import { progressText } from "./words";

/** One batch: what the edit repairs and breaks, and what became of each run. */
export function BatchPage() {
  const { batchId = "" } = useParams();
  const query = useReplayBatch(batchId);
  return (
    <QueryState query={query} skeleton={<SkeletonRows count={8} height={40} />} page>
      {(batch) => <View key={batch.id} batch={batch} problem={query.isRefetchError ? query.error : null} />}
    </QueryState>
  );
}

type OpenDialog = "rename" | "cancel" | "delete" | "extend";

interface Props {
  batch: ReplayBatch;
  /** Why it couldn't be read again. */
  problem: Error | null;
}

function View({ batch, problem }: Props) {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "replays:write");
  const navigate = useNavigate();
  const now = useNow(10_000);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const list = `/p/${projectId}/replays?list=batches`;
  const back = () => navigate(list);
  useKeys({ Escape: back });
  const isOpen = isBatchOpen(batch);
  const fingerprint = new URLSearchParams(batch.run_filter ?? "").get("fingerprint");
  const mayExtend = mayWrite && !isOpen && batch.executor === "server";
  const more = mayExtend ? () => setDialog("extend") : undefined;
  const close = () => setDialog(null);
  return (
    <div className={shared.page}>
      <PageHeader
        title={batch.name}
        back={{ label: "Back to the batches", onClick: back }}
        badges={<EvaluationStatusMark status={batch.status} />}
        context={
          <>
            Replays {chosenText(batch)} ·{" "}
            {fingerprint !== null && (
              <>
                <Link to={`/p/${projectId}/failures/${encodeURIComponent(fingerprint)}?range=90d`}>
                  open the failure
                </Link>{" "}
                ·{" "}
              </>
            )}
            started <Ago time={batch.created_at} now={now} /> by {authorName(batch.created_by)}
          </>
        }
        actions={
          <>
            {fingerprint !== null && !isOpen && <KeepBatch batch={batch} fingerprint={fingerprint} />}
            {mayWrite && (
              <>
                {isOpen && (
                  <Button variant="default" onClick={() => setDialog("cancel")}>
                    Cancel…
                  </Button>
                )}
                {more && (
                  <Button variant="default" leftSection={<IconPlus size={14} />} onClick={more}>
                    Run more attempts…
                  </Button>
                )}
                <RowMenu name={batch.name}>
                  <Menu.Item leftSection={<IconPencil size={15} />} onClick={() => setDialog("rename")}>
                    Rename…
                  </Menu.Item>
                  {!isOpen && (
                    <DangerItem icon={IconTrash} onClick={() => setDialog("delete")}>
                      Delete…
                    </DangerItem>
                  )}
                </RowMenu>
              </>
            )}
          </>
        }
      />
      <div className={shared.body}>
        {problem && <ProblemPanel error={problem} />}
        {isOpen && <Running replay={batch} />}
        <ReplayProblem of={batch} testId="batch-problem" onMore={missingOf(batch) > 0 ? more : undefined} />
        {batch.result && <BatchParts result={batch.result} />}
        <div className={`${shared.panels} ${shared.block}`}>
          <section className={shared.panel} aria-label="Edits">
            <h2 className={shared.heading}>Edits</h2>
            <EditsShown edits={batch.edits} texts={batch.edits_text} />
            <h3 className={shared.subheading}>When is an attempt good?</h3>
            <p className={shared.lead}>{graderText(batch)}</p>
          </section>
          <section className={shared.panel} aria-label="Cost and time">
            <h2 className={shared.heading}>Cost</h2>
            <p className={shared.lead} data-testid="batch-cost">
              {costText(batch.cost, isOpen)}
            </p>
            <ReplayFacts of={batch}>
              <Fact
                label="Attempts of each run"
                value={`${formatCount(batch.treatments)} edited, ${formatCount(batch.controls)} unedited`}
              />
            </ReplayFacts>
          </section>
        </div>
        {batch.result && <BatchStatistics result={batch.result} />}
        <BatchRuns batch={batch} />
      </div>
      <EvaluationDialogs
        open={dialog}
        what="batch"
        name={batch.name}
        rename={useRenameReplayBatch(batch)}
        cancel={useCancelReplayBatch(batch)}
        cancelText={
          <>
            {progressText(batch)}, cost so far: {costText(batch.cost)}. Attempts that ended are kept and give
            the result. You can run the missing ones later.
          </>
        }
        remove={useDeleteReplayBatch(batch)}
        removeText={
          <>
            Its edits, its result and its {formatCountOf(replayableRuns(batch), "replay")} are deleted for
            good. The recorded runs and the runs of {formatCountOf(batch.progress.done, "attempt")} are kept.
          </>
        }
        list={list}
        onClose={close}
      />
      {dialog === "extend" && <ExtendBatch batch={batch} onClose={close} />}
    </div>
  );
}
