import { Badge, Button, Checkbox, Group, Skeleton, Text, VisuallyHidden } from "@mantine/core";
import { IconArrowLeft, IconArrowsExchange, IconScale } from "@tabler/icons-react";
import { Link } from "react-router";
import { usePromptDiff, usePromptVersions } from "@/api/prompts";
import type { Prompt } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import { Changes } from "@/components/Changes";
import { newComparisonPath } from "@/components/comparisonStart";
import { DataTable } from "@/components/DataTable";
import { LoadMore } from "@/components/LoadMore";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useAddress } from "@/components/useAddress";
import { useNow } from "@/components/useNow";
import { allows, useProject } from "@/components/useProject";
import { readComparison } from "./comparison";
import classes from "./PromptPage.module.css";

/** The versions of a prompt, and the comparison of two. */
export function VersionsTab({ prompt }: { prompt: Prompt }) {
  const { params, set } = useAddress();
  const chosen = readComparison(params.get("compare"));
  const compare = (versions: number[]) => set({ compare: versions.join("...") }, versions.length < 2);
  const [first, second] = chosen;
  if (first !== undefined && second !== undefined) {
    return <Comparison prompt={prompt} versions={[first, second]} onChange={compare} />;
  }
  return <List prompt={prompt} chosen={first} onCompare={compare} />;
}

interface ListProps {
  prompt: Prompt;
  /** The version that the next one is compared with. */
  chosen: number | undefined;
  onCompare: (versions: number[]) => void;
}

function List({ prompt, chosen, onCompare }: ListProps) {
  const query = usePromptVersions(prompt.id);
  const now = useNow(30_000);
  const choose = (version: number) => {
    if (version === chosen) onCompare([]);
    else onCompare(chosen === undefined ? [version] : [chosen, version].sort((a, b) => a - b));
  };
  return (
    <QueryState query={query} skeleton={<SkeletonRows count={6} height={32} />} page>
      {({ pages }) => {
        const versions = pages.flatMap((page) => page.data);
        if (versions.length === 0) {
          return (
            <PageMessage title="No versions yet.">
              <PageHint>Each save creates a version, which never changes.</PageHint>
            </PageMessage>
          );
        }
        return (
          <>
            <p className={classes.intro} role="status">
              {chosen === undefined
                ? "Choose two versions to compare them."
                : `Choose the version to compare with v${chosen}.`}
            </p>
            <DataTable
              label="Versions"
              stacks
              rows={versions}
              rowKey={({ version }) => String(version)}
              rowProps={({ version }) => ({ "data-testid": "version-row", "data-version": String(version) })}
              columns={[
                {
                  header: "Version",
                  cell: ({ version }) => (
                    <Group gap={10} wrap="nowrap">
                      <Checkbox
                        size="xs"
                        aria-label={`Compare v${version}`}
                        checked={version === chosen}
                        onChange={() => choose(version)}
                        disabled={versions.length < 2}
                      />
                      <Link to={`?version=${version}`} data-row-focus>
                        v{version}
                      </Link>
                    </Group>
                  ),
                },
                { header: "Note", ownLine: true, cell: ({ note }) => note },
                {
                  header: "Aliases",
                  ownLine: true,
                  cell: ({ aliases, version }) => (
                    <Group gap={4}>
                      {version === prompt.latest_version && (
                        <Badge size="sm" variant="light" color="gray" c="var(--lt-text)" tt="none">
                          latest
                        </Badge>
                      )}
                      {aliases.map((alias) => (
                        <Badge key={alias} size="sm" variant="default" tt="none">
                          {alias}
                        </Badge>
                      ))}
                    </Group>
                  ),
                },
                { header: "Saved by", cell: ({ created_by: author }) => authorName(author) },
                {
                  header: "Saved",
                  number: true,
                  cell: ({ created_at }) => <Ago time={created_at} now={now} />,
                },
                {
                  header: "Compare",
                  hideHeader: true,
                  cell: ({ version }) =>
                    version > 1 &&
                    chosen === undefined && (
                      <Button
                        size="compact-xs"
                        variant="subtle"
                        onClick={() => onCompare([version - 1, version])}
                      >
                        Changes<VisuallyHidden> in v{version}</VisuallyHidden>
                      </Button>
                    ),
                },
              ]}
            />
            <LoadMore query={query} what="versions" />
          </>
        );
      }}
    </QueryState>
  );
}

interface ComparisonProps {
  prompt: Prompt;
  versions: [number, number];
  onChange: (versions: number[]) => void;
}

function Comparison({ prompt, versions: [first, second], onChange }: ComparisonProps) {
  const query = usePromptDiff(prompt.id, first, second);
  const mayCompare = allows(useProject(), "evals:write");
  return (
    <div className={classes.body}>
      <Group gap="xs" mb="sm">
        <Button variant="default" leftSection={<IconArrowLeft size={14} />} onClick={() => onChange([])}>
          All versions
        </Button>
        <Button
          variant="default"
          leftSection={<IconArrowsExchange size={14} />}
          onClick={() => onChange([second, first])}
        >
          Swap sides
        </Button>
        {mayCompare && (
          <Button
            component={Link}
            to={newComparisonPath(prompt.project_id, {
              a: { id: prompt.id, version: first },
              b: { id: prompt.id, version: second },
            })}
            variant="default"
            leftSection={<IconScale size={14} />}
          >
            Compare on a dataset
          </Button>
        )}
        <Text size="sm" ml="auto">
          <Link to={`?version=${first}`}>Open v{first}</Link> ·{" "}
          <Link to={`?version=${second}`}>Open v{second}</Link>
        </Text>
      </Group>
      <QueryState query={query} skeleton={<Skeleton h={240} />}>
        {(diff) => <Changes changes={diff.changes} before={`v${first}`} after={`v${second}`} />}
      </QueryState>
    </div>
  );
}
