import { Group } from "@mantine/core";
import { LoadSamples } from "./LoadSamples";
import { PageHint } from "./PageMessage";

interface Props {
  /** What the page is for, in one or two sentences. */
  purpose: React.ReactNode;
  /** The first action, or who can take it. */
  action: React.ReactNode;
  /** Other ways to begin. */
  children?: React.ReactNode;
  /** The page of the sample project that opens. */
  samples?: "runs" | "datasets" | "eval-runs";
}

/** What a list without data says: its purpose, the first action, and sample data to look at. */
export function EmptyHint({ purpose, action, children, samples }: Props) {
  return (
    <>
      <PageHint>{purpose}</PageHint>
      <Group gap="xs" justify="center">
        {action}
        <LoadSamples page={samples} />
      </Group>
      {children}
    </>
  );
}
