import { Button } from "@mantine/core";
import type { MisdatedRuns } from "@/api/stats";
import type { RunTotals } from "@/api/types";
import { formatCount, formatPercent, formatRuns } from "@/components/format";
import { PageMessage } from "@/components/PageMessage";
import { credibleTimes } from "./clocks";
import classes from "./FilterBar.module.css";
import { areFiltering, type Filters, type Range, withoutFilters, withTimeRange } from "./filters";

interface Props {
  params: URLSearchParams;
  onChange: (params: URLSearchParams) => void;
}

/** The runs of wrong clocks, which the charts leave out. */
export function MisdatedNote({ runs, params, onChange }: Props & { runs: MisdatedRuns }) {
  const { after, before } = credibleTimes(Date.now());
  const show = (range: { after?: string; before?: string }) =>
    onChange(withTimeRange(params, { preset: null, ...range }));
  return (
    <p className={classes.note} role="status" data-testid="misdated">
      {formatRuns(runs.past + runs.future)} left out of the charts, dated by a wrong clock:
      {runs.past > 0 && (
        <Button size="compact-xs" variant="subtle" onClick={() => show({ before: after })}>
          Show {formatRuns(runs.past)} before {new Date(after).getUTCFullYear()}
        </Button>
      )}
      {runs.future > 0 && (
        <Button size="compact-xs" variant="subtle" onClick={() => show({ after: before })}>
          Show {formatRuns(runs.future)} in the future
        </Button>
      )}
    </p>
  );
}

type SampledTotals = Pick<RunTotals, "count" | "sampled_count" | "sample_share">;

/** That samplers kept only a share of some runs before they came here. */
export function SampledNote({ totals }: { totals: SampledTotals }) {
  if (totals.sample_share === null) return null;
  return (
    <p className={classes.note} role="status" data-testid="sampled">
      {formatCount(totals.sampled_count)} of {formatRuns(totals.count)} are a sample: samplers kept{" "}
      {formatPercent(totals.sample_share)} or more of such traces. Figures are of what was kept; nothing is
      weighted.
    </p>
  );
}

const RANGE_WORDS: Record<Range, string> = {
  "1h": "the last hour",
  "24h": "the last 24 h",
  "7d": "the last 7 days",
  "30d": "the last 30 days",
  "90d": "the last 90 days",
};

/**
 * Says that a list has nothing in its time range, while the project has runs at other times. Whether they match the other filters is not
 * known.
 */
export function EmptyTime({ what, filters, params, onChange }: Props & { what: string; filters: Filters }) {
  const time = filters.range ? RANGE_WORDS[filters.range] : "this time range";
  const isFiltered = areFiltering({ ...filters, start_after: null, start_before: null });
  return (
    <PageMessage title={`No ${what} in ${time}${isFiltered ? " match these filters" : ""}.`}>
      <Button variant="default" onClick={() => onChange(withTimeRange(params, { preset: null }))}>
        Search all time
      </Button>
      {isFiltered && (
        <Button variant="subtle" onClick={() => onChange(withoutFilters(params))}>
          Clear filters
        </Button>
      )}
    </PageMessage>
  );
}
