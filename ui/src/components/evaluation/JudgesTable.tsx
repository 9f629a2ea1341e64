import { Button, VisuallyHidden } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconHelp } from "@tabler/icons-react";
import { Link } from "react-router";
import type { PanelJudge, PanelSummary } from "@/api/types";
import { type Column, DataTable } from "@/components/DataTable";
import { formatDuration, NONE } from "@/components/format";
import { CANARIES } from "./canaries";
import classes from "./Evaluation.module.css";
import { Figure } from "./Figure";
import { Interval } from "./Interval";
import { formatValue } from "./measures";
import own from "./Trust.module.css";
import { judgeColumns, judgeCost, stoppedText, withoutText } from "./trust";
import { votesText } from "./votes";

interface Props {
  panel: PanelSummary;
  /** The address of a form without a judge; undefined for readers. */
  withoutAt?: (panel: string, judge: string) => string;
}

/** What each judge did, what it may be biased by, what it cost, and what would be without it. */
export function JudgesTable({ panel, withoutAt }: Props) {
  const shown = judgeColumns(panel.judges);
  const has = (name: (typeof shown)[number], column: Column<PanelJudge>) =>
    shown.includes(name) ? [column] : [];
  const columns: Column<PanelJudge>[] = [
    { header: "Judge", cell: (judge) => <Name judge={judge} /> },
    {
      header: "Votes",
      cell: ({ votes, stopped }) => (
        <span className={own.votes}>
          {votesText(votes)}
          {stopped !== null && (
            <span className={classes.hint} data-testid="judge-stopped">
              {stoppedText(stopped)}
            </span>
          )}
        </span>
      ),
    },
    ...has("mean", {
      header: panel.kind === "preference" ? "Prefers B" : "Mean",
      number: true,
      title: () =>
        panel.kind === "preference"
          ? "100 if it always prefers B, 0 if it always prefers A, 50 for ties"
          : "The mean of its votes, out of 100",
      cell: ({ score }) => (
        <>
          {formatValue("score", score.mean)}
          <Interval ci={score.ci} format={(value) => formatValue("score", value)} />
        </>
      ),
    }),
    {
      header: "With the panel",
      number: true,
      title: () => "Kappa with the panel without this judge: 1 is perfect agreement, 0 is chance",
      cell: ({ panel_agreement: figure }) => <Figure figure={figure} kind="coefficient" />,
    },
    ...has("consistency", {
      header: "Flips",
      number: true,
      title: () => "How often two of its repeated votes on an output differ",
      cell: ({ flip_rate: figure }) => <Figure figure={figure} kind="share" isShort />,
    }),
    ...has("position", {
      header: "Order",
      number: true,
      title: () => "How often both orders agree",
      cell: ({ position_consistency: figure }) => <Figure figure={figure} kind="share" isShort />,
    }),
    ...has("length", {
      header: "Length",
      number: true,
      title: () => "How its scores go with the length of outputs: 0 is none, 1 means that longer is better",
      cell: ({ length_correlation: figure }) => <Figure figure={figure} kind="coefficient" isShort />,
    }),
    { header: "Canary", title: canaryTitle, cell: ({ canary }) => <Canary canary={canary} /> },
    {
      header: "Cost",
      number: true,
      title: ({ unknown_cost_votes: unknown }) =>
        unknown === 0 ? undefined : `${unknown} of its votes have no known cost`,
      cell: (judge) => (
        <>
          {judgeCost(judge)}
          {judge.duration_ms !== null && (
            <span className={classes.hint}>{formatDuration(judge.duration_ms)} a call</span>
          )}
        </>
      ),
    },
    ...has("without", {
      header: "Without it",
      cell: ({ name, without, unknown_cost_votes }) =>
        without === null ? (
          NONE
        ) : (
          <span className={own.without}>
            {withoutText(without, { unknown_cost_votes })}{" "}
            {withoutAt && (
              <Button
                component={Link}
                to={withoutAt(panel.name, name)}
                mt={4}
                size="compact-xs"
                variant="default"
              >
                Drop this judge…
                <VisuallyHidden>{name}</VisuallyHidden>
              </Button>
            )}
          </span>
        ),
    }),
  ];
  return (
    <DataTable
      label={`Judges of ${panel.name}`}
      stacks
      rows={panel.judges}
      rowKey={({ name }) => name}
      rowProps={({ name }) => ({ "data-testid": "judge-row", "data-judge": name })}
      columns={columns}
    />
  );
}

function Name({ judge: { name, model, provider_name: provider, escalation } }: { judge: PanelJudge }) {
  return (
    <span className={own.judge}>
      <bdi>{name}</bdi>
      {escalation && <span className={classes.tag}>for splits</span>}
      <span className={classes.hint}>
        <bdi>{model === name ? provider : `${model}, ${provider}`}</bdi>
      </span>
    </span>
  );
}

function canaryTitle({ canary }: PanelJudge): string | undefined {
  return canary === null ? "Not called yet" : CANARIES[canary].text;
}

function Canary({ canary }: Pick<PanelJudge, "canary">) {
  if (canary === null) return NONE;
  const Shape = canary === "held" ? IconCheck : canary === "obeyed" ? IconAlertTriangle : IconHelp;
  return (
    <span className={own.canary} data-result={canary}>
      <Shape size={14} aria-hidden="true" />
      {CANARIES[canary].word}
    </span>
  );
}
