import { Alert, Button, Group, Text } from "@mantine/core";
import { IconAlertTriangle, IconFlask } from "@tabler/icons-react";
import { Link } from "react-router";
import { isDiagnosisOpen, useCancelDiagnosis } from "@/api/diagnoses";
import type { Diagnosis, DiagnosisClaim } from "@/api/types";
import { EvaluationStatusMark } from "@/components/evaluation/Marks";
import { costText } from "@/components/evaluation/progress";
import { formatCountOf, formatRuns } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import { newBatchPath, newReplayPath } from "@/components/replayStart";
import classes from "./Diagnosis.module.css";
import { droppedText, editText, isShared } from "./words";

interface Props {
  diagnosis: Diagnosis;
  mayReplay: boolean;
}

/** What a model claimed, each claim with the recorded texts that it quotes. */
export function DiagnosisView({ diagnosis, mayReplay }: Props) {
  const { model, provider, runs, cost, result, error, status, call_run_id, project_id } = diagnosis;
  const cancel = useCancelDiagnosis(diagnosis);
  const isOpen = isDiagnosisOpen(diagnosis);
  const dropped = droppedText(result?.dropped ?? []);
  return (
    <div data-testid="diagnosis" data-status={status}>
      <p className={classes.facts}>
        {diagnosis.answered_by ?? model} by {provider.name}, {formatRuns(runs.length)} ·{" "}
        {costText(cost, isOpen)}
        {call_run_id && (
          <>
            {" · "}
            <Link to={`/p/${project_id}/runs/${call_run_id}`}>what it was asked</Link>
          </>
        )}
      </p>
      {isOpen && (
        <Group gap="sm" role="status">
          <EvaluationStatusMark status={status} />
          <Text size="sm">
            {status === "queued" ? "Waiting for a free worker" : "The model reads the runs"}
          </Text>
          {mayReplay && (
            <Button
              size="compact-sm"
              variant="default"
              loading={cancel.isPending}
              onClick={() => cancel.mutate()}
            >
              Cancel
            </Button>
          )}
        </Group>
      )}
      {cancel.error && <ProblemPanel error={cancel.error} />}
      {status === "cancelled" && <p className={classes.note}>It was cancelled.</p>}
      {error && (
        <Alert
          role="alert"
          variant="outline"
          color="red"
          icon={<IconAlertTriangle size={18} />}
          title="The model gave no answer to keep"
          style={{ overflowWrap: "anywhere" }}
        >
          {error.detail}
        </Alert>
      )}
      {result && (
        <>
          {result.claims.length === 0 ? (
            <p className={classes.note}>No claim is left.</p>
          ) : (
            <ul className={classes.claims} aria-label="Claims">
              {result.claims.map((claim) => (
                <Claim key={claim.key} claim={claim} diagnosis={diagnosis} mayReplay={mayReplay} />
              ))}
            </ul>
          )}
          <p className={classes.note} data-testid="dropped">
            {dropped ?? "No claim was dropped."} Quotes are looked up in the recorded step. A claim is
            believed when its edit was tested.
          </p>
        </>
      )}
    </div>
  );
}

interface ClaimProps extends Props {
  claim: DiagnosisClaim;
}

function Claim({ claim, diagnosis, mayReplay }: ClaimProps) {
  const { project_id: projectId, fingerprint, runs } = diagnosis;
  const step = `/p/${projectId}/runs/${claim.run_id}?span=${claim.span_id}`;
  const edits = claim.edits ?? [];
  const failed = runs.filter(({ part }) => part === "failed").map(({ run_id }) => run_id);
  const of =
    fingerprint === null
      ? { run_ids: failed }
      : { run_filter: `fingerprint=${encodeURIComponent(fingerprint)}` };
  const to = edits.every(isShared)
    ? newBatchPath(projectId, of, claim.run_id)
    : newReplayPath(projectId, claim.run_id, claim.span_id);
  return (
    <li className={classes.claim} data-testid="claim">
      <p className={classes.title}>
        <bdi>{claim.title}</bdi>
      </p>
      {claim.quotes.map((quote) => (
        <blockquote key={`${quote.field} ${quote.offset}`} className={classes.quote}>
          <bdi>{quote.text}</bdi>
        </blockquote>
      ))}
      <p className={classes.note}>
        Recorded in <code>{claim.quotes.map(({ field }) => field).join(", ")}</code> of{" "}
        <Link to={step}>this step</Link>.
        {claim.quotes_not_found > 0 &&
          ` ${formatCountOf(claim.quotes_not_found, "quote")} left out: not in the step.`}
      </p>
      {edits.map((edit) => {
        const { what, value } = editText(edit);
        return (
          <div key={what} className={classes.edit}>
            <Text size="sm">
              Edit: <bdi>{what}</bdi>
            </Text>
            {mayReplay && (
              <Button
                size="compact-sm"
                variant="default"
                component={Link}
                to={to}
                state={{ edits }}
                leftSection={<IconFlask size={14} />}
                aria-label={`Test: ${what}`}
              >
                Test
              </Button>
            )}
            <pre className={classes.value}>{value}</pre>
          </div>
        );
      })}
      {claim.why_no_edit !== null && <p className={classes.note}>{claim.why_no_edit}</p>}
    </li>
  );
}
