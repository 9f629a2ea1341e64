import { Alert, Button, Group, Menu } from "@mantine/core";
import {
  IconAlertTriangle,
  IconInfoCircle,
  IconPencil,
  IconPlayerPlay,
  IconPlus,
  IconTrash,
} from "@tabler/icons-react";
import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { isBatchOpen, useReplayBatch } from "@/api/replayBatches";
import type { ReplayBatch } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import shared from "@/components/evaluation/Evaluation.module.css";
import { EvaluationStatusMark } from "@/components/evaluation/Marks";
import { callsText, costText } from "@/components/evaluation/progress";
import { Fact, FactList, TimeFact } from "@/components/Fact";
import { KeepBatch } from "@/components/findings/KeepBatch";
import { formatCost, formatCount, formatDuration, NONE } from "@/components/format";
import { PageHeader } from "@/components/PageHeader";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { CancelBatch, DeleteBatch, ExtendBatch, RenameBatch } from "./BatchDialogs";
import { BatchParts, BatchStatistics } from "./BatchParts";
import { BatchRuns } from "./BatchRuns";
import { chosenText, missingOf } from "./batches";
import { EditsShown, graderText } from "./EditsTab";
import { planCost } from "./plan";
import { Running } from "./ResultTab";
import { isOfConnection, replayProblem } from "./words";

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
  const dialogProps = { batch, onClose: () => setDialog(null) };
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
        <Problem batch={batch} onMore={more} />
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
            <Facts batch={batch} />
          </section>
        </div>
        {batch.result && <BatchStatistics result={batch.result} />}
        <BatchRuns batch={batch} />
      </div>
      {dialog === "rename" && <RenameBatch {...dialogProps} />}
      {dialog === "cancel" && <CancelBatch {...dialogProps} />}
      {dialog === "extend" && <ExtendBatch {...dialogProps} />}
      {dialog === "delete" && (
        <DeleteBatch {...dialogProps} onDeleted={() => navigate(list, { replace: true })} />
      )}
    </div>
  );
}

interface ProblemProps {
  batch: ReplayBatch;
  /** Missing if the user may not make more attempts. */
  onMore?: () => void;
}

/** Why it ended before all attempts were made, and what helps. */
function Problem({ batch, onMore }: ProblemProps) {
  const { project_id: projectId, error, stop_reason: stop, status } = batch;
  const problem = replayProblem(batch);
  if (!problem) return null;
  const isFailed = status === "failed";
  const isConnection = isOfConnection(error, stop);
  const mayGoOn = onMore !== undefined && missingOf(batch) > 0;
  return (
    <Alert
      role={isFailed ? "alert" : undefined}
      variant={isFailed ? "outline" : "light"}
      color={isFailed ? "red" : "gray"}
      c={isFailed ? undefined : "var(--lt-text)"}
      icon={isFailed ? <IconAlertTriangle size={18} /> : <IconInfoCircle size={16} />}
      title={problem.title}
      mb="md"
      data-testid="batch-problem"
      style={{ overflowWrap: "anywhere" }}
    >
      {problem.text}
      {(isConnection || mayGoOn) && (
        <Group gap="xs" mt="xs">
          {isConnection && (
            <Button
              component={Link}
              to={`/p/${projectId}/settings/providers`}
              size="compact-sm"
              variant="default"
            >
              Open providers
            </Button>
          )}
          {mayGoOn && (
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<IconPlayerPlay size={14} />}
              onClick={onMore}
            >
              Make the missing attempts…
            </Button>
          )}
        </Group>
      )}
    </Alert>
  );
}

function Facts({ batch }: { batch: ReplayBatch }) {
  const { estimate, max_cost_usd: cap, provider, started_at, finished_at, executor } = batch;
  const took = started_at && finished_at ? Date.parse(finished_at) - Date.parse(started_at) : null;
  return (
    <FactList inline>
      <Fact
        label="Estimate"
        value={estimate.calls === 0 ? "no calls" : `${planCost(estimate)} for ${callsText(estimate.calls)}`}
      />
      <Fact label="Cap" value={cap === null ? "None" : formatCost(cap)} />
      <Fact
        label="Calls by"
        value={executor === "cassette" ? "The recording only" : (provider?.name ?? null)}
      />
      <Fact
        label="Attempts of each run"
        value={`${formatCount(batch.treatments)} edited, ${formatCount(batch.controls)} unedited`}
      />
      <TimeFact label="Started" time={started_at} />
      <Fact label="Took" value={took === null ? NONE : formatDuration(took)} />
    </FactList>
  );
}
