import type {
  AgentInstructions,
  AgentViewOptions,
  ComparisonItemSelection,
  ComparisonSelection,
  EvalRuleRunSelection,
  EvalRuleStatus,
  EvalRunItemSelection,
  EvalRunSelection,
  FailureFilter,
  FailureSelection,
  FindingSelection,
  ImportPreviewQuery,
  ItemSelection,
  Place,
  PromptDraft,
  PromptSelection,
  RankingSelection,
  ReplayBatchOutcome,
  ReplayBatchSelection,
  ReplaySelection,
  ReplayStatus,
  RunFilter,
  RunGroupBy,
  RunSourceFilter,
  SpendingGroup,
  SpendingWindow,
  TimeWindow,
  Traces,
  WorkSelection,
} from "./types";

const session = ["session"] as const;
const members = ["members"] as const;
const invitations = ["invitations"] as const;
const prices = (projectId: string) => ["prices", projectId] as const;
const promptLists = (projectId: string) => ["prompts", projectId] as const;
const prompt = (promptId: string) => ["prompt", promptId] as const;
const promptAliases = (promptId: string) => [...prompt(promptId), "aliases"] as const;
const datasetLists = (projectId: string) => ["datasets", projectId] as const;
const dataset = (datasetId: string) => ["dataset", datasetId] as const;
const comparisonLists = (projectId: string) => ["comparisons", projectId] as const;
const comparison = (comparisonId: string) => ["comparison", comparisonId] as const;
const evalRunLists = (projectId: string) => ["eval-runs", projectId] as const;
const evalRun = (evalRunId: string) => ["eval-run", evalRunId] as const;
const ruleLists = (projectId: string) => ["rules", projectId] as const;
const rule = (ruleId: string) => ["rule", ruleId] as const;
const replayLists = (projectId: string) => ["replays", projectId] as const;
const workLists = (projectId: string) => ["work", projectId] as const;
const replayBatchLists = (projectId: string) => ["replay-batches", projectId] as const;
const replayBatch = (batchId: string) => ["replay-batch", batchId] as const;
const diagnosisLists = (projectId: string) => ["diagnoses", projectId] as const;
const findingLists = (projectId: string) => ["findings", projectId] as const;
const replay = (replayId: string) => ["replay", replayId] as const;
const providers = (projectId: string) => ["providers", projectId] as const;
/** Lists with columns of scores. */
const scoredRunLists = ["runs", "list", "scored"] as const;
const runList = (filter: RunFilter) =>
  filter.score_name ? ([...scoredRunLists, filter] as const) : (["runs", "list", filter] as const);
const runStats = ["runs", "stats"] as const;
const runContent = (projectId: string, runId: string) => ["run", projectId, runId, "content"] as const;

/**
 * Every query key. A key starts with the key of what it belongs to, so that invalidating `prices.all` also covers
 * `prices.list`.
 */
export const keys = {
  session: {
    all: session,
    me: [...session, "me"] as const,
    setup: [...session, "setup"] as const,
    invitation: (token: string) => [...session, "invitation", token] as const,
    passwordReset: (token: string) => [...session, "password-reset", token] as const,
  },
  /** The sessions of the user. */
  sessions: ["sessions"] as const,
  members: {
    all: members,
    list: (place: Place) => [...members, "list", place] as const,
    whole: (place: Place) => [...members, "whole", place] as const,
    keys: (place: Place, userId: string) => [...members, "keys", place, userId] as const,
  },
  invitations: {
    all: invitations,
    list: (place: Place) => [...invitations, place] as const,
  },
  contents: (kind: string, id: string) => ["contents", kind, id] as const,
  /** Without a project, those of all projects. */
  apiKeys: (projectId?: string) => (projectId ? (["api-keys", projectId] as const) : (["api-keys"] as const)),
  failedScores: (projectId: string) => ["failedScores", projectId] as const,
  signals: (projectId: string) => ["signals", projectId] as const,
  limits: (projectId: string) => ["limits", projectId] as const,
  views: (projectId: string) => ["views", projectId] as const,
  instrumentGuide: (projectId: string, framework: string | null) =>
    ["instrument-guide", projectId, framework] as const,
  prices: {
    all: prices,
    list: (projectId: string, search: string) => [...prices(projectId), "list", search] as const,
    unpriced: (projectId: string) => [...prices(projectId), "unpriced"] as const,
    differences: (projectId: string) => [...prices(projectId), "differences"] as const,
  },
  runs: {
    scoredLists: scoredRunLists,
    firstPage: (filter: RunFilter) => [...runList(filter), "first"] as const,
    laterPages: (filter: RunFilter) => [...runList(filter), "later"] as const,
    laterPage: (filter: RunFilter, cursor: string) => [...runList(filter), "later", cursor] as const,
    pageStarts: (filter: RunFilter) => ["runs", "page-starts", filter] as const,
    newest: (filter: RunFilter, limit: number) => ["runs", "newest", filter, limit] as const,
    recent: (filter: RunFilter) => ["runs", "recent", filter] as const,
    allStats: runStats,
    stats: (filter: RunFilter, groupBy?: RunGroupBy, groups?: number) =>
      [...runStats, filter, groupBy, groups] as const,
    hidden: (filter: RunFilter) => ["runs", "hidden", filter] as const,
    any: (filter: RunFilter) => ["runs", "any", filter] as const,
    misdated: (filter: RunFilter) => ["runs", "misdated", filter] as const,
    fields: (filter: RunFilter) => ["runs", "fields", filter] as const,
    fieldValues: (filter: RunFilter, field: string | null, prefix: string) =>
      ["runs", "field-values", field, filter, prefix] as const,
    deletionCount: (projectId: string, target: unknown) =>
      ["runs", "deletion-count", projectId, target] as const,
  },
  run: {
    detail: (projectId: string, runId: string) => ["run", projectId, runId, "detail"] as const,
    scores: (projectId: string, runId: string) => ["run", projectId, runId, "scores"] as const,
    /** What the run's spans say: everything that changes when spans arrive. */
    content: runContent,
    outline: (projectId: string, runId: string) => [...runContent(projectId, runId), "outline"] as const,
    wholeSpans: (projectId: string, runId: string) =>
      [...runContent(projectId, runId), "whole-spans"] as const,
    span: (projectId: string, runId: string, spanId: string | undefined) =>
      [...runContent(projectId, runId), "span", spanId] as const,
    agentView: (projectId: string, runId: string, options: AgentViewOptions) =>
      [...runContent(projectId, runId), "agent-view", options] as const,
    agent: (projectId: string, runId: string) => [...runContent(projectId, runId), "agent"] as const,
    replayability: (projectId: string, runId: string) =>
      [...runContent(projectId, runId), "replayability"] as const,
  },
  diff: (projectId: string, runId: string, otherRunId: string) =>
    ["diff", projectId, runId, otherRunId] as const,
  failures: {
    all: ["failures"] as const,
    list: (filter: FailureSelection) => ["failures", "list", filter] as const,
    group: (fingerprint: string, filter: FailureFilter) =>
      ["failures", "group", fingerprint, filter] as const,
    // Not below all: a decision about the group changes nothing in them.
    candidates: (fingerprint: string, filter: FailureFilter) =>
      ["failureCandidates", fingerprint, filter] as const,
  },
  threads: {
    list: (filter: RunFilter) => ["threads", "list", filter] as const,
    detail: (projectId: string, sessionId: string, traces: Traces, source: RunSourceFilter) =>
      ["threads", "detail", projectId, sessionId, traces, source] as const,
  },
  prompts: {
    all: promptLists,
    list: (projectId: string, selection: PromptSelection) =>
      [...promptLists(projectId), "list", selection] as const,
    named: (projectId: string, name: string) => [...promptLists(projectId), "named", name] as const,
    rendered: (draft: PromptDraft) => ["rendered-prompt", draft] as const,
  },
  prompt: {
    all: prompt,
    detail: (promptId: string) => [...prompt(promptId), "detail"] as const,
    versions: (promptId: string) => [...prompt(promptId), "versions"] as const,
    /** Versions never change, so they are not below `all`. */
    version: (promptId: string, version: number | null) => ["prompt-version", promptId, version] as const,
    diff: (promptId: string, version: number, other: number) =>
      ["prompt-diff", promptId, version, other] as const,
    aliases: promptAliases,
    aliasHistory: (promptId: string, alias: string) =>
      [...promptAliases(promptId), "history", alias] as const,
    usage: (promptId: string, window: TimeWindow) => [...prompt(promptId), "usage", window] as const,
  },
  agents: {
    list: (projectId: string) => ["agents", projectId, "list"] as const,
    releases: (
      projectId: string,
      agent: string,
      window: TimeWindow,
      instructions: AgentInstructions | undefined,
    ) => ["agents", projectId, "releases", agent, window, instructions] as const,
  },
  datasets: {
    all: datasetLists,
    list: (projectId: string, search: string) => [...datasetLists(projectId), "list", search] as const,
    choice: (projectId: string, search: string) => [...datasetLists(projectId), "choice", search] as const,
    ofRun: (projectId: string, runId: string) => [...datasetLists(projectId), "of-run", runId] as const,
  },
  runItems: (draft: unknown) => ["run-items", draft] as const,
  dataset: {
    all: dataset,
    detail: (datasetId: string) => [...dataset(datasetId), "detail"] as const,
    items: (datasetId: string, selection: ItemSelection) =>
      [...dataset(datasetId), "items", selection] as const,
    item: (datasetId: string, itemId: string, revision: number | undefined) =>
      [...dataset(datasetId), "item", itemId, revision] as const,
    revisions: (datasetId: string) => [...dataset(datasetId), "revisions"] as const,
    /** Revisions never change, so their difference is not below `all`. */
    diff: (datasetId: string, revision: number, other: number) =>
      ["dataset-diff", datasetId, revision, other] as const,
    /** What the dataset has now, for an edit that met another change at this time. */
    conflict: (itemId: string, time: number) => ["item-conflict", itemId, time] as const,
    imports: (datasetId: string) => [...dataset(datasetId), "imports"] as const,
    nearDuplicates: (datasetId: string) => [...dataset(datasetId), "near-duplicates"] as const,
    nearDuplicatePairs: (datasetId: string, acrossSplits: true | undefined) =>
      [...dataset(datasetId), "near-duplicates", acrossSplits] as const,
  },
  providers: {
    all: providers,
    list: (projectId: string) => [...providers(projectId), "list"] as const,
    models: (projectId: string, providerId: string) =>
      [...providers(projectId), "models", providerId] as const,
    spending: (projectId: string, window: SpendingWindow, groupBy: SpendingGroup) =>
      [...providers(projectId), "spending", window, groupBy] as const,
  },
  playground: {
    scenarios: (projectId: string) => ["playground", "scenarios", projectId] as const,
    scenario: (scenarioId: string) => ["playground", "scenario", scenarioId] as const,
    opened: (runId: string, spanId: string | undefined) => ["playground", "opened", runId, spanId] as const,
    preview: (body: unknown) => ["playground", "preview", body] as const,
  },
  comparisons: {
    all: comparisonLists,
    list: (projectId: string, selection: ComparisonSelection) =>
      [...comparisonLists(projectId), "list", selection] as const,
    estimate: (body: unknown, goal: unknown) => ["comparison-estimate", body, goal] as const,
    graders: (body: unknown) => ["grader-check", body] as const,
    /** What the form of a new one starts from. */
    start: (projectId: string, address: string, state: unknown) =>
      ["comparison-start", projectId, address, state] as const,
  },
  comparison: {
    all: comparison,
    detail: (comparisonId: string) => [...comparison(comparisonId), "detail"] as const,
    items: (comparisonId: string, selection: ComparisonItemSelection, offset: number) =>
      [...comparison(comparisonId), "items", selection, offset] as const,
    item: (comparisonId: string, itemId: string) => [...comparison(comparisonId), "item", itemId] as const,
    report: (comparisonId: string) => [...comparison(comparisonId), "report"] as const,
  },
  evalRuns: {
    all: evalRunLists,
    list: (projectId: string, selection: EvalRunSelection) =>
      [...evalRunLists(projectId), "list", selection] as const,
    choice: (projectId: string, datasetId: string) =>
      [...evalRunLists(projectId), "choice", datasetId] as const,
    trend: (projectId: string, datasetId: string) =>
      [...evalRunLists(projectId), "trend", datasetId] as const,
    estimate: (body: unknown, goal: unknown) => ["eval-run-estimate", body, goal] as const,
    gatePlan: (body: unknown) => ["gate-plan", body] as const,
    ranking: (selection: RankingSelection) => ["eval-run-ranking", selection] as const,
    /** What the form of a new one starts from. */
    start: (projectId: string, address: string) => ["eval-run-start", projectId, address] as const,
  },
  evalRun: {
    all: evalRun,
    detail: (evalRunId: string) => [...evalRun(evalRunId), "detail"] as const,
    items: (evalRunId: string, selection: EvalRunItemSelection, offset: number) =>
      [...evalRun(evalRunId), "items", selection, offset] as const,
    item: (evalRunId: string, itemId: string) => [...evalRun(evalRunId), "item", itemId] as const,
    changes: (evalRunId: string, metric: string) => [...evalRun(evalRunId), "changes", metric] as const,
    samples: (evalRunId: string) => [...evalRun(evalRunId), "samples"] as const,
  },
  rules: {
    all: ruleLists,
    list: (projectId: string, status: EvalRuleStatus | undefined) =>
      [...ruleLists(projectId), "list", status] as const,
    preview: (body: unknown) => ["rule-preview", body] as const,
  },
  rule: {
    all: rule,
    detail: (ruleId: string) => [...rule(ruleId), "detail"] as const,
    runs: (ruleId: string, selection: EvalRuleRunSelection, offset: number) =>
      [...rule(ruleId), "runs", selection, offset] as const,
  },
  replays: {
    all: replayLists,
    list: (projectId: string, selection: ReplaySelection) =>
      [...replayLists(projectId), "list", selection] as const,
    ofRun: (projectId: string, runId: string) => [...replayLists(projectId), "of-run", runId] as const,
    plan: (body: unknown) => ["replay-plan", body] as const,
  },
  replay: {
    all: replay,
    detail: (replayId: string) => [...replay(replayId), "detail"] as const,
    diff: (replayId: string, attempt: number) => [...replay(replayId), "diff", attempt] as const,
  },
  replayBatches: {
    all: replayBatchLists,
    list: (projectId: string, selection: ReplayBatchSelection) =>
      [...replayBatchLists(projectId), "list", selection] as const,
  },
  replayBatch: {
    all: replayBatch,
    detail: (batchId: string) => [...replayBatch(batchId), "detail"] as const,
    runs: (batchId: string, status: ReplayStatus, outcome: ReplayBatchOutcome | undefined, offset: number) =>
      [...replayBatch(batchId), "runs", status, outcome, offset] as const,
  },
  diagnoses: {
    all: diagnosisLists,
    ofGroup: (projectId: string, fingerprint: string) =>
      [...diagnosisLists(projectId), "of", fingerprint] as const,
    detail: (projectId: string, diagnosisId: string) =>
      [...diagnosisLists(projectId), "detail", diagnosisId] as const,
  },
  findings: {
    all: findingLists,
    list: (projectId: string, selection: FindingSelection) =>
      [...findingLists(projectId), "list", selection] as const,
    plan: (projectId: string, findingId: string, body: unknown) =>
      [...findingLists(projectId), "plan", findingId, body] as const,
  },
  work: {
    all: workLists,
    list: (projectId: string, selection: WorkSelection) =>
      [...workLists(projectId), "list", selection] as const,
  },
  judges: { readyMade: ["ready-made-judges"] as const },
  import: {
    detail: (importId: string) => ["import", importId, "detail"] as const,
    errors: (importId: string) => ["import", importId, "errors"] as const,
    /** `file` identifies the chosen file in this browser. */
    preview: (datasetId: string, file: string, query: ImportPreviewQuery) =>
      ["import-preview", datasetId, file, query] as const,
  },
};
