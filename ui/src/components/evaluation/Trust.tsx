import { IconAlertTriangle } from "@tabler/icons-react";
import { Link } from "react-router";
import type { PanelSummary, VoteCounts } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import { formatCount } from "@/components/format";
import { Disclosure } from "./Disclosure";
import classes from "./Evaluation.module.css";
import { Figure } from "./Figure";
import { JudgesTable } from "./JudgesTable";
import { Labels } from "./LabelsReport";
import { Shares } from "./Shares";
import own from "./Trust.module.css";
import { panelNotes, reliabilityRows } from "./trust";
import { voteParts } from "./votes";

interface Props {
  panels: readonly PanelSummary[];
  /** The address of the items on which a panel splits; undefined if they can't be listed. */
  splitsAt?: (panel: string) => string;
  /** The address of a form without a judge; undefined for readers. */
  withoutAt?: (panel: string, judge: string) => string;
  /** Where outputs are labelled; undefined if they can't be. */
  labelsAt?: string;
}

/** How far the scores of judges can be trusted, and what to do about it. */
export function Trust({ panels, ...rest }: Props) {
  if (panels.length === 0) return null;
  return (
    <section className={classes.block} aria-label="Can this be trusted?" data-testid="trust">
      <h2 className={classes.heading}>Can this be trusted?</h2>
      {panels.map((panel) => (
        <Panel key={panel.name} panel={panel} {...rest} />
      ))}
    </section>
  );
}

function Panel({ panel, splitsAt, withoutAt, labelsAt }: Omit<Props, "panels"> & { panel: PanelSummary }) {
  const rows = reliabilityRows(panel);
  return (
    <section
      className={own.panel}
      aria-label={`Panel ${panel.name}`}
      data-testid="panel"
      data-panel={panel.name}
    >
      <h3 className={own.title}>
        <bdi>{panel.name}</bdi>
        {panel.kind === "preference" && <span className={classes.tag}>which side is better</span>}
      </h3>
      <p className={own.sentence} data-testid="panel-sentence">
        {panel.sentence}
      </p>
      {panel.warnings.length > 0 && (
        <ul className={own.warnings} aria-label="Warnings">
          {panel.warnings.map((warning) => (
            <li key={warning} data-testid="panel-warning">
              <IconAlertTriangle size={14} aria-hidden="true" />
              <span>{warning}</span>
            </li>
          ))}
        </ul>
      )}
      <p className={classes.note}>
        {panelNotes(panel).join(" ")}{" "}
        {splitsAt && panel.split > 0 && <Link to={splitsAt(panel.name)}>Read where they split</Link>}
      </p>
      {panel.categories && panel.categories.length > 0 && (
        <Shares label={`Categories of ${panel.name}`} categories={panel.categories} />
      )}
      <h4 className={classes.subheading}>Beside labels of people</h4>
      <Labels panel={panel} labelsAt={panel.kind === "score" ? labelsAt : undefined} />
      <Disclosure className={own.agreement} summary="How the judges agree" testId="agreement">
        {rows.length > 0 && (
          <DataTable
            label={`Reliability of ${panel.name}`}
            rows={rows}
            rowKey={({ key }) => key}
            rowProps={({ key }) => ({ "data-testid": "reliability", "data-figure": key })}
            columns={[
              {
                header: "Figure",
                title: ({ meaning }) => meaning,
                cell: ({ label, meaning }) => (
                  <details className={own.meaning}>
                    <summary>{label}</summary>
                    {meaning}
                  </details>
                ),
              },
              {
                header: "Value, 95 % interval",
                number: true,
                cell: ({ figure, kind }) => <Figure figure={figure} kind={kind} />,
              },
              { header: "From", number: true, cell: ({ figure }) => formatCount(figure.n) },
            ]}
          />
        )}
        <JudgesTable panel={panel} withoutAt={withoutAt} />
      </Disclosure>
    </section>
  );
}

/** What became of all votes, as a sum that adds up. */
export function VoteSum({ counts }: { counts: VoteCounts }) {
  return (
    <>
      <ul className={classes.sum} data-testid="vote-sum">
        {voteParts(counts).map(({ name, label, count }, index) => (
          <li key={name} data-status={name} data-zero={count === 0 || undefined}>
            <span aria-hidden="true">{index === 0 ? "" : "+"}</span>
            <span className={classes.count}>{formatCount(count)}</span>
            {label}
          </li>
        ))}
        <li className={classes.total}>
          <span aria-hidden="true">=</span>
          <span className={classes.count}>{formatCount(counts.total)}</span>
          votes
        </li>
      </ul>
      <p className={classes.note}>
        {counts.cached > 0 && `${formatCount(counts.cached)} of the valid votes were reused. `}
        Not needed: there is no output to judge, or the panel didn't split. Failed votes never count as 0.
      </p>
    </>
  );
}
