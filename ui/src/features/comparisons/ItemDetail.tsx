import { ActionIcon, Group, SegmentedControl, Skeleton, Tooltip } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { Link, useNavigate } from "react-router";
import { useComparisonItem } from "@/api/comparisons";
import { useMe } from "@/api/identity";
import type { Comparison, ComparisonItem, PanelRead } from "@/api/types";
import { WordDiff } from "@/components/Changes";
import { DataTable } from "@/components/DataTable";
import { Disclosure } from "@/components/evaluation/Disclosure";
import classes from "@/components/evaluation/Items.module.css";
import { itemName } from "@/components/evaluation/items";
import { LabelForm, LabelSettings } from "@/components/evaluation/LabelForm";
import { labelPanels, splitLabels } from "@/components/evaluation/labels";
import { OutcomeMark } from "@/components/evaluation/Marks";
import { formatDifference, formatValue, metricLabel } from "@/components/evaluation/measures";
import { ItemPart, Output, RecordedValue } from "@/components/evaluation/Output";
import { outputValue } from "@/components/evaluation/outputs";
import { ITEM_STATUSES } from "@/components/evaluation/progress";
import { JudgeCards, Votes } from "@/components/evaluation/Votes";
import { groupVotes } from "@/components/evaluation/votes";
import { QueryState } from "@/components/QueryState";
import { useKeys } from "@/components/useKeys";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { blindSides, type ItemsPlace, VIEWS, type View } from "./itemsPlace";

interface Props {
  comparison: Comparison;
  itemId: string;
  place: ItemsPlace;
  live: boolean;
  onMove: (by: 1 | -1) => void;
  onPlace: (changes: Record<string, string | null>) => void;
}

/** One item with the outputs of both sides, whole. */
export function ItemDetail(props: Props) {
  const query = useComparisonItem(props.comparison.id, props.itemId, props.live);
  return (
    <QueryState query={query} skeleton={<Skeleton h={320} m="md" />}>
      {(item) => <Detail item={item} {...props} />}
    </QueryState>
  );
}

function Detail({ comparison, item, place, onMove, onPlace }: Props & { item: ComparisonItem }) {
  const projectId = useProjectId();
  const navigate = useNavigate();
  const repeat = item.repeats.find((one) => one.repeat === place.repeat) ?? item.repeats[0];
  const mayLabel = allows(useProject(), "evals:write");
  const user = useMe().data?.user;
  const panels = labelPanels(comparison);
  const panel = panels.find(({ name }) => name === place.panel) ?? panels[0];
  const toLabel = (["a", "b"] as const).filter((side) => panel && repeat?.[side]?.status === "ok");
  const unlabelled = toLabel.filter(
    (side) => panel && repeat && !splitLabels(repeat.labels[side], panel.name, user).mine,
  );
  const isBlind = place.isBlind && mayLabel && unlabelled.length > 0;
  const open = (side: "a" | "b") => {
    const runId = repeat?.[side]?.run_id;
    if (runId) navigate(`/p/${projectId}/runs/${runId}`);
  };
  useKeys(isBlind ? {} : { a: () => open("a"), b: () => open("b") });
  return (
    <div className={classes.content} data-testid="item-detail" data-item={item.item_id}>
      <header className={classes.head}>
        <h2 className={classes.title}>
          <bdi>{itemName(item)}</bdi>
          {item.key !== null && <span className={classes.dim}> no. {item.number}</span>}
        </h2>
        {item.status === "scored" && item.outcome !== null && !isBlind ? (
          <OutcomeMark outcome={item.outcome} />
        ) : (
          <span>{ITEM_STATUSES[item.status]}</span>
        )}
        <Link
          to={`/p/${projectId}/datasets/${comparison.dataset.id}?item=${item.item_id}&revision=${comparison.dataset.revision}`}
        >
          In the dataset
        </Link>
        <Group gap={4} ml="auto" wrap="nowrap">
          <Tooltip label="Previous item (k)">
            <ActionIcon variant="default" aria-label="Previous item" onClick={() => onMove(-1)}>
              <IconChevronLeft size={15} />
            </ActionIcon>
          </Tooltip>
          <Tooltip label="Next item (j)">
            <ActionIcon variant="default" aria-label="Next item" onClick={() => onMove(1)}>
              <IconChevronRight size={15} />
            </ActionIcon>
          </Tooltip>
        </Group>
      </header>
      {item.reason !== null && <p className={classes.reason}>Skipped: {item.reason}</p>}
      <div className={classes.parts}>
        <ItemPart title="Input" value={item.input} />
        <ItemPart title="Reference output" value={item.reference_output} />
      </div>
      {Object.keys((item.metadata as object | null) ?? {}).length > 0 && (
        <Disclosure className={classes.more} summary="Metadata">
          <RecordedValue value={item.metadata} what="metadata" />
        </Disclosure>
      )}
      {item.repeats.length > 0 && (
        <div className={classes.controls}>
          {!isBlind && (
            <SegmentedControl
              size="xs"
              aria-label="View"
              value={place.view}
              onChange={(view) => onPlace({ view: view === "outputs" ? null : view })}
              data={Object.entries(VIEWS).map(([value, label]) => ({
                value,
                label,
                disabled: (value === "ra" || value === "rb") && item.reference_output == null,
              }))}
            />
          )}
          {item.repeats.length > 1 && (
            <Group gap={6}>
              <span className={classes.dim}>Repeat</span>
              <SegmentedControl
                size="xs"
                aria-label="Repeat"
                value={String(repeat?.repeat)}
                onChange={(value) => onPlace({ repeat: value === "1" ? null : value })}
                data={item.repeats.map((one) => String(one.repeat))}
              />
            </Group>
          )}
        </div>
      )}
      {repeat && (
        <Outputs
          item={item}
          repeat={repeat}
          view={isBlind ? "outputs" : place.view}
          isBlind={isBlind}
          panels={comparison.panels}
        />
      )}
      {repeat && panel && toLabel.length > 0 && (
        <Labels
          key={`${item.item_id} ${repeat.repeat}`}
          comparison={comparison}
          item={item}
          repeat={repeat}
          panel={panel}
          sides={toLabel}
          unlabelled={unlabelled}
          place={place}
          isBlind={isBlind}
          mayLabel={mayLabel}
          onMove={onMove}
          onPlace={onPlace}
        />
      )}
      {isBlind && (
        <p className={classes.dim}>
          Sides, votes and metrics are hidden until you have labelled both outputs. Which is first is random.
        </p>
      )}
      {repeat && !isBlind && <RepeatVotes repeat={repeat} />}
      {!isBlind && <Metrics comparison={comparison} item={item} />}
    </div>
  );
}

interface OutputsProps {
  item: ComparisonItem;
  repeat: ComparisonItem["repeats"][number];
  view: View;
  isBlind: boolean;
  panels: Comparison["panels"];
}

const BLIND_TITLES = ["First output", "Second output"] as const;

interface LabelsProps {
  comparison: Comparison;
  item: ComparisonItem;
  repeat: ComparisonItem["repeats"][number];
  panel: PanelRead;
  /** Those with an output, and of these those without a label of the reader. */
  sides: ("a" | "b")[];
  unlabelled: ("a" | "b")[];
  place: ItemsPlace;
  isBlind: boolean;
  mayLabel: boolean;
  onMove: (by: 1 | -1) => void;
  onPlace: (changes: Record<string, string | null>) => void;
}

/** The reader's labels of both outputs. Keys label the first one without a label. */
function Labels(props: LabelsProps) {
  const { comparison, item, repeat, panel, sides, unlabelled, place, isBlind, mayLabel } = props;
  const order = isBlind ? blindSides(item.item_id) : (["a", "b"] as const);
  const withKeys = order.find((side) => unlabelled.includes(side));
  return (
    <>
      {mayLabel && (
        <div className={classes.controls}>
          <LabelSettings
            panels={labelPanels(comparison)}
            panel={panel}
            isBlind={place.isBlind}
            hidden="sides and votes"
            onPanel={(name) => props.onPlace({ panel: name })}
            onBlind={(hides) => props.onPlace({ blind: hides ? "1" : null })}
          />
        </div>
      )}
      {order
        .filter((side) => sides.includes(side))
        .map((side) => {
          const what = isBlind ? BLIND_TITLES[order.indexOf(side)]?.toLowerCase() : side.toUpperCase();
          return (
            <LabelForm
              key={side}
              title={mayLabel ? `Your label of ${isBlind ? `the ${what}` : what}` : `Labels of ${what}`}
              output={{ side, id: comparison.id, itemId: item.item_id }}
              repeat={repeat.repeat}
              labels={repeat.labels[side]}
              panel={panel}
              hasKeys={side === withKeys}
              mayLabel={mayLabel}
              onNext={() => props.onMove(1)}
            />
          );
        })}
    </>
  );
}

function Outputs({ item, repeat, view, isBlind, panels }: OutputsProps) {
  if (view !== "outputs") {
    const [before, after, sides]: [unknown, unknown, [string, string]] =
      view === "ab"
        ? [outputValue(repeat.a), outputValue(repeat.b), ["A", "B"]]
        : view === "ra"
          ? [item.reference_output, outputValue(repeat.a), ["Reference", "A"]]
          : [item.reference_output, outputValue(repeat.b), ["Reference", "B"]];
    return (
      <div data-testid="word-diff">
        <WordDiff before={before} after={after} isSplit sides={sides} />
      </div>
    );
  }
  return (
    <div className={classes.outputs}>
      {(isBlind ? blindSides(item.item_id) : (["a", "b"] as const)).map((side, index) => (
        <Output
          key={side}
          side={side}
          output={repeat[side]}
          blindTitle={isBlind ? BLIND_TITLES[index] : undefined}
          panels={panels}
          isSkipped={item.status === "skipped"}
        />
      ))}
    </div>
  );
}

const WINNERS = { a: "A is better", b: "B is better", tie: "a tie" };

/** What judges say about the outputs of a repeat, and which side they prefer. */
function RepeatVotes({ repeat }: { repeat: ComparisonItem["repeats"][number] }) {
  const sides = (["a", "b"] as const).filter((side) => (repeat[side]?.votes.length ?? 0) > 0);
  return (
    <>
      {repeat.preferences.map(({ panel, winner, votes }) => (
        <section
          key={panel}
          aria-label={`Preferences of ${panel}`}
          data-testid="preference"
          data-winner={winner}
        >
          <h3>
            {panel}
            <span className={classes.dim}>
              {winner === null ? "no winner: too few valid votes" : WINNERS[winner]}
            </span>
          </h3>
          <JudgeCards judges={groupVotes(votes).flatMap(({ judges }) => judges)} />
        </section>
      ))}
      {sides.length > 0 && (
        <div className={classes.outputs}>
          {(["a", "b"] as const).map((side) => (
            <div key={side}>
              <h3>Votes on {side.toUpperCase()}</h3>
              <Votes votes={repeat[side]?.votes ?? []} scores={repeat[side]?.scores ?? []} />
            </div>
          ))}
        </div>
      )}
    </>
  );
}

/** The means of the repeats of this item. */
function Metrics({ comparison, item }: { comparison: Comparison; item: ComparisonItem }) {
  const known = comparison.summary?.metrics ?? [];
  const rows = item.metrics.flatMap((metric) => {
    const of = known.find(({ name }) => name === metric.name);
    return of ? [{ ...metric, of }] : [];
  });
  if (rows.length === 0) return null;
  return (
    <section className={classes.metrics}>
      <h3>{item.repeats.length > 1 ? "Metrics, means of the repeats" : "Metrics"}</h3>
      <DataTable
        label="Metrics of the item"
        rows={rows}
        rowKey={({ name }) => name}
        columns={[
          { header: "Metric", cell: ({ of }) => <bdi>{metricLabel(of)}</bdi> },
          { header: "A", number: true, cell: ({ of, a }) => formatValue(of.kind, a) },
          { header: "B", number: true, cell: ({ of, b }) => formatValue(of.kind, b) },
          {
            header: "Difference",
            number: true,
            cell: ({ of, difference }) => formatDifference(of.kind, difference),
          },
          {
            header: "Outcome",
            cell: ({ outcome, difference, of }) =>
              difference === null && of.kind !== "score" ? (
                <span className={classes.dim}>not compared</span>
              ) : (
                <OutcomeMark outcome={outcome} />
              ),
          },
        ]}
      />
    </section>
  );
}
