import { KINDS, KindIcon } from "@/components/KindIcon";
import { StatusMark } from "@/components/StatusMark";
import { Choice, OneOf } from "./Choice";
import {
  type Filters,
  OUTCOMES,
  SOURCES,
  STATUSES,
  TRACES,
  toggleParam,
  withSource,
  withTraces,
} from "./filters";

interface Props {
  filters: Filters;
  params: URLSearchParams;
  /** All, if it is missing. */
  sources?: typeof SOURCES;
  onChange: (params: URLSearchParams) => void;
}

/** The filters of runs with few values. */
export function RunChoices({ filters, params, sources = SOURCES, onChange }: Props) {
  return (
    <>
      <Choice
        label="Outcome"
        options={OUTCOMES}
        chosen={filters.outcome}
        icon={(outcome) => <StatusMark status={outcome} />}
        onToggle={(outcome) => onChange(toggleParam(params, "outcome", outcome))}
      />
      <Choice
        label="Status"
        options={STATUSES}
        chosen={filters.status}
        icon={(status) => <StatusMark status={status} />}
        onToggle={(status) => onChange(toggleParam(params, "status", status))}
      />
      <OneOf
        label="Traces"
        options={TRACES}
        chosen={filters.traces}
        onChoose={(traces) => onChange(withTraces(params, traces))}
      />
      <OneOf
        label="Source"
        options={sources}
        chosen={filters.source}
        onChoose={(source) => onChange(withSource(params, source))}
      />
      <Choice
        label="Kind"
        options={KINDS}
        chosen={filters.kind}
        icon={(kind) => <KindIcon kind={kind} />}
        onToggle={(kind) => onChange(toggleParam(params, "kind", kind))}
      />
    </>
  );
}
