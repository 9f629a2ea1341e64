import { IconAlertTriangle, IconCheck, IconMinus, IconX } from "@tabler/icons-react";
import { Link } from "react-router";
import type { EvaluationOutput, EvaluationScore, PanelRead } from "@/api/types";
import { formatCost, formatDuration, formatTokens } from "@/components/format";
import { JsonTree } from "@/components/JsonTree";
import type { Json } from "@/components/json";
import { RecordedText } from "@/components/RecordedText";
import { useProjectId } from "@/components/useProject";
import classes from "./Items.module.css";
import { formatValue } from "./measures";
import { outputValue } from "./outputs";
import { reasonText } from "./progress";
import { categoryOf } from "./votes";

/** A value from a dataset or a model. */
export function RecordedValue({ value, what }: { value: unknown; what: string }) {
  return typeof value === "string" ? (
    <RecordedText text={value} what={what} plain />
  ) : (
    <JsonTree value={value as Json} what={what} framed={false} />
  );
}

/** A part of an item of the dataset. */
export function ItemPart({ title, value }: { title: string; value: unknown }) {
  return (
    <section aria-label={title} className={classes.part}>
      <h3>{title}</h3>
      {value === null || value === undefined ? (
        <span className={classes.dim}>None</span>
      ) : (
        <RecordedValue value={value} what={title.toLowerCase()} />
      )}
    </section>
  );
}

interface Props {
  /** Null: there is only one. */
  side: "a" | "b" | null;
  output: EvaluationOutput | null;
  /** A title that doesn't tell the side, which is hidden then, with all that may tell it. */
  blindTitle?: string;
  /** Whose scores are of judges. */
  panels: readonly PanelRead[];
  /** The item can't be rendered. */
  isSkipped: boolean;
}

/** What a side of a comparison or an eval-run answered, with its scores and their reasons. */
export function Output({ side, output, blindTitle, panels, isSkipped }: Props) {
  const isBlind = blindTitle !== undefined;
  const letter = isBlind ? undefined : side?.toUpperCase();
  const what = letter === undefined ? "output" : `output of ${letter}`;
  return (
    <section
      className={classes.output}
      aria-label={blindTitle ?? what.replace("o", "O")}
      data-testid={letter === undefined ? "output" : `output-${side}`}
      data-status={output?.status ?? "missing"}
    >
      <h3>
        {blindTitle ?? letter ?? "Output"}
        {output?.run_id && !isBlind && <RunLink runId={output.run_id} side={side} />}
      </h3>
      {output === null ? (
        <p className={classes.dim}>{isSkipped ? "Skipped, so nothing was called." : "Not run yet."}</p>
      ) : (
        <>
          {output.error && <Failure error={output.error} />}
          {output.status === "ok" && <Answer output={output} what={what} />}
          {!isBlind && <Facts output={output} />}
          {!isBlind && <Scores scores={output.scores} panels={panels} />}
        </>
      )}
    </section>
  );
}

function RunLink({ runId, side }: { runId: string; side: "a" | "b" | null }) {
  const projectId = useProjectId();
  return (
    <Link to={`/p/${projectId}/runs/${runId}`} className={classes.run}>
      {side === null ? (
        "Run"
      ) : (
        <>
          Run of {side.toUpperCase()} <kbd>{side}</kbd>
        </>
      )}
    </Link>
  );
}

function Failure({ error }: { error: NonNullable<EvaluationOutput["error"]> }) {
  return (
    <div className={classes.failure}>
      <IconAlertTriangle size={15} aria-hidden="true" />
      <div>
        <strong>{reasonText(error.code)}.</strong> <bdi>{error.detail}</bdi>{" "}
        {reasonText(error.code) !== error.code && <code>{error.code}</code>}
      </div>
    </div>
  );
}

function Answer({ output, what }: { output: EvaluationOutput; what: string }) {
  const value = outputValue(output);
  return (
    <>
      {value === null || value === "" ? (
        <p className={classes.dim}>An empty answer</p>
      ) : (
        <div className={classes.answer} dir="auto">
          <RecordedValue value={value} what={what} />
        </div>
      )}
      {output.output_truncated && <p className={classes.dim}>The output is longer; it is cut here.</p>}
    </>
  );
}

function Facts({ output }: { output: EvaluationOutput }) {
  const { model, duration_ms, usage, cost_usd, finish_reason, requests } = output;
  const facts = [
    model,
    duration_ms === null ? null : formatDuration(duration_ms),
    usage.input_tokens === null ? null : `${formatTokens(usage.input_tokens)} in`,
    usage.output_tokens === null ? null : `${formatTokens(usage.output_tokens)} out`,
    output.status === "ok" ? (cost_usd === null ? "cost unknown" : formatCost(cost_usd)) : null,
    finish_reason !== null && finish_reason !== "stop" ? `ended: ${finish_reason}` : null,
    requests > 1 ? `${requests} requests` : null,
  ].filter((fact) => fact !== null);
  return <p className={classes.facts}>{facts.join(" · ")}</p>;
}

function Scores({ scores, panels }: { scores: EvaluationScore[]; panels: readonly PanelRead[] }) {
  if (scores.length === 0) return null;
  return (
    <ul className={classes.scores} aria-label="Scores">
      {scores.map((score) => (
        <Score key={score.name} score={score} isOfJudges={panels.some(({ name }) => name === score.name)} />
      ))}
    </ul>
  );
}

interface ScoreProps {
  score: EvaluationScore;
  /** It is of a panel of judges, and not of a grader. */
  isOfJudges?: boolean;
}

/** What a grader or a panel found, and why. */
export function Score({ score: of, isOfJudges = false }: ScoreProps) {
  const { name, score, label, pass, reason, error } = of;
  const Shape = error !== null ? IconAlertTriangle : pass === null ? IconMinus : pass ? IconCheck : IconX;
  const passWord = pass === null ? "" : pass ? "pass" : "fail";
  const none = isOfJudges
    ? categoryOf(of) || "no score"
    : error !== null
      ? "failed to grade"
      : "doesn't apply";
  const word = error !== null || (score === null && pass === null && label === null) ? none : passWord;
  return (
    <li className={classes.score} data-testid="score" data-pass={error !== null ? "error" : String(pass)}>
      <Shape size={14} stroke={2} aria-hidden="true" />
      <span>
        <strong>
          <bdi>{name}</bdi>
        </strong>{" "}
        {label !== null && <bdi>{label}</bdi>} {score !== null && formatValue("score", score)} {word}
        {(error ?? reason) && (
          <span className={classes.why} dir="auto">
            {error ?? reason}
          </span>
        )}
      </span>
    </li>
  );
}
