import { Combobox, Loader, TextInput, useCombobox } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import {
  IconBookmark,
  IconFolder,
  IconHash,
  IconMessages,
  IconSearch,
  IconUserCog,
} from "@tabler/icons-react";
import { useEffect, useMemo, useState } from "react";
import { useNavigate } from "react-router";
import { useMe } from "@/api/identity";
import { useFirstRuns } from "@/api/runs";
import { useThreads } from "@/api/threads";
import type { ProjectAccess } from "@/api/types";
import { useViews } from "@/api/views";
import { Dialog } from "@/components/Dialog";
import { firstWords, formatAge } from "@/components/format";
import { StatusMark, shownStatus } from "@/components/StatusMark";
import { isMatch, runIdIn } from "./goto";
import classes from "./Palette.module.css";
import { pages } from "./pages";

interface Props {
  project: ProjectAccess;
  onClose: () => void;
}

interface Item {
  /** The address that it opens. */
  to: string;
  icon: React.ReactNode;
  label: string;
  hint?: string;
}

/** At most this many results per group. */
const MAX_RESULTS = 6;

/** Opens anything by name: pages, saved views, projects, runs and threads. */
export function Palette({ project, onClose }: Props) {
  const [text, setText] = useState("");
  const [search] = useDebouncedValue(text.trim(), 200);
  const navigate = useNavigate();
  // Escape closes the options, and here also the dialog.
  const combobox = useCombobox({ opened: true, onDropdownClose: onClose });
  const base = `/p/${project.id}`;

  const projects = useMe().data?.projects ?? [];
  const views = useViews(project.id);
  const runFilter = useMemo(
    () => ({ project_id: project.id, search: search || undefined }),
    [project.id, search],
  );
  const threadFilter = useMemo(
    () => ({ project_id: project.id, session_id: search || undefined }),
    [project.id, search],
  );
  const runs = useFirstRuns(runFilter);
  const threads = useThreads(threadFilter);
  const runId = runIdIn(text);
  const now = Date.now();

  const groups: { label: string; items: Item[] }[] = [
    {
      label: "Run id",
      items: runId
        ? [{ to: `${base}/runs/${runId}`, icon: <IconHash size={15} />, label: `Open run ${runId}` }]
        : [],
    },
    {
      label: "Pages",
      items: [
        ...pages.map(({ path, ...page }) => ({ to: `${base}/${path}`, ...page })),
        { to: "/account", label: "Account", Icon: IconUserCog },
      ]
        .filter(({ label }) => isMatch(label, text.trim()))
        .map(({ to, label, Icon }) => ({ to, icon: <Icon size={15} stroke={1.6} />, label })),
    },
    {
      label: "Saved views",
      items: (views.data ?? [])
        .filter(({ name }) => isMatch(name, text.trim()))
        .slice(0, MAX_RESULTS)
        .map(({ page, query, name }) => ({
          to: `${base}/${page}?${query}`,
          icon: <IconBookmark size={15} />,
          label: name,
          hint: page,
        })),
    },
    {
      label: "Runs",
      items:
        search === "" || runId
          ? []
          : [
              ...(runs.isPlaceholderData ? [] : (runs.data?.data ?? [])).slice(0, MAX_RESULTS).map((run) => ({
                to: `${base}/runs/${run.run_id}?${new URLSearchParams({ find: search })}`,
                icon: <StatusMark status={shownStatus(run)} />,
                label: `${run.name || "unnamed"}${run.inputs ? ` — ${firstWords(run.inputs, 80)}` : ""}`,
                hint: `${formatAge(run.start_time, now)} ago`,
              })),
              {
                to: `${base}/runs?${new URLSearchParams({ search, range: "all" })}`,
                icon: <IconSearch size={15} />,
                label: `Show all runs with “${search}”`,
              },
            ],
    },
    {
      label: "Threads",
      items:
        search === "" || threads.isPlaceholderData
          ? []
          : (threads.data?.pages[0]?.data ?? []).slice(0, MAX_RESULTS).map((thread) => ({
              to: `${base}/threads/${encodeURIComponent(thread.session_id)}`,
              icon: <IconMessages size={15} />,
              label: thread.session_id,
            })),
    },
    {
      label: "Projects",
      items: projects
        .filter(({ id, name }) => id !== project.id && isMatch(name, text.trim()))
        .slice(0, MAX_RESULTS)
        .map(({ id, name, organization_name, workspace_name }) => ({
          to: `/p/${id}/runs`,
          icon: <IconFolder size={15} />,
          label: name,
          hint: `${organization_name} · ${workspace_name}`,
        })),
    },
  ].filter(({ items }) => items.length > 0);

  // Enter opens the first result.
  const results = groups.map(({ items }) => items.map(({ to }) => to).join()).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the store changes with every render
  useEffect(() => {
    combobox.selectFirstOption();
  }, [results]);

  return (
    <Dialog
      onClose={onClose}
      withCloseButton={false}
      centered={false}
      yOffset="12vh"
      size="lg"
      padding={0}
      title="Go to"
      classNames={{ header: classes.hidden }}
    >
      <Combobox
        store={combobox}
        withinPortal={false}
        onOptionSubmit={(to) => {
          onClose();
          navigate(to);
        }}
      >
        <Combobox.EventsTarget withExpandedAttribute>
          <TextInput
            classNames={{ input: classes.input }}
            variant="unstyled"
            size="md"
            aria-label="Go to"
            placeholder="Search pages, views, projects, sessions, runs or a run id"
            data-autofocus
            maxLength={500}
            leftSection={<IconSearch size={16} aria-hidden="true" />}
            rightSection={runs.isFetching && search !== "" ? <Loader size={14} /> : null}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        </Combobox.EventsTarget>
        <Combobox.Options className={classes.options} aria-label="Results">
          {groups.length === 0 ? (
            <Combobox.Empty>No results</Combobox.Empty>
          ) : (
            groups.map(({ label, items }) => (
              <Combobox.Group key={label} label={label}>
                {items.map((item) => (
                  <Combobox.Option key={item.to} value={item.to} className={classes.option}>
                    <span className={classes.icon} aria-hidden="true">
                      {item.icon}
                    </span>
                    <span className={classes.label}>{item.label}</span>
                    {item.hint && <span className={classes.hint}>{item.hint}</span>}
                  </Combobox.Option>
                ))}
              </Combobox.Group>
            ))
          )}
        </Combobox.Options>
      </Combobox>
    </Dialog>
  );
}
