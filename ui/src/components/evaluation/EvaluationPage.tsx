import { Button, Menu } from "@mantine/core";
import { IconDownload, IconPencil, IconPlayerPlay, IconRefresh, IconTrash } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { hasEnded } from "@/api/comparisons";
import type { Comparison, EvalRun } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import { formatCost, formatCountOf } from "@/components/format";
import { PageHeader } from "@/components/PageHeader";
import { PageTabs } from "@/components/PageTabs";
import { ProblemPanel } from "@/components/ProblemPanel";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import classes from "./Evaluation.module.css";
import { EvaluationDialogs, RerunDialog } from "./EvaluationDialogs";
import { EvaluationStatusMark } from "./Marks";
import { ResumeDialog } from "./ResumeDialog";
import type { MissingWork } from "./resume";

const TABS = ["items", "configuration"] as const;

type Export = "jsonl" | "csv" | "junit";
type OpenDialog = "rename" | "delete" | "cancel" | "resume" | "rerun";
type Dialogs = Parameters<typeof EvaluationDialogs>[0];

interface Props {
  /** "comparison". */
  what: string;
  /** Where the list is, below the project. */
  list: string;
  evaluation: Comparison | EvalRun;
  /** Why it couldn't be read again. */
  problem: Error | null;
  /** More about where it comes from. */
  context?: React.ReactNode;
  /** What is exported: "outputs". */
  exported: string;
  onExport: (what: Export) => Promise<unknown>;
  /** Undefined: there is nothing to resume. */
  work: MissingWork | undefined;
  resume: Parameters<typeof ResumeDialog>[0]["mutation"];
  rename: Dialogs["rename"];
  cancel: Dialogs["cancel"];
  /** What a cancellation does. */
  cancelText: React.ReactNode;
  remove: Dialogs["remove"];
  rerun: Parameters<typeof RerunDialog>[0]["mutation"];
  /** What running it again does; undefined if that isn't possible here. */
  rerunText: React.ReactNode | undefined;
  /** More buttons, and more items of the menu for who may write. */
  actions?: React.ReactNode;
  menu?: React.ReactNode;
  result: React.ReactNode;
  items: React.ReactNode;
  configuration: React.ReactNode;
  /** More dialogs. */
  children?: React.ReactNode;
}

/** One comparison or eval-run: its result, its items, its configuration, and what can be done with it. */
export function EvaluationPage(props: Props) {
  const { what, evaluation, problem, context, exported, work, rerunText, actions, menu } = props;
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "evals:write");
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const now = useNow(10_000);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const save = useMutation({ mutationFn: props.onExport });
  const list = `/p/${projectId}/${props.list}`;
  const back = () => navigate(list);
  useKeys({ Escape: back });
  const ended = hasEnded(evaluation);
  const { name, dataset, max_cost_usd: cap } = evaluation;
  const failure = save.error ?? problem;
  const close = () => setDialog(null);
  return (
    <div className={classes.page}>
      <PageHeader
        title={name}
        back={{ label: `Back to the ${what}s`, onClick: back }}
        badges={<EvaluationStatusMark status={evaluation.status} />}
        context={
          <>
            <Link to={`/p/${projectId}/datasets/${dataset.id}?revision=${dataset.revision}`}>
              <bdi>{dataset.name}</bdi> revision {dataset.revision}
            </Link>
            {dataset.split !== null && (
              <>
                , split <bdi>{dataset.split}</bdi>
              </>
            )}
            {context} · started <Ago time={evaluation.created_at} now={now} /> by{" "}
            {authorName(evaluation.created_by)}
          </>
        }
        actions={
          <>
            {mayWrite && !ended && (
              <Button variant="default" onClick={() => setDialog("cancel")}>
                Cancel…
              </Button>
            )}
            {mayWrite && ended && work && (
              <Button
                variant="default"
                leftSection={<IconPlayerPlay size={14} />}
                onClick={() => setDialog("resume")}
              >
                Resume…
              </Button>
            )}
            {actions}
            <RowMenu name={name}>
              <Menu.Item leftSection={<IconDownload size={15} />} onClick={() => save.mutate("jsonl")}>
                Export {exported} as JSONL
              </Menu.Item>
              <Menu.Item leftSection={<IconDownload size={15} />} onClick={() => save.mutate("csv")}>
                Export {exported} as CSV
              </Menu.Item>
              {ended && (
                <Menu.Item leftSection={<IconDownload size={15} />} onClick={() => save.mutate("junit")}>
                  Download JUnit report
                </Menu.Item>
              )}
              {mayWrite && (
                <>
                  <Menu.Divider />
                  {menu}
                  {rerunText !== undefined && (
                    <Menu.Item leftSection={<IconRefresh size={15} />} onClick={() => setDialog("rerun")}>
                      Run again…
                    </Menu.Item>
                  )}
                  <Menu.Item leftSection={<IconPencil size={15} />} onClick={() => setDialog("rename")}>
                    Rename…
                  </Menu.Item>
                  {ended && (
                    <DangerItem icon={IconTrash} onClick={() => setDialog("delete")}>
                      Delete…
                    </DangerItem>
                  )}
                </>
              )}
            </RowMenu>
          </>
        }
      />
      {failure && (
        <div className={classes.notices}>
          <ProblemPanel error={failure} />
        </div>
      )}
      <PageTabs
        label={`Parts of the ${what}`}
        value={TABS.find((tab) => tab === params.get("tab")) ?? "result"}
        onChange={(value) => setParams(value === "result" ? {} : { tab: value })}
        tabs={[
          { value: "result", label: "Result", content: props.result },
          { value: "items", label: "Items", content: props.items },
          { value: "configuration", label: "Configuration", content: props.configuration },
        ]}
      />
      <EvaluationDialogs
        open={dialog}
        what={what}
        name={name}
        rename={props.rename}
        cancel={props.cancel}
        cancelText={props.cancelText}
        remove={props.remove}
        removeText={
          <>
            Its result, {formatCountOf(evaluation.accounting.outputs, "output")} and their scores are deleted
            for good. The recorded runs and the dataset are kept.
          </>
        }
        list={list}
        onClose={close}
      />
      {dialog === "resume" && work && (
        <ResumeDialog
          name={name}
          work={work}
          cost={evaluation.cost}
          cap={cap}
          mutation={props.resume}
          onClose={close}
        />
      )}
      {dialog === "rerun" && (
        <RerunDialog
          name={name}
          mutation={props.rerun}
          onStarted={(id) => navigate(`${list}/${id}`)}
          onClose={close}
        >
          {rerunText} {cap === null ? "There is no cap." : `The cap is ${formatCost(cap)}.`}
        </RerunDialog>
      )}
      {props.children}
    </div>
  );
}
