import { Button, Select } from "@mantine/core";
import { Link, useNavigate, useSearchParams } from "react-router";
import { useEvalRun, useRanking } from "@/api/evalRuns";
import type { EvalRunRanking } from "@/api/types";
import { CommittedText } from "@/components/CommittedText";
import { DataTable } from "@/components/DataTable";
import classes from "@/components/evaluation/Evaluation.module.css";
import { Interval } from "@/components/evaluation/Interval";
import { flagText, formatDifference, formatP, formatValue } from "@/components/evaluation/measures";
import { Sentence } from "@/components/evaluation/Sentence";
import { formatCount, formatCountOf } from "@/components/format";
import { Page } from "@/components/Page";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useKeys } from "@/components/useKeys";
import { useProjectId } from "@/components/useProject";
import { rankedMetrics, readRanking, verdictText } from "./ranking";

const TITLE = "Compare eval-runs";

/** Two to six eval-runs of a dataset by one metric: `run` in the address for each, with `metric` and `group_by`. */
export function RankingPage() {
  const projectId = useProjectId();
  const [params] = useSearchParams();
  const navigate = useNavigate();
  const list = `/p/${projectId}/eval-runs`;
  const back = { label: "Back to the eval-runs", onClick: () => navigate(list) };
  useKeys({ Escape: back.onClick });
  const selection = readRanking(params);
  if (selection.eval_run_id.length < 2) {
    return (
      <Page title={TITLE} back={back}>
        <PageMessage title="Nothing to compare.">
          <PageHint>Select two to six eval-runs of one dataset in the list, and then Compare.</PageHint>
          <Button component={Link} to={list} variant="default">
            Back to the eval-runs
          </Button>
        </PageMessage>
      </Page>
    );
  }
  return (
    <Page title={TITLE} back={back}>
      <Ranked projectId={projectId} />
    </Page>
  );
}

function Ranked({ projectId }: { projectId: string }) {
  const [params] = useSearchParams();
  const selection = readRanking(params);
  const query = useRanking(selection);
  return (
    <>
      <Tools />
      {query.isRefetchError && query.data && <ProblemPanel error={query.error} />}
      <QueryState query={query} skeleton={<SkeletonRows count={8} height={40} />}>
        {(ranking) => <Result projectId={projectId} ranking={ranking} />}
      </QueryState>
    </>
  );
}

/** What the eval-runs are compared by. */
function Tools() {
  const [params, setParams] = useSearchParams();
  const selection = readRanking(params);
  const first = useEvalRun(selection.eval_run_id[0] ?? "");
  const set = (name: string, value: string | null) =>
    setParams((current) => {
      if (value) current.set(name, value);
      else current.delete(name);
      return current;
    });
  return (
    <search className={classes.filters} aria-label="Compared by">
      <Select
        size="xs"
        w={160}
        aria-label="Metric"
        placeholder="Primary metric"
        data={first.data ? rankedMetrics(first.data) : []}
        value={selection.metric ?? null}
        onChange={(value) => set("metric", value)}
        clearable
        clearButtonProps={{ "aria-label": "Clear metric" }}
      />
      <CommittedText
        label="Items belong together by"
        placeholder="Together by, e.g. metadata.customer"
        value={selection.group_by ?? ""}
        maxLength={500}
        onChange={(value) => set("group_by", value)}
      />
    </search>
  );
}

interface Props {
  projectId: string;
  ranking: EvalRunRanking;
}

function Result({ projectId, ranking }: Props) {
  const names = [ranking.metric, ...ranking.sides.map(({ name }) => name)];
  return (
    <>
      <div className={classes.sentence} data-testid="sentence">
        <p>
          <Sentence text={ranking.sentence} names={names} />
        </p>
      </div>
      <Means projectId={projectId} ranking={ranking} />
      <Differences ranking={ranking} names={names} />
      <Worst projectId={projectId} ranking={ranking} />
    </>
  );
}

function Means({ projectId, ranking: { sides, kind, metric, items, groups } }: Props) {
  return (
    <section className={classes.metrics}>
      <DataTable
        label="Means"
        stacks
        rows={sides}
        rowKey={({ side }) => side}
        rowProps={({ side }) => ({ "data-testid": "ranked-side", "data-side": side })}
        columns={[
          {
            header: "Side",
            cell: ({ side, name, eval_run_id }) => (
              <>
                {side}:{" "}
                <Link to={`/p/${projectId}/eval-runs/${eval_run_id}`} className={classes.name}>
                  <bdi>{name}</bdi>
                </Link>
              </>
            ),
          },
          {
            header: metric,
            number: true,
            cell: ({ mean }) => (
              <>
                <strong>{formatValue(kind, mean.mean)}</strong>
                <Interval ci={mean.ci} format={(value) => formatValue(kind, value)} />
              </>
            ),
          },
          { header: "Items compared", number: true, cell: ({ mean }) => formatCount(mean.n) },
          {
            header: "Left out",
            number: true,
            title: ({ left_out }) =>
              `${formatCountOf(left_out, "item has", "items have")} a value here, and none on another side`,
            cell: ({ left_out }) => formatCount(left_out),
          },
          { header: "With a failed output", number: true, cell: ({ failed }) => formatCount(failed) },
        ]}
      />
      <p className={classes.note}>
        All intervals hold together with 95 %. {formatCountOf(items, "item")}
        {groups === null ? "" : ` in ${formatCountOf(groups, "group")}`} with a value on all sides.
      </p>
    </section>
  );
}

function Differences({
  ranking: { differences, kind },
  names,
}: {
  ranking: EvalRunRanking;
  names: readonly string[];
}) {
  return (
    <section className={classes.metrics}>
      <DataTable
        label="Differences"
        stacks
        rows={differences}
        rowKey={({ a, b }) => a + b}
        rowProps={({ a, b, verdict }) => ({
          "data-testid": "ranked-difference",
          "data-pair": a + b,
          "data-verdict": verdict,
        })}
        columns={[
          {
            header: "Sides",
            cell: ({ a, b, sentence, difference }) => (
              <>
                {b} minus {a}
                <span className={classes.hint}>
                  <Sentence text={sentence} names={names} />
                </span>
                {difference.flags.map((flag) => (
                  <span key={flag} className={classes.flag} data-testid="flag">
                    {flagText(flag)}
                  </span>
                ))}
              </>
            ),
          },
          {
            header: "Difference",
            number: true,
            cell: ({ difference }) => (
              <>
                <strong>{formatDifference(kind, difference.estimate)}</strong>
                <Interval ci={difference.ci} format={(value) => formatDifference(kind, value)} />
              </>
            ),
          },
          { header: "Verdict", cell: (one) => verdictText(one) },
          {
            header: "p, adjusted",
            number: true,
            cell: ({ difference }) => formatP(difference.p_adjusted),
          },
        ]}
      />
      <p className={classes.note}>
        All intervals hold together with 95 %, and p counts all pairs (Bonferroni's correction). A verdict
        needs an adjusted p of at most 0.05, an interval without 0, and the same verdict with failed outputs
        as 0.
      </p>
    </section>
  );
}

function Worst({ projectId, ranking: { worst, sides, kind, dataset } }: Props) {
  if (worst.length === 0) return <p className={classes.note}>All sides have the same value on each item.</p>;
  return (
    <section className={classes.metrics}>
      <DataTable
        label="Items on which sides differ most"
        stacks
        rows={worst}
        rowKey={({ item_id }) => item_id}
        rowProps={() => ({ "data-testid": "ranked-item" })}
        columns={[
          {
            header: "Item",
            title: ({ input }) => input || undefined,
            cell: ({ item_id, key, input }) => (
              <>
                <Link
                  to={`/p/${projectId}/datasets/${dataset.id}?item=${item_id}&revision=${dataset.revision}`}
                  className={classes.name}
                >
                  <bdi>{key ?? item_id.slice(0, 8)}</bdi>
                </Link>
                <span className={`${classes.clip} ${classes.dim}`}>
                  <bdi>{input}</bdi>
                </span>
              </>
            ),
          },
          ...sides.map(({ side }, place) => ({
            header: side,
            number: true,
            cell: ({ scores }: EvalRunRanking["worst"][number]) => formatValue(kind, scores[place] ?? null),
          })),
          { header: "Spread", number: true, cell: ({ spread }) => formatValue(kind, spread) },
        ]}
      />
    </section>
  );
}
