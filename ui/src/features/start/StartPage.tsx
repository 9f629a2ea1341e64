import { Stack } from "@mantine/core";
import { useMemo, useState } from "react";
import { Page } from "@/components/Page";
import { useProjectId } from "@/components/useProject";
import { Arrival } from "./Arrival";
import { ChooseKey } from "./ChooseKey";
import { Code } from "./Code";
import classes from "./StartPage.module.css";
import { snippets } from "./snippets";

const PLACEHOLDER = "lt_YOUR_KEY";

/** Guides to the first run: a key, code to paste, the run's arrival. */
export function StartPage() {
  const projectId = useProjectId();
  const [key, setKey] = useState("");
  const [example] = useState(exampleIds);
  const codes = useMemo(
    () => snippets({ ...example, origin: window.location.origin, key: key || PLACEHOLDER }),
    [example, key],
  );
  return (
    <Page title="Send a run" context="Create a key, run a few lines of code, and see the run here.">
      <Stack component="ol" gap="xl" className={classes.steps}>
        <Step title="Create a key">
          <ChooseKey projectId={projectId} value={key} onChange={setKey} />
        </Step>
        <Step title="Run the code">
          <Code snippets={codes} ready={key !== ""} />
        </Step>
        <Step title="See it arrive">
          <Arrival projectId={projectId} />
        </Step>
      </Stack>
    </Page>
  );
}

function Step({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <li className={classes.step}>
      <h2 className={classes.title}>{title}</h2>
      {children}
    </li>
  );
}

function exampleIds() {
  return { runId: uuid(), spanId: hex(8), traceId: hex(16), now: new Date() };
}

function hex(bytes: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

// crypto.randomUUID only exists on secure origins.
function uuid(): string {
  const digits = hex(16);
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `4${digits.slice(13, 16)}`,
    `8${digits.slice(17, 20)}`,
    digits.slice(20),
  ].join("-");
}
