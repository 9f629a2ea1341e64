import { Link } from "react-router";
import type { PanelSummary } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import { Fact, FactList } from "@/components/Fact";
import { formatCount, NONE } from "@/components/format";
import classes from "./Evaluation.module.css";
import { Figure } from "./Figure";
import { formatDifference, formatValue, intervalText } from "./measures";
import own from "./Trust.module.css";
import { figureText } from "./trust";

interface Props {
  panel: PanelSummary;
  /** Where outputs are labelled; undefined if they can't be. */
  labelsAt?: string;
}

/** A panel beside labels of people, and the mean score that they correct. */
export function Labels({ panel: { name, labels, labels_on_other_scales: others }, labelsAt }: Props) {
  if (labels === null)
    return (
      <p className={classes.note}>
        Nobody has labelled an output{others > 0 && " on this scale"}, so you can see whether the judges
        agree, but not whether they are right. About 30 labels are enough to tell.{" "}
        {labelsAt && <Link to={labelsAt}>Label outputs in random order</Link>}
      </p>
    );
  const { corrected, drawn, drawn_of: of, labels_needed: needed, before } = labels;
  const mean = (value: number) => formatValue("score", value);
  return (
    <div data-testid="labels">
      <p className={classes.lead}>{labels.sentence}</p>
      <div className={own.facts}>
        <FactList>
          <Fact
            label="Labels"
            value={`${formatCount(labels.outputs)} ${labels.outputs === 1 ? "output" : "outputs"} by ${formatCount(labels.people)} ${labels.people === 1 ? "person" : "people"}`}
          />
          <Fact label="Agreement with people" value={figureText("share", labels.agreement)} />
          {corrected.flag !== "not_applicable" && (
            <>
              <Fact
                label="Corrected mean"
                value={
                  corrected.value === null
                    ? figureText("share", corrected)
                    : `${mean(corrected.value)}${corrected.ci ? ` (${intervalText(corrected.ci, mean)})` : ""}`
                }
                title={`PPI++ with the labels of ${formatCount(drawn)} of ${formatCount(of)} items: those from the first of the random order on. Labels of items that you choose correct nothing.`}
              />
              <Fact
                label="Labels still needed"
                value={needed === null ? NONE : formatCount(needed)}
                title="That make the interval of the corrected mean half as wide, or that a correction needs at all"
              />
            </>
          )}
          {before && (
            <Fact
              label="Than the panel before"
              value={`${formatDifference("score", before.difference.estimate)} points of being right${
                before.difference.ci
                  ? ` (${intervalText(before.difference.ci, (value) => formatDifference("score", value))})`
                  : ""
              }`}
              title={`The panel of the eval-run whose outputs these are agreed with ${figureText("share", before.agreement)}`}
            />
          )}
        </FactList>
      </div>
      {labels.judges.length > 0 && (
        <DataTable
          label={`Judges of ${name} beside labels`}
          stacks
          rows={labels.judges}
          rowKey={(judge) => judge.name}
          columns={[
            { header: "Judge", cell: (judge) => <bdi>{judge.name}</bdi> },
            {
              header: "Agreement",
              number: true,
              cell: ({ agreement }) => <Figure figure={agreement} kind="share" />,
            },
            {
              header: "Passes what people pass",
              number: true,
              cell: ({ sensitivity }) => <Figure figure={sensitivity} kind="share" isShort />,
            },
            {
              header: "Fails what people fail",
              number: true,
              cell: ({ specificity }) => <Figure figure={specificity} kind="share" isShort />,
            },
          ]}
        />
      )}
      {labelsAt && (
        <p className={classes.note}>
          <Link to={labelsAt}>Label more outputs in random order</Link>
        </p>
      )}
    </div>
  );
}
