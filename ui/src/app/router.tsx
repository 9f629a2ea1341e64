import { createBrowserRouter, Navigate } from "react-router";
import { Gate } from "./Gate";
import { Home } from "./Home";
import { NotFound } from "./NotFound";
import { PageError } from "./PageError";
import { Shell } from "./Shell";

/** Every page and its address; each feature is a file of its own in the bundle. */
export const router = createBrowserRouter([
  {
    errorElement: <PageError />,
    HydrateFallback: () => null,
    children: [
      {
        path: "/setup",
        lazy: async () => ({ Component: (await import("@/features/setup/SetupPage")).SetupPage }),
      },
      {
        path: "/login",
        lazy: async () => ({ Component: (await import("@/features/login/LoginPage")).LoginPage }),
      },
      {
        element: <Gate />,
        children: [
          { path: "/", element: <Home /> },
          {
            path: "/p/:projectId",
            element: <Shell />,
            children: [
              { index: true, element: <Navigate to="runs" replace /> },
              {
                errorElement: <PageError />,
                children: [
                  {
                    path: "runs",
                    lazy: async () => ({ Component: (await import("@/features/runs/RunsPage")).RunsPage }),
                  },
                  {
                    path: "runs/:runId",
                    lazy: async () => ({ Component: (await import("@/features/run/RunPage")).RunPage }),
                  },
                  {
                    path: "failures",
                    lazy: async () => ({
                      Component: (await import("@/features/failures/FailuresPage")).FailuresPage,
                    }),
                  },
                  {
                    path: "failures/:fingerprint",
                    lazy: async () => ({
                      Component: (await import("@/features/failures/FailurePage")).FailurePage,
                    }),
                  },
                  {
                    path: "threads",
                    lazy: async () => ({
                      Component: (await import("@/features/threads/ThreadsPage")).ThreadsPage,
                    }),
                  },
                  {
                    path: "threads/:sessionId",
                    lazy: async () => ({
                      Component: (await import("@/features/threads/ThreadPage")).ThreadPage,
                    }),
                  },
                  {
                    path: "dashboards",
                    lazy: async () => ({
                      Component: (await import("@/features/dashboards/DashboardsPage")).DashboardsPage,
                    }),
                  },
                  {
                    path: "diff/:runId/:otherRunId",
                    lazy: async () => ({ Component: (await import("@/features/diff/DiffPage")).DiffPage }),
                  },
                  {
                    path: "keys",
                    lazy: async () => ({ Component: (await import("@/features/keys/KeysPage")).KeysPage }),
                  },
                  {
                    path: "start",
                    lazy: async () => ({ Component: (await import("@/features/start/StartPage")).StartPage }),
                  },
                  {
                    path: "connect",
                    lazy: async () => ({
                      Component: (await import("@/features/connect/ConnectPage")).ConnectPage,
                    }),
                  },
                  {
                    path: "settings",
                    lazy: async () => ({
                      Component: (await import("@/features/settings/SettingsPage")).SettingsPage,
                    }),
                  },
                  {
                    path: "settings/prices",
                    lazy: async () => ({
                      Component: (await import("@/features/settings/PricesPage")).PricesPage,
                    }),
                  },
                  { path: "*", element: <NotFound /> },
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
