import { Alert, Badge, Button, Group, Progress, SegmentedControl, Stack, Text } from "@mantine/core";
import { IconArrowsSplit2, IconTrash } from "@tabler/icons-react";
import { useEffect, useMemo, useState } from "react";
import { Link } from "react-router";
import { isFinished } from "@/api/imports";
import { useCancelNearDuplicateCheck, useCheckNearDuplicates, useNearDuplicates } from "@/api/nearDuplicates";
import type { Dataset, NearDuplicateCheck, NearDuplicateItem, NearDuplicatePair } from "@/api/types";
import { Ago } from "@/components/Ago";
import { LayoutChoice, WordDiff } from "@/components/Changes";
import { formatCount } from "@/components/format";
import { LoadMore } from "@/components/LoadMore";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useAddress } from "@/components/useAddress";
import { useNow } from "@/components/useNow";
import classes from "./Datasets.module.css";
import pairClasses from "./NearDuplicates.module.css";
import { checkLimits, checkProgress, formatPairs, formatSimilarity, inputOf } from "./nearDuplicates";
import { RemoveItemDialog } from "./RemoveItemDialog";
import { formatItems } from "./revisions";

interface Props {
  dataset: Dataset;
  mayWrite: boolean;
}

/** Items with nearly the same input: the check of a revision, and the pairs that it found. */
export function NearDuplicatesTab({ dataset, mayWrite }: Props) {
  const { params, set } = useAddress();
  const acrossSplits = params.get("across_splits") === "true" || undefined;
  const query = useNearDuplicates(dataset.id, acrossSplits);
  const start = useCheckNearDuplicates(dataset.id);
  const check = query.data?.pages[0]?.check ?? null;
  const refetch = query.refetch;
  const hasEnded = check !== null && isFinished(check);
  // The pages that were read while the check ran have no pairs.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the end of a check matters
  useEffect(() => {
    if (hasEnded) void refetch();
  }, [hasEnded, check?.id]);
  const again = (label: string) =>
    mayWrite && (
      <Button loading={start.isPending} onClick={() => start.mutate()}>
        {label}
      </Button>
    );
  return (
    <QueryState query={query} skeleton={<SkeletonRows count={4} height={80} />} page>
      {({ pages }) => (
        <>
          {start.error && <ProblemPanel error={start.error} />}
          {check === null ? (
            <PageMessage title="Not checked for near-duplicates yet.">
              <PageHint>
                A check finds items whose inputs are nearly the same. Across splits, such as train and test,
                they make an evaluation look better than it is; within a split they count a case twice.
              </PageHint>
              {dataset.item_count < 2 ? (
                <PageHint>There must be at least two items to compare.</PageHint>
              ) : (
                again(`Check revision ${dataset.revision}`)
              )}
            </PageMessage>
          ) : !hasEnded ? (
            <Running check={check} mayWrite={mayWrite} />
          ) : check.status === "succeeded" ? (
            <>
              {check.revision < dataset.revision && (
                <div className={classes.banner} role="status" data-testid="stale-check">
                  <span>
                    The dataset has changed: these pairs are of revision {check.revision}, the newest is
                    revision {dataset.revision}.
                  </span>
                  {again(`Check revision ${dataset.revision}`)}
                </div>
              )}
              <Found
                check={check}
                dataset={dataset}
                mayWrite={mayWrite}
                pairs={pages.flatMap(({ data }) => data)}
                isAcross={acrossSplits ?? false}
                onAcross={(isAcross) => set({ across_splits: isAcross ? "true" : null }, true)}
                isStale={query.isPlaceholderData}
              >
                <LoadMore query={query} what="pairs" />
              </Found>
            </>
          ) : (
            <Ended check={check}>{again("Check again")}</Ended>
          )}
        </>
      )}
    </QueryState>
  );
}

function Running({ check, mayWrite }: { check: NearDuplicateCheck; mayWrite: boolean }) {
  const cancel = useCancelNearDuplicateCheck(check.dataset_id);
  const isReading = check.status === "running" && check.phase === "reading" && check.total > 0;
  return (
    <section className={classes.body} aria-label="Progress" data-testid="check-progress">
      <Group justify="space-between" gap="xs" mb={6}>
        <Text size="sm">
          {checkProgress(check)} (revision {check.revision})
        </Text>
        {mayWrite && (
          <Button variant="default" loading={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel
          </Button>
        )}
      </Group>
      <Progress
        value={isReading ? (100 * check.processed) / check.total : 100}
        animated={!isReading}
        aria-label="Check for near-duplicates"
      />
      <Text size="xs" c="dimmed" mt={6}>
        You can leave this page; the check keeps running.
      </Text>
      {cancel.error && <ProblemPanel error={cancel.error} />}
    </section>
  );
}

/** A check without a result. */
function Ended({ check, children }: { check: NearDuplicateCheck; children: React.ReactNode }) {
  if (check.status === "cancelled") {
    return (
      <PageMessage title="The check was cancelled.">
        <PageHint>It found nothing yet.</PageHint>
        {children}
      </PageMessage>
    );
  }
  return (
    <div className={classes.body}>
      <Alert role="alert" variant="outline" color="red" title="The check failed" data-testid="check-failed">
        <Stack gap="xs" align="flex-start">
          <Text size="sm">{check.error?.detail}</Text>
          {children}
        </Stack>
      </Alert>
    </div>
  );
}

interface FoundProps {
  check: NearDuplicateCheck;
  dataset: Dataset;
  mayWrite: boolean;
  pairs: NearDuplicatePair[];
  isAcross: boolean;
  onAcross: (isAcross: boolean) => void;
  /** Whether the pairs are still those of another filter. */
  isStale: boolean;
  children: React.ReactNode;
}

function Found({ check, dataset, mayWrite, pairs, isAcross, onAcross, isStale, children }: FoundProps) {
  const now = useNow(30_000);
  const [isSplit, setSplit] = useState(true);
  const [removing, setRemoving] = useState<NearDuplicateItem | null>(null);
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set());
  const [total, across] = [check.pairs ?? 0, check.pairs_across_splits ?? 0];
  const threshold = formatSimilarity(check.threshold);
  const context = (
    <>
      {formatItems(check.items_checked ?? 0)} of revision {check.revision} compared,{" "}
      <Ago time={check.finished_at ?? check.created_at} now={now} />
    </>
  );
  return (
    <>
      {total === 0 ? (
        <PageMessage title={`No near-duplicates at ${threshold} similarity or more.`}>
          <PageHint>{context}.</PageHint>
        </PageMessage>
      ) : (
        <div className={classes.bar}>
          <Text size="sm" role="status" data-testid="check-result">
            <strong>{formatPairs(total)}</strong> at {threshold} similarity or more, {context}
          </Text>
          <Group gap="xs">
            <SegmentedControl
              size="xs"
              aria-label="Pairs"
              value={isAcross ? "across" : "all"}
              onChange={(value) => onAcross(value === "across")}
              data={[
                { value: "all", label: `All (${formatCount(total)})` },
                { value: "across", label: `Across splits (${formatCount(across)})` },
              ]}
            />
            <LayoutChoice isSplit={isSplit} onChange={setSplit} />
          </Group>
        </div>
      )}
      <Limits check={check} />
      {total > 0 && isAcross && across === 0 && (
        <PageMessage title="No near-duplicates across splits.">
          <PageHint>All pairs are within one split, or have an item without a split.</PageHint>
        </PageMessage>
      )}
      <ul className={`${pairClasses.pairs} ${isStale ? classes.stale : ""}`} aria-label="Pairs">
        {pairs.map((pair) => (
          <Pair
            key={`${pair.a.id} ${pair.b.id}`}
            pair={pair}
            address={(item) => itemAddress(dataset, check, item)}
            isSplit={isSplit}
            removed={removed}
            onRemove={mayWrite ? setRemoving : undefined}
          />
        ))}
      </ul>
      {children}
      {removing && (
        <RemoveItemDialog
          dataset={dataset}
          item={removing}
          onClose={() => setRemoving(null)}
          onRemoved={() => {
            setRemoved(new Set(removed).add(removing.id));
            setRemoving(null);
          }}
        />
      )}
    </>
  );
}

/** Where an item is shown as it was compared. */
function itemAddress(dataset: Dataset, check: NearDuplicateCheck, { id }: NearDuplicateItem): string {
  const revision = check.revision === dataset.revision ? "" : `revision=${check.revision}&`;
  return `?${revision}item=${id}`;
}

/** What the check left out. */
function Limits({ check }: { check: NearDuplicateCheck }) {
  const limits = checkLimits(check);
  const shared = check.left_out ?? [];
  if (limits.length === 0 && shared.length === 0) return null;
  return (
    <div className={classes.intro} data-testid="check-limits">
      {limits.map((limit) => (
        <div key={limit}>{limit}</div>
      ))}
      {shared.length > 0 && (
        <details>
          <summary>
            {shared.length === 1 ? "1 value" : `${shared.length} values`} not compared, because nearly all
            inputs have {shared.length === 1 ? "it" : "them"}
          </summary>
          <ul className={pairClasses.shared}>
            {shared.map(({ member, text, share }) => (
              <li key={`${member} ${text}`}>
                <code>{member || "input"}</code> ({formatSimilarity(share)} of the inputs): <bdi>{text}</bdi>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

interface PairProps {
  pair: NearDuplicatePair;
  address: (item: NearDuplicateItem) => string;
  isSplit: boolean;
  /** The items that were removed on this page. */
  removed: ReadonlySet<string>;
  onRemove: ((item: NearDuplicateItem) => void) | undefined;
}

function Pair({ pair, address, isSplit, removed, onRemove }: PairProps) {
  const { a, b, similarity, across_splits: isAcross } = pair;
  const [before, after] = useMemo(() => [inputOf(a), inputOf(b)], [a, b]);
  const isCut = a.input_truncated || b.input_truncated;
  const beginsSame = a.input_preview === b.input_preview;
  return (
    <li className={pairClasses.pair} data-testid="pair" data-across={isAcross}>
      <div className={pairClasses.head}>
        <strong>{beginsSame && !isCut ? "Same input" : `${formatSimilarity(similarity)} similar`}</strong>
        {isAcross && (
          <Badge
            size="sm"
            tt="none"
            variant="outline"
            color="orange"
            c="var(--lt-text)"
            leftSection={<IconArrowsSplit2 size={12} aria-hidden="true" />}
          >
            Across splits
          </Badge>
        )}
      </div>
      <div className={pairClasses.items}>
        {[a, b].map((item) => (
          <div key={item.id} className={pairClasses.item} data-testid="pair-item">
            <Link to={address(item)} className={pairClasses.key}>
              {nameOf(item)}
            </Link>
            <Badge size="sm" tt="none" variant="light" color="gray" c="var(--lt-text)">
              {item.split ?? "no split"}
            </Badge>
            {removed.has(item.id) ? (
              <Text size="xs" c="dimmed" role="status">
                Removed
              </Text>
            ) : (
              onRemove && (
                <Button
                  size="compact-xs"
                  variant="default"
                  leftSection={<IconTrash size={12} />}
                  aria-label={`Remove ${nameOf(item)}…`}
                  onClick={() => onRemove(item)}
                >
                  Remove…
                </Button>
              )
            )}
          </div>
        ))}
      </div>
      <WordDiff
        before={before}
        after={after}
        isSplit={isSplit && !beginsSame}
        sides={[nameOf(a), nameOf(b)]}
      />
      {isCut && (
        <Text size="xs" c="dimmed" mt={4}>
          Only the beginning is shown. Open the items to read all of it.
        </Text>
      )}
    </li>
  );
}

function nameOf({ key, id }: NearDuplicateItem): string {
  return key ?? `Item ${id.slice(-8)}`;
}
