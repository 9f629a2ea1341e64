import type { components, operations } from "./schema.gen";

type Schemas = components["schemas"];

export type Me = Schemas["Me"];
export type ProjectAccess = Schemas["ProjectAccess"];
export type OrganizationAccess = Schemas["OrganizationAccess"];
export type Role = Schemas["Role"];
export type Member = Schemas["Member"];
export type Invitation = Schemas["Invitation"];
export type InvitationWithLink = Schemas["InvitationWithLink"];
export type InvitationPreview = Schemas["InvitationPreview"];
export type PasswordReset = Schemas["PasswordReset"];
export type Session = Schemas["Session"];
export type Contents = Schemas["Contents"];
export type ProjectLimits = Schemas["ProjectLimits"];
export type ProjectFailedScores = Schemas["ProjectFailedScores"];
export type ProjectSignals = Schemas["ProjectSignals"];
export type Signal = Schemas["Signal"];
export type FailureGroupFilter = Schemas["FailureGroupFilter"];
export type FailedScoreRule = Schemas["FailedScoreRule"];
export type FailedScore = Schemas["FailedScore"];
export type Price = Schemas["Price"];
export type PriceWrite = Schemas["PriceWrite"];
export type Key = Schemas["Key"];
export type KeyWithSecret = Schemas["KeyWithSecret"];
export type KeyCreate = Schemas["KeyCreate"];
export type Scope = Schemas["Scope"];
export type Status = Schemas["Status"];
export type Outcome = Schemas["Outcome"];
export type Traces = Schemas["Traces"];
export type RunSource = Schemas["RunSource"];
export type RunSourceFilter = Schemas["RunSourceFilter"];
export type Replayability = Schemas["Replayability"];
export type AgentComparison = Schemas["AgentComparison"];
export type AgentFigure = Pick<Schemas["AgentFigure"], "value" | "ci" | "count">;
export type AgentInstructions = Schemas["AgentInstructions"];
export type AgentRelease = Schemas["AgentRelease"];
export type AgentReleases = Schemas["AgentReleases"];
export type RunAgent = Schemas["RunAgent"];
export type Run = Schemas["Run"];
export type PromptRef = Schemas["PromptRef"];
export type RunPage = Schemas["RunPage"];
export type Outline = Schemas["Outline"];
export type Span = Schemas["Span"];
export type SpanPage = Schemas["SpanPage"];
export type SpanError = Schemas["SpanError"];
export type Message = Schemas["Message"];
export type MessagePart = Schemas["MessagePart"];
export type RunDiff = Schemas["RunDiff"];
export type RunDiffStep = Schemas["RunDiffStep"];
export type RunDiffSpan = Schemas["RunDiffSpan"];
export type RunDiffChange = Schemas["RunDiffChange"];
export type RunDiffTotal = Schemas["RunDiffTotal"];
export type Score = Schemas["Score"];
export type ScoreSummary = Schemas["ScoreSummary"];
export type ScoreWrite = Schemas["ScoreWrite"];
export type RunDeletion = Schemas["RunDeletion"];
export type RunQuery = operations["listRuns"]["parameters"]["query"];
export type View = Schemas["View"];
export type ViewPage = Schemas["ViewPage"];
export type ViewCreate = Schemas["ViewCreate"];
export type ViewUpdate = Schemas["ViewUpdate"];
export type RunGroupBy = Schemas["RunGroupBy"];
export type RunStats = Schemas["RunStats"];
export type RunTotals = Schemas["RunTotals"];
export type Thread = Schemas["Thread"];
export type FailedRunGroup = Schemas["FailedRunGroup"];
export type FailedRun = Schemas["FailedRun"];
export type Candidate = Schemas["Candidate"];
export type FailureCandidates = Schemas["FailureCandidates"];
export type FailureState = Schemas["FailureState"];
export type FailureDecision = Schemas["FailureDecision"];
export type FailureStateCounts = Schemas["FailureStateCounts"];
export type FailureStateFilter = Schemas["FailureStateFilter"];
export type FailureParts = Schemas["FailureParts"];
export type FailureWeights = Schemas["FailureWeights"];
export type Prompt = Schemas["Prompt"];
export type PromptCreate = Schemas["PromptCreate"];
export type PromptUpdate = Schemas["PromptUpdate"];
export type PromptMessage = Schemas["PromptMessage"];
export type PromptModelConfig = Schemas["PromptModelConfig"];
export type PromptVersion = Schemas["PromptVersion"];
export type PromptVersionCreate = Schemas["PromptVersionCreate"];
export type PromptDraft = Schemas["PromptDraft"];
export type PromptChange = Schemas["PromptChange"];
export type PromptAlias = Schemas["PromptAlias"];
export type PromptAliasChange = Schemas["PromptAliasChange"];
export type PromptUsage = Schemas["PromptUsage"];
export type PromptVersionUsage = Schemas["PromptVersionUsage"];
export type PromptImport = Schemas["PromptImport"];
export type PromptImportFormat = Schemas["PromptImportFormat"];
export type PromptImportReport = Schemas["PromptImportReport"];
export type Author = Schemas["Author"];
export type User = Schemas["User"];
export type Dataset = Schemas["Dataset"];
export type DatasetCreate = Schemas["DatasetCreate"];
export type DatasetUpdate = Schemas["DatasetUpdate"];
export type DatasetSchema = Schemas["DatasetSchema"];
export type DatasetItem = Schemas["DatasetItem"];
export type DatasetItemPage = Schemas["DatasetItemPage"];
export type DatasetItemWrite = Schemas["DatasetItemWrite"];
export type DatasetItemsWrite = Schemas["DatasetItemsWrite"];
export type ImportErrorPage = Schemas["ImportErrorPage"];
export type DatasetItemUpdate = Schemas["DatasetItemUpdate"];
export type DatasetItemChange = Schemas["DatasetItemChange"];
export type DatasetRevisionEntry = Schemas["DatasetRevisionEntry"];
export type DatasetDiff = Schemas["DatasetDiff"];
export type NearDuplicateCheck = Schemas["NearDuplicateCheck"];
export type NearDuplicateItem = Schemas["NearDuplicateItem"];
export type NearDuplicatePair = Schemas["NearDuplicatePair"];
export type Import = Schemas["Import"];
export type ImportStatus = Schemas["ImportStatus"];
export type ImportMapping = Schemas["ImportMapping"];
export type ImportTarget = Schemas["ImportTarget"];
export type ImportShape = Schemas["ImportShape"];
export type ImportPreview = Schemas["ImportPreview"];
export type ImportPreviewRow = Schemas["ImportPreviewRow"];
export type ImportColumn = Schemas["ImportColumn"];
export type ColumnType = Schemas["ColumnType"];
export type FileFormat = Schemas["FileFormat"];
export type FileEncoding = Schemas["FileEncoding"];
export type ExportQuery = NonNullable<operations["exportDataset"]["parameters"]["query"]>;
export type ImportQuery = NonNullable<operations["createImport"]["parameters"]["query"]>;
export type ImportPreviewQuery = NonNullable<operations["previewImport"]["parameters"]["query"]>;

export type Provider = Schemas["Provider"];
export type ProviderKind = Schemas["ProviderKind"];
export type ProviderCreate = Schemas["ProviderCreate"];
export type ProviderUpdate = Schemas["ProviderUpdate"];
export type ProviderModel = Schemas["ProviderModel"];
export type ProviderTestResult = Schemas["ProviderTestResult"];
export type OutputStrategy = Schemas["OutputStrategy"];
export type Spending = Schemas["Spending"];
export type SpendingGroup = Schemas["SpendingGroup"];
export type SpendingTotals = Schemas["SpendingTotals"];
export type SpendingRow = Schemas["SpendingRow"];
export type CompletionCreate = Schemas["CompletionCreate"];
export type CompletionDelta = Schemas["CompletionDelta"];
export type CompletionToolResult = Schemas["CompletionToolResult"];
export type Completion = Schemas["Completion"];
export type ToolAnswer = Schemas["ToolAnswer"];
export type PlaygroundOpened = Schemas["PlaygroundOpened"];
export type NotRestored = Schemas["NotRestored"];
export type Scenario = Schemas["Scenario"];
export type ScenarioSummary = Schemas["ScenarioSummary"];
export type ScenarioContent = Schemas["ScenarioContent"];

/** A range of time. A missing end is now, a missing start the beginning of the month (UTC). */
export interface SpendingWindow {
  start?: string;
  end?: string;
}

/** Which prompts to list: those in a folder, or those of the whole project that match. */
export type PromptSelection = { folder: string } | { search?: string; tag?: string };

export type Comparison = Schemas["Comparison"];
export type ComparisonConfig = Schemas["ComparisonConfig"];
export type ComparisonCreate = Schemas["ComparisonCreate"];
export type ComparisonItem = Schemas["ComparisonItem"];
export type ComparisonItemPage = Schemas["ComparisonItemPage"];
export type ComparisonMetric = Schemas["ComparisonMetric"];
export type ComparisonSide = Schemas["ComparisonSide"];
export type EvaluationAccounting = Schemas["EvaluationAccounting"];
export type EvaluationCost = Schemas["EvaluationCost"];
export type EvaluationDifference = Schemas["EvaluationDifference"];
export type EvaluationEstimate = Schemas["EvaluationEstimate"];
export type EvaluationItemStatus = Schemas["EvaluationItemStatus"];
export type EvaluationModel = Schemas["EvaluationModel"];
export type EvaluationOutcome = Schemas["EvaluationOutcome"];
export type EvaluationOutput = Schemas["EvaluationOutput"];
export type EvaluationResume = Schemas["EvaluationResume"];
export type EvaluationScore = Schemas["EvaluationScore"];
export type EvaluationStatus = Schemas["EvaluationStatus"];
export type EvaluationVerdict = Schemas["EvaluationVerdict"];
export type EvalRun = Schemas["EvalRun"];
export type EvalRunItem = Schemas["EvalRunItem"];
export type EvalRunItemPage = Schemas["EvalRunItemPage"];
export type EvalRunChange = Schemas["EvalRunChange"];
export type EvalRunMetric = Schemas["EvalRunMetric"];
export type PanelCategory = Schemas["PanelCategory"];
export type EvalRunCreate = Schemas["EvalRunCreate"];
export type EvalRunTargetRead = Schemas["EvalRunTargetRead"];
export type EvalRunRanking = Schemas["EvalRunRanking"];
export type RankedDifference = Schemas["RankedDifference"];

/** Which eval-runs are compared, and by what. */
export interface RankingSelection {
  eval_run_id: string[];
  metric?: string;
  group_by?: string;
}
export type EvalRule = Schemas["EvalRule"];
export type EvalRuleCounts = Schemas["EvalRuleCounts"];
export type EvalRuleCreate = Schemas["EvalRuleCreate"];
export type EvalRuleDay = Schemas["EvalRuleDay"];
export type EvalRulePreview = Schemas["EvalRulePreview"];
export type EvalRuleRun = Schemas["EvalRuleRun"];
export type EvalRuleRunStatus = Schemas["EvalRuleRunStatus"];
export type EvalRuleScore = Schemas["EvalRuleScore"];
export type EvalRuleStatus = Schemas["EvalRuleStatus"];
export type EvalRuleStop = Schemas["EvalRuleStop"];
export type EvalRuleUpdate = Schemas["EvalRuleUpdate"];
export type GateCheck = Schemas["GateCheck"];
export type GateDecision = Schemas["GateDecision"];
export type Grader = Schemas["Grader"];
export type GradeRequest = Schemas["GradeRequest"];
export type GradeResult = Schemas["GradeResult"];

export type Judge = Schemas["Judge"];
export type JudgeRead = Schemas["JudgeRead"];
export type JudgeSample = Schemas["JudgeSample"];
export type JudgeScale = Schemas["JudgeScale"];
export type JudgeTest = Schemas["JudgeTest"];
export type JudgeTestResult = Schemas["JudgeTestResult"];
export type Label = Schemas["Label"];
export type LabelWrite = Schemas["LabelWrite"];
export type Panel = Schemas["Panel"];
export type PanelRead = Schemas["PanelRead"];
export type PanelSummary = Schemas["PanelSummary"];
export type PanelJudge = Schemas["PanelJudge"];
export type ReadyMadeJudge = Schemas["ReadyMadeJudge"];
export type Reliability = Schemas["Reliability"];
export type ReliabilityFigure = Schemas["ReliabilityFigure"];
export type Vote = Schemas["Vote"];
export type VoteCounts = Schemas["VoteCounts"];
export type VoteStatus = Schemas["VoteStatus"];

export type Replay = Schemas["Replay"];
export type ReplayAction = Schemas["ReplayAction"];
export type ReplayAttempt = Schemas["ReplayAttempt"];
export type ReplayBatch = Schemas["ReplayBatch"];
export type Diagnosis = Schemas["Diagnosis"];
export type DiagnosisClaim = Schemas["DiagnosisClaim"];
export type DiagnosisCreate = Schemas["DiagnosisCreate"];
export type DiagnosisDropped = Schemas["DiagnosisDropped"];
export type ReplayBatchCreate = Schemas["ReplayBatchCreate"];
export type ReplayBatchOutcome = Schemas["ReplayBatchOutcome"];
export type ReplayBatchPart = Schemas["ReplayBatchPart"];
export type ReplayBatchPartResult = Schemas["ReplayBatchPartResult"];
export type ReplayBatchPlan = Schemas["ReplayBatchPlan"];
export type ReplayBatchResult = Schemas["ReplayBatchResult"];
export type ReplayBatchRun = Schemas["ReplayBatchRun"];
export type ReplayChannel = Schemas["ReplayChannel"];
export type ReplayChannelName = keyof Schemas["ReplayChannels"];
export type ReplayCreate = Schemas["ReplayCreate"];
export type ReplayEdit = Schemas["ReplayEdit"];
export type ReplayEditSummary = Schemas["ReplayEditSummary"];
export type ReplayExtend = Schemas["ReplayExtend"];
export type ReplayMissing = Schemas["ReplayMissing"];
export type ReplayPlan = Schemas["ReplayPlan"];
export type ReplayPlanStep = Schemas["ReplayPlanStep"];
export type ReplaySet = Schemas["ReplaySet"];
export type ReplayStatus = Schemas["ReplayStatus"];
export type ReplayStepSource = Schemas["ReplayStepSource"];
export type ReplaySummary = Schemas["ReplaySummary"];
export type ReplayTarget = Schemas["ReplayTarget"];
export type ReplayTool = Schemas["ReplayTool"];
export type ReplayVerdict = Schemas["ReplayVerdict"];
export type ReplayVerdictKind = Schemas["ReplayVerdictKind"];
export type RunReplayability = Schemas["RunReplayability"];

export type Finding = Schemas["Finding"];
export type CandidateKind = Schemas["CandidateKind"];
export type FindingCreate = Schemas["FindingCreate"];
export type FindingGate = Schemas["FindingGate"];
export type FindingPromote = Schemas["FindingPromote"];
export type FindingStatus = Schemas["FindingStatus"];
export type FindingUpdate = Schemas["FindingUpdate"];

/** Which findings to list. */
export interface FindingSelection {
  fingerprint?: string[];
  run_id?: string;
  batch_id?: string;
}

export type Work = Schemas["Work"];
export type WorkKind = Schemas["WorkKind"];

/** Which work to list. */
export interface WorkSelection {
  state?: "open" | "ended";
  kind?: WorkKind;
}

/** Which replays to list. */
export interface ReplaySelection {
  run_id?: string;
  status?: ReplayStatus;
}

/** Which batches of replays to list. */
export interface ReplayBatchSelection {
  status?: ReplayStatus;
}

/** Which comparisons to list. */
export interface ComparisonSelection {
  dataset_id?: string;
  status?: EvaluationStatus;
}

/** Which eval-runs to list. */
export interface EvalRunSelection {
  dataset_id?: string;
  status?: EvaluationStatus;
  /** The exact name. */
  name?: string;
  /** The exact branch. */
  branch?: string;
}

/** Which items of an eval-run to list. `split` is a panel: only items on which its judges split. `order` "random" is that of labels. */
export interface EvalRunItemSelection {
  status?: EvaluationItemStatus;
  split?: string;
  order?: "dataset" | "random";
}

/** Which runs of a rule to list. `day` is that on which they were taken, in UTC: "2026-11-26". */
export interface EvalRuleRunSelection {
  status?: EvalRuleRunStatus;
  day?: string;
}

/** Which items of a comparison to list. `outcome` is of `metric`, or of the primary one. */
export interface ComparisonItemSelection {
  order?: "run" | "random";
  status?: EvaluationItemStatus;
  outcome?: EvaluationOutcome;
  metric?: string;
}

export type RunsToDataset = Schemas["RunsToDataset"];
export type RunsAdded = Schemas["RunsAdded"];
export type RunSkipped = Schemas["RunSkipped"];
export type RunItemMap = Schemas["RunItemMap"];
export type RunItemPreview = Schemas["RunItemPreview"];
export type SpanChoice = Schemas["SpanChoice"];

/** Which items of a dataset to list. Without a revision, those of the newest. */
export interface ItemSelection {
  revision?: number;
  split?: string;
  tag?: string;
  search?: string;
  source_run_id?: string;
}

/** A range of time. A missing end is now. */
export interface TimeWindow {
  start_after?: string;
  start_before?: string;
}

/** An organization, or one of its workspaces. */
export type Place = { organization_id: string } | { workspace_id: string };

/** The list's query parameters without paging. */
export type RunFilter = Omit<RunQuery, "limit" | "offset" | "cursor">;

/** A run filter whose time range is a window that ends now. */
export type FailureFilter = Omit<RunFilter, "start_after" | "start_before" | "fingerprint">;

/** Which groups of failures to list. */
export type FailureSelection = FailureFilter & { state: FailureStateFilter };

export type AgentView = Schemas["AgentView"];
export type Suspect = Schemas["AgentViewSuspect"];
export type AgentViewFormat = "text" | "json";

export interface AgentViewOptions {
  budget: number;
  format: AgentViewFormat;
  /** The id of the span to focus on. */
  focus?: string;
}
export type InstrumentRecipe = Schemas["InstrumentRecipe"];
export type EnvironmentVariable = Schemas["EnvironmentVariable"];
