import { createBrowserRouter, Navigate } from "react-router";
import { Gate } from "./Gate";
import { Home } from "./Home";
import { Loading } from "./Loading";
import { NotFound } from "./NotFound";
import { PageError } from "./PageError";
import { Root } from "./Root";
import { Shell } from "./Shell";

/** A route whose module is loaded when it is first opened: each feature is a bundle file of its own. */
function page<Name extends string>(
  path: string,
  name: Name,
  load: () => Promise<Record<Name, React.ComponentType>>,
) {
  return { path, lazy: async () => ({ Component: (await load())[name] }) };
}

export const router = createBrowserRouter([
  {
    element: <Root />,
    errorElement: <PageError />,
    HydrateFallback: Loading,
    children: [
      page("/setup", "SetupPage", () => import("@/features/setup/SetupPage")),
      page("/login", "LoginPage", () => import("@/features/login/LoginPage")),
      page("/invite", "InvitePage", () => import("@/features/invite/InvitePage")),
      page("/reset-password", "ResetPasswordPage", () => import("@/features/reset/ResetPasswordPage")),
      {
        element: <Gate />,
        children: [
          {
            element: <Shell />,
            children: [
              { path: "/", element: <Home /> },
              {
                errorElement: <PageError />,
                children: [page("/account", "AccountPage", () => import("@/features/account/AccountPage"))],
              },
              {
                path: "/p/:projectId",
                children: [
                  { index: true, element: <Navigate to="runs" replace /> },
                  {
                    errorElement: <PageError />,
                    children: [
                      page("runs", "RunsPage", () => import("@/features/runs/RunsPage")),
                      page("runs/:runId", "RunPage", () => import("@/features/run/RunPage")),
                      page("failures", "FailuresPage", () => import("@/features/failures/FailuresPage")),
                      page(
                        "failures/:fingerprint",
                        "FailurePage",
                        () => import("@/features/failures/FailurePage"),
                      ),
                      page("agents/:agent", "AgentPage", () => import("@/features/agents/AgentPage")),
                      page("threads", "ThreadsPage", () => import("@/features/threads/ThreadsPage")),
                      page("threads/:sessionId", "ThreadPage", () => import("@/features/threads/ThreadPage")),
                      page(
                        "dashboards",
                        "DashboardsPage",
                        () => import("@/features/dashboards/DashboardsPage"),
                      ),
                      page("prompts", "PromptsPage", () => import("@/features/prompts/PromptsPage")),
                      page(
                        "prompts/by-name",
                        "PromptByNamePage",
                        () => import("@/features/prompts/PromptByNamePage"),
                      ),
                      page("prompts/:promptId", "PromptPage", () => import("@/features/prompts/PromptPage")),
                      page("datasets", "DatasetsPage", () => import("@/features/datasets/DatasetsPage")),
                      page(
                        "datasets/:datasetId",
                        "DatasetPage",
                        () => import("@/features/datasets/DatasetPage"),
                      ),
                      page(
                        "datasets/:datasetId/import",
                        "ImportPage",
                        () => import("@/features/datasets/ImportPage"),
                      ),
                      page(
                        "datasets/:datasetId/imports/:importId",
                        "ImportJobPage",
                        () => import("@/features/datasets/ImportJobPage"),
                      ),
                      page(
                        "comparisons",
                        "ComparisonsPage",
                        () => import("@/features/comparisons/ComparisonsPage"),
                      ),
                      page(
                        "comparisons/new",
                        "NewComparisonPage",
                        () => import("@/features/comparisons/NewComparisonPage"),
                      ),
                      page(
                        "comparisons/:comparisonId",
                        "ComparisonPage",
                        () => import("@/features/comparisons/ComparisonPage"),
                      ),
                      page("eval-runs", "EvalRunsPage", () => import("@/features/evalruns/EvalRunsPage")),
                      page(
                        "eval-runs/compare",
                        "RankingPage",
                        () => import("@/features/evalruns/RankingPage"),
                      ),
                      page(
                        "eval-runs/new",
                        "NewEvalRunPage",
                        () => import("@/features/evalruns/NewEvalRunPage"),
                      ),
                      page(
                        "eval-runs/:evalRunId",
                        "EvalRunPage",
                        () => import("@/features/evalruns/EvalRunPage"),
                      ),
                      page("rules", "RulesPage", () => import("@/features/rules/RulesPage")),
                      page("rules/new", "NewRulePage", () => import("@/features/rules/NewRulePage")),
                      page("rules/:ruleId", "RulePage", () => import("@/features/rules/RulePage")),
                      page(
                        "rules/:ruleId/edit",
                        "EditRulePage",
                        () => import("@/features/rules/EditRulePage"),
                      ),
                      page("replays", "ReplaysPage", () => import("@/features/replays/ReplaysPage")),
                      page("replays/new", "NewReplayPage", () => import("@/features/replays/NewReplayPage")),
                      page("replays/:replayId", "ReplayPage", () => import("@/features/replays/ReplayPage")),
                      page(
                        "replay-batches/new",
                        "NewBatchPage",
                        () => import("@/features/replays/NewBatchPage"),
                      ),
                      page(
                        "replay-batches/:batchId",
                        "BatchPage",
                        () => import("@/features/replays/BatchPage"),
                      ),
                      page(
                        "diagnoses/:diagnosisId",
                        "DiagnosisPage",
                        () => import("@/features/diagnoses/DiagnosisPage"),
                      ),
                      page("work", "WorkPage", () => import("@/features/work/WorkPage")),
                      page("diff/:runId/:otherRunId", "DiffPage", () => import("@/features/diff/DiffPage")),
                      page("connect", "ConnectPage", () => import("@/features/connect/ConnectPage")),
                      { path: "start", element: <Navigate to="../connect" replace /> },
                      page("settings", "SettingsPage", () => import("@/features/settings/SettingsPage")),
                      page("settings/members", "MembersPage", () => import("@/features/members/MembersPage")),
                      page("settings/keys", "KeysPage", () => import("@/features/keys/KeysPage")),
                      { path: "keys", element: <Navigate to="../settings/keys" replace /> },
                      page("settings/limits", "LimitsPage", () => import("@/features/settings/LimitsPage")),
                      page("settings/prices", "PricesPage", () => import("@/features/settings/PricesPage")),
                      page(
                        "settings/providers",
                        "ProvidersPage",
                        () => import("@/features/providers/ProvidersPage"),
                      ),
                      page(
                        "settings/spending",
                        "SpendingPage",
                        () => import("@/features/providers/SpendingPage"),
                      ),
                      page(
                        "playground",
                        "PlaygroundPage",
                        () => import("@/features/playground/PlaygroundPage"),
                      ),
                      { path: "*", element: <NotFound /> },
                    ],
                  },
                ],
              },
            ],
          },
          { path: "*", element: <NotFound /> },
        ],
      },
    ],
  },
]);
