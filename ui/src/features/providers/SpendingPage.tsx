import { Button, SegmentedControl, Select, Skeleton, Switch, TextInput } from "@mantine/core";
import { lazy, Suspense, useMemo, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { useSpending } from "@/api/providers";
import type { Spending, SpendingGroup, SpendingTotals } from "@/api/types";
import { type ChartSeries, seriesColor } from "@/components/chart/series";
import { DataTable } from "@/components/DataTable";
import { Figures } from "@/components/Figures";
import { withParam } from "@/components/filters/filters";
import { formatCost, formatCount } from "@/components/format";
import { PageHeader } from "@/components/PageHeader";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { QueryState } from "@/components/QueryState";
import { useNow } from "@/components/useNow";
import { useProjectId } from "@/components/useProject";
import classes from "./Providers.module.css";
import { costText, daysOf, GROUPS, leftOut, readView, windowOf } from "./spending";

const TimeChart = lazy(() => import("@/components/chart/TimeChart"));

const HEIGHT = 190;
const DAY_SECONDS = 86_400;

/** What the calls that Looptrace made itself cost. The address has the time range and the grouping. */
export function SpendingPage() {
  const projectId = useProjectId();
  const [params, setParams] = useSearchParams();
  const now = useNow(60_000);
  const view = readView(params, now);
  const window = windowOf(view, now);
  const groups = useSpending(projectId, window, view.groupBy);
  const days = useSpending(projectId, window, "day");
  const [asTable, setAsTable] = useState(false);
  const set = (name: string, value: string | null) => setParams(withParam(params, name, value));
  return (
    <div className={classes.page}>
      <PageHeader
        title="Spending"
        context={
          <>
            Model calls that Looptrace made itself: in the playground, and in tests of{" "}
            <Link to="../settings/providers">connections</Link>. Recorded runs of your programs aren't
            included.
          </>
        }
        tools={
          <div className={classes.tools}>
            <SegmentedControl
              size="xs"
              aria-label="Time range"
              value={view.range}
              onChange={(range) => set("range", range === "month" ? null : range)}
              data={[
                { value: "month", label: "This month" },
                { value: "30d", label: "30 days" },
                { value: "custom", label: "Custom" },
              ]}
            />
            {view.range === "custom" && (
              <>
                <TextInput
                  size="xs"
                  type="date"
                  aria-label="First day (UTC)"
                  value={view.from}
                  max={view.until}
                  onChange={(event) => set("from", event.currentTarget.value)}
                />
                <TextInput
                  size="xs"
                  type="date"
                  aria-label="Last day (UTC)"
                  value={view.until}
                  min={view.from}
                  onChange={(event) => set("until", event.currentTarget.value)}
                />
              </>
            )}
            <Select
              size="xs"
              w={150}
              aria-label="Group by"
              data={GROUPS}
              value={view.groupBy}
              onChange={(value) => set("group_by", value === "provider" ? null : value)}
              allowDeselect={false}
            />
          </div>
        }
        actions={
          <Switch
            size="xs"
            label="Table"
            checked={asTable}
            onChange={(event) => setAsTable(event.currentTarget.checked)}
          />
        }
      />
      <section
        className={classes.body}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        aria-label="Spending"
      >
        <QueryState query={groups} skeleton={<Skeleton h={HEIGHT} />} page>
          {(spending) =>
            spending.total.call_count === 0 ? (
              <PageMessage title="No calls in this period.">
                <PageHint>Model calls appear here as soon as they start.</PageHint>
                <Button component={Link} to={`/p/${projectId}/playground`} variant="default">
                  Open the playground
                </Button>
              </PageMessage>
            ) : (
              <>
                <Totals totals={spending.total} />
                <QueryState query={days} skeleton={<Skeleton h={HEIGHT} />}>
                  {(byDay) => <Days spending={byDay} asTable={asTable} />}
                </QueryState>
                <Groups spending={spending} groupBy={view.groupBy} />
              </>
            )
          }
        </QueryState>
      </section>
    </div>
  );
}

function Totals({ totals }: { totals: SpendingTotals }) {
  const missing = leftOut(totals);
  return (
    <div>
      <Figures
        testId="spending-totals"
        of={{
          "Known cost": costText(totals),
          Calls: formatCount(totals.call_count),
          Failed: formatCount(totals.failed_count),
        }}
      />
      {missing.length > 0 && (
        <ul className={classes.missing} data-testid="spending-missing" aria-label="What the cost excludes">
          {missing.map((text) => (
            <li key={text}>Excludes {text}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });

function Days({ spending, asTable }: { spending: Spending; asTable: boolean }) {
  const { times, cost, bounded } = useMemo(
    () => daysOf(spending.rows, spending.start, spending.end),
    [spending],
  );
  const series = useMemo((): ChartSeries[] => {
    const known = { label: "known cost", color: seriesColor(0), values: cost };
    if (bounded.every((usd) => usd === 0)) return [known];
    return [known, { label: "at most, of unknown cost", color: "--lt-series-other", values: bounded }];
  }, [cost, bounded]);
  return (
    <section className={classes.chart} aria-label="Cost by day">
      <h2 className={classes.title}>Cost by day (UTC)</h2>
      {[...cost, ...bounded].every((usd) => usd === 0) ? (
        <p className={classes.dim}>No known cost in this period.</p>
      ) : asTable ? (
        <DataTable
          label="Cost by day, numbers"
          maxHeight={HEIGHT}
          rows={times.map((time, index) => ({ time, index })).reverse()}
          rowKey={({ time }) => String(time)}
          columns={[
            { header: "Day", cell: ({ time }) => dayFormat.format(time * 1000) },
            ...series.map(({ label, values }) => ({
              header: label,
              number: true,
              cell: ({ index }: { index: number }) => formatCost(values[index]),
            })),
          ]}
        />
      ) : (
        <div style={{ height: HEIGHT }}>
          <Suspense>
            <TimeChart
              label="Cost by day. Turn on “Table” for the numbers."
              times={times}
              bucketSeconds={DAY_SECONDS}
              series={series}
              shape="bars"
              height={HEIGHT}
              format={formatCost}
            />
          </Suspense>
        </div>
      )}
    </section>
  );
}

const FEATURES: Record<string, string> = { playground: "Playground", test: "Tests of connections" };

function Groups({ spending, groupBy }: { spending: Spending; groupBy: SpendingGroup }) {
  const name = GROUPS.find(({ value }) => value === groupBy)?.label ?? groupBy;
  const label = (text: string) => (groupBy === "feature" ? (FEATURES[text] ?? text) : text || "unnamed");
  const rows = [
    ...spending.rows.map((row) => ({ key: row.key, label: label(row.label), totals: row.totals })),
    ...(spending.other ? [{ key: " other", label: "All others", totals: spending.other }] : []),
  ];
  return (
    <DataTable
      label={`By ${name.toLowerCase()}`}
      rows={rows}
      rowKey={({ key }) => key}
      rowProps={() => ({ "data-testid": "spending-row" })}
      columns={[
        { header: name, cell: (row) => row.label },
        { header: "Calls", number: true, cell: ({ totals }) => formatCount(totals.call_count) },
        { header: "Failed", number: true, cell: ({ totals }) => formatCount(totals.failed_count) },
        {
          header: "Without a price",
          number: true,
          cell: ({ totals }) => formatCount(totals.unpriced_count),
        },
        {
          header: "Unknown, at most",
          number: true,
          cell: ({ totals }) => (totals.bounded_count === 0 ? "" : formatCost(totals.bounded_usd)),
        },
        {
          header: "Known cost",
          number: true,
          title: ({ totals }) =>
            leftOut(totals)
              .map((text) => `Excludes ${text}`)
              .join("\n") || undefined,
          cell: ({ totals }) => costText(totals),
        },
      ]}
    />
  );
}
