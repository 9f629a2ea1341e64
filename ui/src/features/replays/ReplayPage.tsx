import { Button, Menu } from "@mantine/core";
import { IconPencil, IconPlayerPlay, IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";
import { isMissing } from "@/api/problem";
import { keys } from "@/api/queryKeys";
import { isReplayFinal, useCancelReplay, useDeleteReplay, useRenameReplay, useReplay } from "@/api/replays";
import { useRun } from "@/api/runs";
import type { Replay } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import shared from "@/components/evaluation/Evaluation.module.css";
import { EvaluationDialogs } from "@/components/evaluation/EvaluationDialogs";
import { EvaluationStatusMark } from "@/components/evaluation/Marks";
import { costText } from "@/components/evaluation/progress";
import { useWhenEnded } from "@/components/evaluation/useWhenEnded";
import { firstWords, formatCountOf } from "@/components/format";
import { PageHeader } from "@/components/PageHeader";
import { PageTabs } from "@/components/PageTabs";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { ReplayVerdictMark } from "@/components/ReplayVerdictMark";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { newReplayPath } from "@/components/replayStart";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { AttemptsTab } from "./AttemptsTab";
import { DiffTab } from "./DiffTab";
import { EditsTab } from "./EditsTab";
import { ExtendReplay } from "./ExtendDialogs";
import { ResultTab } from "./ResultTab";
import { missingAttempts, progressText } from "./words";

/** One replay: its verdict and evidence, its attempts, and how they differ from the recorded run. */
export function ReplayPage() {
  const { replayId = "" } = useParams();
  const query = useReplay(replayId);
  return (
    <QueryState query={query} skeleton={<SkeletonRows count={8} height={40} />} page>
      {(replay) => (
        <View key={replay.id} replay={replay} problem={query.isRefetchError ? query.error : null} />
      )}
    </QueryState>
  );
}

const TABS = ["attempts", "difference", "edits"] as const;

type OpenDialog = "rename" | "cancel" | "delete" | "extend";

interface Props {
  replay: Replay;
  /** Why it couldn't be read again. */
  problem: Error | null;
}

function View({ replay, problem }: Props) {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "replays:write");
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const now = useNow(10_000);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const list = `/p/${projectId}/replays`;
  const back = () => navigate(list);
  useKeys({ Escape: back });
  useWhenEnded(isReplayFinal(replay), [keys.replays.all(replay.project_id), keys.replay.all(replay.id)]);
  const isRunning = replay.status === "queued" || replay.status === "running";
  const missing = isRunning ? 0 : missingAttempts(replay);
  const tab = TABS.find((name) => name === params.get("tab")) ?? "result";
  const attempt = Number(params.get("attempt")) || undefined;
  const showAttempt = (number: number) => setParams({ tab: "difference", attempt: String(number) });
  // Without the recorded run no attempt can be made.
  const isRunDeleted = isMissing(useRun(projectId, replay.run_id).error);
  // The batch that a replay belongs to is cancelled, extended or deleted as a whole.
  const isOwn = replay.batch_id === null;
  const mayExtend = mayWrite && isOwn && !isRunning && !isRunDeleted && replay.executor === "server";
  const more = mayExtend ? () => setDialog("extend") : undefined;
  const close = () => setDialog(null);
  return (
    <div className={shared.page}>
      <PageHeader
        title={replay.name}
        back={{ label: "Back to the replays", onClick: back }}
        badges={
          <>
            <EvaluationStatusMark status={replay.status} />
            {tab !== "result" && replay.verdict && <ReplayVerdictMark verdict={replay.verdict.verdict} />}
          </>
        }
        context={
          <>
            Replays the run{" "}
            {isRunDeleted ? (
              <>
                <bdi title={replay.run_name}>{firstWords(replay.run_name, 100) || "unnamed"}</bdi>, which was
                deleted
              </>
            ) : (
              <Link to={`/p/${projectId}/runs/${replay.run_id}`}>
                <bdi title={replay.run_name}>{firstWords(replay.run_name, 100) || "unnamed"}</bdi>
              </Link>
            )}
            {replay.batch_id !== null && (
              <>
                {" "}
                in a <Link to={`/p/${projectId}/replay-batches/${replay.batch_id}`}>batch</Link>
              </>
            )}{" "}
            · started <Ago time={replay.created_at} now={now} /> by {authorName(replay.created_by)}
          </>
        }
        actions={
          <>
            {more && missing > 0 && tab !== "result" && (
              <Button variant="default" leftSection={<IconPlayerPlay size={14} />} onClick={more}>
                Run the missing attempts…
              </Button>
            )}
            {mayWrite && isOwn && isRunning && (
              <Button variant="default" onClick={() => setDialog("cancel")}>
                Cancel…
              </Button>
            )}
            {mayWrite && (
              <RowMenu name={replay.name}>
                {more && (
                  <Menu.Item leftSection={<IconPlus size={15} />} onClick={more}>
                    Run more attempts…
                  </Menu.Item>
                )}
                {!isRunDeleted && (
                  <Menu.Item
                    component={Link}
                    to={newReplayPath(projectId, replay.run_id)}
                    leftSection={<IconPlus size={15} />}
                  >
                    New replay of this run…
                  </Menu.Item>
                )}
                <Menu.Item leftSection={<IconPencil size={15} />} onClick={() => setDialog("rename")}>
                  Rename…
                </Menu.Item>
                {isOwn && !isRunning && (
                  <DangerItem icon={IconTrash} onClick={() => setDialog("delete")}>
                    Delete…
                  </DangerItem>
                )}
              </RowMenu>
            )}
          </>
        }
      />
      {problem && (
        <div className={shared.notices}>
          <ProblemPanel error={problem} />
        </div>
      )}
      <PageTabs
        label="Parts of the replay"
        value={tab}
        onChange={(value) => setParams(value === "result" ? {} : { tab: value })}
        tabs={[
          {
            value: "result",
            label: "Result",
            content: <ResultTab replay={replay} isRunDeleted={isRunDeleted} onMore={more} />,
          },
          {
            value: "attempts",
            label: `Attempts ${replay.attempts.length}`,
            content: <AttemptsTab replay={replay} onDiff={showAttempt} />,
          },
          {
            value: "difference",
            label: "Difference",
            content: <DiffTab replay={replay} attempt={attempt} onAttempt={showAttempt} />,
          },
          { value: "edits", label: "Edits", content: <EditsTab replay={replay} /> },
        ]}
      />
      <EvaluationDialogs
        open={dialog}
        what="replay"
        name={replay.name}
        rename={useRenameReplay(replay)}
        cancel={useCancelReplay(replay)}
        cancelText={
          <>
            {progressText(replay)}, cost so far: {costText(replay.cost)}. Attempts that ended are kept and
            give the verdict. You can run the missing ones later.
          </>
        }
        remove={useDeleteReplay(replay)}
        removeText={
          <>
            Its edits, its verdict and the list of its attempts are deleted for good. The recorded run and the
            runs of {formatCountOf(replay.attempts.length, "attempt")} are kept.
          </>
        }
        list={list}
        onClose={close}
      />
      {dialog === "extend" && <ExtendReplay replay={replay} onClose={close} />}
    </div>
  );
}
