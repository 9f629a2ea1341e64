import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation, useNavigate, useSearchParams } from "react-router";
import { fetchComparison } from "@/api/comparisons";
import { fetchDataset } from "@/api/datasets";
import { fetchReadyMadeJudges } from "@/api/judges";
import { fetchVersion } from "@/api/prompts";
import { useProviders } from "@/api/providers";
import { keys } from "@/api/queryKeys";
import type { Provider } from "@/api/types";
import { readComparisonStart, readVersionAt } from "@/components/comparisonStart";
import { configurationDraft, emptyConfiguration } from "@/components/configuration/configurationDraft";
import { readWithout } from "@/components/evalRunStart";
import { savingText } from "@/components/evaluation/trust";
import { NoProvider } from "@/components/NoProvider";
import { NotAllowed } from "@/components/NotAllowed";
import { PageState } from "@/components/PageState";
import { withoutJudge } from "@/components/panels/panelDraft";
import { SkeletonRows } from "@/components/QueryState";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { ComparisonForm } from "./ComparisonForm";
import { emptyComparison, likeComparison, type NewComparison } from "./newComparison";

const TITLE = "New comparison";

const aboveOf = (projectId: string) => ({
  label: "Back to the comparisons",
  to: `/p/${projectId}/comparisons`,
});

/**
 * Starts a comparison: from nothing, or with `dataset`, with versions of prompts as `a` and `b`, like the comparison `from`, or
 * with configurations in the state of the router.
 */
export function NewComparisonPage() {
  const projectId = useProjectId();
  const project = useProject();
  const providers = useProviders(projectId);
  if (!allows(project, "evals:write")) {
    return (
      <NotAllowed
        title={TITLE}
        action="start comparisons"
        scope="evals:write"
        reason="comparisons cost money"
        back={aboveOf(projectId)}
      />
    );
  }
  return (
    <PageState
      query={providers}
      skeleton={<SkeletonRows count={6} height={44} />}
      title={TITLE}
      titleWithout={TITLE}
      above={aboveOf(projectId)}
    >
      {({ data }) =>
        data.length === 0 ? <NoProvider title={TITLE} /> : <Started projectId={projectId} providers={data} />
      }
    </PageState>
  );
}

interface StartedProps {
  projectId: string;
  providers: readonly Provider[];
}

/** Loads what the form starts from, once. */
function Started({ projectId, providers }: StartedProps) {
  const [params] = useSearchParams();
  const { state } = useLocation();
  const [address] = useState(() => params.toString());
  const query = useQuery({
    queryKey: keys.comparisons.start(projectId, address, state),
    queryFn: () => loadStart(new URLSearchParams(address), state),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  return (
    <PageState
      query={query}
      skeleton={<SkeletonRows count={6} height={44} />}
      title={TITLE}
      titleWithout={TITLE}
      above={aboveOf(projectId)}
    >
      {({ draft, notice }) => (
        <Form projectId={projectId} providers={providers} start={draft} notice={notice} />
      )}
    </PageState>
  );
}

interface Start {
  draft: NewComparison;
  /** What was prefilled, and what it saves. */
  notice: string | null;
}

async function loadStart(params: URLSearchParams, state: unknown): Promise<Start> {
  const from = params.get("from");
  if (from !== null) {
    const comparison = await fetchComparison(from);
    const [dataset, catalog] = await Promise.all([
      fetchDataset(comparison.dataset.id),
      comparison.panels.length === 0 ? [] : fetchReadyMadeJudges().then(({ data }) => data),
    ]);
    const draft = likeComparison(comparison, dataset, catalog);
    const without = readWithout(params);
    if (!without) return { draft, notice: null };
    return {
      draft: { ...draft, panels: withoutJudge(draft.panels, without.panel, without.judge) },
      notice: savingText(comparison.summary?.panels ?? [], without),
    };
  }
  const datasetId = params.get("dataset");
  const handed = readComparisonStart(state);
  const [dataset, a, b] = await Promise.all([
    datasetId === null ? null : fetchDataset(datasetId),
    handed ? configurationDraft(handed.a) : sideAt(params.get("a")),
    handed ? configurationDraft(handed.b) : sideAt(params.get("b")),
  ]);
  return { draft: { ...emptyComparison(), dataset, a, b }, notice: null };
}

async function sideAt(text: string | null) {
  const at = readVersionAt(text);
  if (at === null) return emptyConfiguration();
  const { name } = await fetchVersion(at.id, at.version);
  return { ...emptyConfiguration(), prompt: { ...at, name } };
}

interface FormProps extends StartedProps {
  start: NewComparison;
  notice: string | null;
}

function Form({ projectId, providers, start, notice }: FormProps) {
  const navigate = useNavigate();
  return (
    <ComparisonForm
      projectId={projectId}
      providers={providers}
      start={start}
      notice={notice}
      onStarted={(id) => navigate(`/p/${projectId}/comparisons/${id}`, { replace: true })}
    />
  );
}
