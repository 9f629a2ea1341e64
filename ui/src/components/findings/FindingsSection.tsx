import { Button, Menu } from "@mantine/core";
import { IconCheck, IconHelp, IconPencil, IconPlus, IconRocket, IconTrash, IconX } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import { useFindings, useUpdateFinding } from "@/api/findings";
import type { Finding } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { allows, useProject } from "@/components/useProject";
import { DeleteFinding, EditFinding } from "./FindingDialogs";
import { FindingStatusBadge } from "./FindingStatusBadge";
import classes from "./Findings.module.css";
import { KeepFinding } from "./KeepFinding";
import { PromoteFinding } from "./PromoteFinding";
import { disagreement } from "./words";

interface Props {
  projectId: string;
  fingerprint: string;
  now: number;
}

/** What was learnt about a group of failed runs. */
export function FindingsSection({ projectId, fingerprint, now }: Props) {
  const mayRead = allows(useProject(), "replays:read");
  const mayWrite = allows(useProject(), "runs:write") && mayRead;
  const query = useFindings(projectId, { fingerprint: [fingerprint] }, mayRead);
  const [isAdding, setAdding] = useState(false);
  if (!mayRead) return <p className={classes.dim}>Your role does not allow you to read replays.</p>;
  return (
    <>
      <QueryState query={query} skeleton={<SkeletonRows count={1} height={40} />}>
        {({ data }) =>
          data.length === 0 ? (
            <p className={classes.dim}>
              Nothing is kept yet. Test an edit over these runs, and keep what it shows.
            </p>
          ) : (
            <ul className={classes.list}>
              {data.map((finding) => (
                <FindingLine key={finding.id} finding={finding} now={now} mayWrite={mayWrite} />
              ))}
            </ul>
          )
        }
      </QueryState>
      {mayWrite && (
        <Button
          mt="xs"
          size="compact-sm"
          variant="default"
          leftSection={<IconPlus size={14} />}
          onClick={() => setAdding(true)}
        >
          Add a finding…
        </Button>
      )}
      {isAdding && (
        <KeepFinding projectId={projectId} fingerprint={fingerprint} onClose={() => setAdding(false)} />
      )}
    </>
  );
}

type OpenDialog = "edit" | "promote" | "delete";

interface LineProps {
  finding: Finding;
  now: number;
  mayWrite: boolean;
}

function FindingLine({ finding, now, mayWrite }: LineProps) {
  const { candidate, status, verdict, batch, note } = finding;
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const update = useUpdateFinding(finding);
  const differs = disagreement(finding);
  const close = () => setDialog(null);
  return (
    <li className={classes.finding} data-testid="finding">
      <div className={classes.line}>
        <FindingStatusBadge status={status} />
        <bdi className={classes.title}>{candidate.title}</bdi>
        {mayWrite && (
          <div className={classes.menu}>
            <RowMenu name={candidate.title}>
              {status !== "confirmed" && (
                <Menu.Item
                  leftSection={<IconCheck size={15} />}
                  onClick={() => update.mutate({ status: "confirmed" })}
                >
                  Confirm
                </Menu.Item>
              )}
              {status !== "refuted" && (
                <Menu.Item
                  leftSection={<IconX size={15} />}
                  onClick={() => update.mutate({ status: "refuted" })}
                >
                  Refute
                </Menu.Item>
              )}
              {status !== "open" && (
                <Menu.Item
                  leftSection={<IconHelp size={15} />}
                  onClick={() => update.mutate({ status: "open" })}
                >
                  Reopen
                </Menu.Item>
              )}
              <Menu.Item leftSection={<IconPencil size={15} />} onClick={() => setDialog("edit")}>
                Change with a note…
              </Menu.Item>
              <Menu.Item leftSection={<IconRocket size={15} />} onClick={() => setDialog("promote")}>
                Promote…
              </Menu.Item>
              <DangerItem icon={IconTrash} onClick={() => setDialog("delete")}>
                Delete…
              </DangerItem>
            </RowMenu>
          </div>
        )}
      </div>
      <p className={classes.text}>
        {verdict?.sentence ?? (batch ? "Its batch has not ended." : "No batch of replays has tested it.")}
      </p>
      {differs && <p className={classes.differs}>{differs}</p>}
      {note !== null && (
        <p className={classes.text}>
          <bdi>“{note}”</bdi>
        </p>
      )}
      <p className={classes.dim}>
        {authorName(finding.changed_by)}, <Ago time={finding.changed_at} now={now} />
        <Links finding={finding} />
      </p>
      {update.error && <ProblemPanel error={update.error} />}
      {dialog === "edit" && <EditFinding finding={finding} onClose={close} />}
      {dialog === "promote" && <PromoteFinding finding={finding} onClose={close} />}
      {dialog === "delete" && <DeleteFinding finding={finding} onClose={close} />}
    </li>
  );
}

/** The batch, and what the finding was promoted to. */
function Links({ finding }: { finding: Finding }) {
  const { project_id, batch, verdict, promoted_prompt: prompt, promoted_dataset: dataset } = finding;
  const base = `/p/${project_id}`;
  return (
    <>
      {batch && (
        <>
          {" · "}
          <Link to={`${base}/replay-batches/${batch.id}`}>{batch.name}</Link>
        </>
      )}
      {!batch && verdict && " · its batch was deleted"}
      {prompt && (
        <>
          {" · "}
          <Link to={`${base}/prompts/${prompt.id}?version=${prompt.version}`}>
            Promoted to version {prompt.version} of a prompt
          </Link>
        </>
      )}
      {dataset && (
        <>
          {" · "}
          <Link to={`${base}/datasets/${dataset.id}`}>Promoted to a dataset</Link>
        </>
      )}
    </>
  );
}
