import { Group, SegmentedControl, Text } from "@mantine/core";
import { useMemo, useState } from "react";
import classes from "./Changes.module.css";
import { changeText, diffWords, foldSame, type Hunk, type ValueChange } from "./textDiff";

interface Props {
  changes: readonly ValueChange[];
  /** What the two sides are called. */
  before: string;
  after: string;
}

/** What one content changes in another, member by member, with the words that differ. */
export function Changes({ changes, before, after }: Props) {
  const [isSplit, setSplit] = useState(true);
  if (changes.length === 0) return <Text size="sm">No differences.</Text>;
  return (
    <div data-testid="changes">
      <Group justify="space-between" mb="xs" gap="xs">
        <Text size="sm" style={{ overflowWrap: "anywhere" }} miw={0}>
          {changes.length === 1 ? "1 change" : `${changes.length} changes`} from {before} to {after}
        </Text>
        <LayoutChoice isSplit={isSplit} onChange={setSplit} />
      </Group>
      {changes.map((change) => (
        <Change key={change.path} change={change} isSplit={isSplit} sides={[before, after]} />
      ))}
    </div>
  );
}

interface LayoutProps {
  isSplit: boolean;
  onChange: (isSplit: boolean) => void;
}

/** Whether both sides of a change are beside each other, or in one text. */
export function LayoutChoice({ isSplit, onChange }: LayoutProps) {
  return (
    <SegmentedControl
      size="xs"
      aria-label="Layout"
      value={isSplit ? "split" : "unified"}
      onChange={(layout) => onChange(layout === "split")}
      data={[
        { value: "split", label: "Side by side" },
        { value: "unified", label: "Unified" },
      ]}
    />
  );
}

const SIGNS = { added: "+", removed: "−", changed: "±" };

interface ChangeProps {
  change: ValueChange;
  isSplit: boolean;
  /** What the two sides are called. */
  sides: [string, string];
}

/** One member that differs. */
export function Change({ change, isSplit, sides }: ChangeProps) {
  const isWhole = change.change !== "changed";
  return (
    <section className={classes.change} aria-label={change.path} data-testid="change">
      <h3 className={classes.path}>
        <span className={classes.sign} aria-hidden="true">
          {SIGNS[change.change]}
        </span>
        <code>{change.path}</code>
        <span className={classes.kind}>{change.change}</span>
      </h3>
      <WordDiff before={change.before} after={change.after} isSplit={isSplit && !isWhole} sides={sides} />
    </section>
  );
}

interface WordDiffProps {
  before: unknown;
  after: unknown;
  isSplit: boolean;
  /** What the two sides are called. */
  sides: [string, string];
}

/** Two values with the words that differ. */
export function WordDiff({ before, after, isSplit, sides }: WordDiffProps) {
  const hunks = useMemo(() => foldSame(diffWords(changeText(before), changeText(after))), [before, after]);
  if (!isSplit) return <Side hunks={hunks} />;
  return (
    <div className={classes.split}>
      <Side label={sides[0]} hunks={hunks} leaveOut="added" />
      <Side label={sides[1]} hunks={hunks} leaveOut="removed" />
    </div>
  );
}

interface TextProps {
  label?: string;
  hunks: readonly (Hunk & { folded?: number })[];
  leaveOut?: Hunk["op"];
}

function Side({ label, hunks, leaveOut }: TextProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className={classes.text}>
      {label && <div className={classes.side}>{label}</div>}
      {hunks.map((hunk, index) => {
        if (hunk.op === leaveOut) return null;
        if (hunk.folded && !isOpen) {
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: hunks have no id, and their order is fixed
            <button key={index} type="button" className={classes.fold} onClick={() => setOpen(true)}>
              {hunk.folded} unchanged lines
            </button>
          );
        }
        const Shape = hunk.op === "removed" ? "del" : hunk.op === "added" ? "ins" : "span";
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: hunks have no id, and their order is fixed
          <Shape key={index} className={classes.hunk} data-op={hunk.op}>
            {hunk.text}
          </Shape>
        );
      })}
    </div>
  );
}
