import {
  type Icon,
  IconAlertTriangle,
  IconChartHistogram,
  IconCloud,
  IconCoin,
  IconDatabase,
  IconFileText,
  IconFilterCheck,
  IconFlask,
  IconGauge,
  IconKey,
  IconListDetails,
  IconMessages,
  IconPlayerTrackNext,
  IconPlugConnected,
  IconProgress,
  IconScale,
  IconSettings,
  IconTestPipe,
  IconUsers,
  IconWallet,
} from "@tabler/icons-react";

/** Keys and what they do. Two spaces separate keys. */
export type Shortcuts = readonly (readonly [keys: string, action: string])[];

interface Page {
  /** The address below the project's. */
  path: string;
  label: string;
  Icon: Icon;
  shortcuts?: Shortcuts;
  /** Another address whose pages belong to it. */
  other?: string;
  /** Whether it has the filters of runs. Its link takes over those of another such page. */
  isFiltered?: boolean;
}

interface PageGroup {
  label: string;
  pages: readonly Page[];
}

const search = ["/", "search"] as const;
const onlyFailed = ["e", "show only failed runs, or all"] as const;
const nextRow = ["j  k", "next, previous row"] as const;

/** The pages of a project. Navigation, palette and shortcut help are made from this table. */
export const pageGroups: readonly PageGroup[] = [
  {
    label: "Observe",
    pages: [
      {
        path: "runs",
        label: "Runs",
        Icon: IconListDetails,
        isFiltered: true,
        shortcuts: [
          search,
          nextRow,
          ["Enter", "open the run"],
          ["Space", "open or close the preview"],
          ["x", "select the run"],
          onlyFailed,
          ["r", "show new runs"],
        ],
      },
      {
        path: "failures",
        label: "Failures",
        Icon: IconAlertTriangle,
        isFiltered: true,
        other: "diagnoses",
        shortcuts: [search, nextRow, ["r", "resolve the row"], ["m", "resolve or mute the row"]],
      },
      {
        path: "threads",
        label: "Threads",
        Icon: IconMessages,
        isFiltered: true,
        shortcuts: [search, nextRow, onlyFailed],
      },
      {
        path: "dashboards",
        label: "Dashboards",
        Icon: IconChartHistogram,
        isFiltered: true,
        shortcuts: [search, onlyFailed],
      },
    ],
  },
  {
    label: "Develop",
    pages: [
      {
        path: "datasets",
        label: "Datasets",
        Icon: IconDatabase,
        shortcuts: [
          search,
          nextRow,
          ["Enter", "open the dataset, the item"],
          ["⌘S  Ctrl S", "save the item"],
        ],
      },
      {
        path: "prompts",
        label: "Prompts",
        Icon: IconFileText,
        shortcuts: [search, nextRow, ["Enter", "open the prompt"], ["⌘S  Ctrl S", "save a version"]],
      },
      {
        path: "playground",
        label: "Playground",
        Icon: IconFlask,
        shortcuts: [
          ["⌘Enter  Ctrl Enter", "run all columns"],
          ["Esc", "stop all columns"],
        ],
      },
      {
        path: "comparisons",
        label: "Comparisons",
        Icon: IconScale,
        shortcuts: [
          nextRow,
          ["Enter", "open the comparison"],
          ["j  k  →  ←", "next, previous item of a comparison"],
          ["a  b", "open the run of A, of B"],
        ],
      },
      {
        path: "eval-runs",
        label: "Eval-runs",
        Icon: IconTestPipe,
        shortcuts: [nextRow, ["Enter", "open the eval-run"], ["j  k", "next, previous item of an eval-run"]],
      },
      {
        path: "rules",
        label: "Rules",
        Icon: IconFilterCheck,
        shortcuts: [nextRow, ["Enter", "open the rule"], ["j  k", "next, previous run of a rule"]],
      },
      {
        path: "replays",
        label: "Replays",
        Icon: IconPlayerTrackNext,
        other: "replay-batches",
        shortcuts: [
          nextRow,
          ["Enter", "open the replay"],
          ["n  p", "next, previous difference of an attempt"],
        ],
      },
      { path: "work", label: "Work", Icon: IconProgress, shortcuts: [nextRow, ["Enter", "open the work"]] },
    ],
  },
  {
    label: "Connect",
    pages: [{ path: "connect", label: "Connect", Icon: IconPlugConnected }],
  },
  {
    label: "Settings",
    pages: [
      { path: "settings", label: "Settings", Icon: IconSettings },
      { path: "settings/members", label: "Members", Icon: IconUsers, shortcuts: [nextRow] },
      { path: "settings/keys", label: "Keys", Icon: IconKey, shortcuts: [nextRow] },
      { path: "settings/limits", label: "Limits", Icon: IconGauge },
      { path: "settings/providers", label: "Providers", Icon: IconCloud, shortcuts: [nextRow] },
      { path: "settings/spending", label: "Spending", Icon: IconWallet },
      { path: "settings/prices", label: "Prices", Icon: IconCoin, shortcuts: [search, nextRow] },
    ],
  },
];

/** All pages, in the order of the navigation. */
export const pages = pageGroups.flatMap((group) => group.pages);

/** The page that an address belongs to: /p/:projectId/settings/keys belongs to Keys, not to Settings. */
export function pageOf(pathname: string): Page | undefined {
  const path = pathname.split("/").slice(3).join("/");
  const isAt = (address: string) => path === address || path.startsWith(`${address}/`);
  return pages.findLast(({ path: own, other }) => isAt(own) || (other !== undefined && isAt(other)));
}
