import { Anchor, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { Page } from "@/components/Page";
import { useProjectId } from "@/components/useProject";
import { Agents } from "./Agents";
import { Arrival } from "./Arrival";
import { ChooseKey } from "./ChooseKey";
import classes from "./ConnectPage.module.css";
import { Program } from "./Program";

/** Guides to the first run, and to every program and agent after it: a key, code to paste, the run's arrival. */
export function ConnectPage() {
  const projectId = useProjectId();
  const [key, setKey] = useState("");
  return (
    <Page title="Connect" context="Create a key, run a few lines of code, and see the run here.">
      <Stack gap="xl">
        <Stack component="ol" gap="xl" className={classes.steps}>
          <Step title="Create a key">
            <ChooseKey projectId={projectId} value={key} onChange={setKey} />
          </Step>
          <Step title="Run the code">
            <Program apiKey={key} />
            <Text size="sm" c="dimmed" mt="sm">
              A coding agent can do this for you: give it{" "}
              <Anchor href="/llms.txt" underline="always">
                llms.txt
              </Anchor>
              .
            </Text>
          </Step>
          <Step title="See it arrive">
            <Arrival projectId={projectId} />
          </Step>
        </Stack>
        <Agents />
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
