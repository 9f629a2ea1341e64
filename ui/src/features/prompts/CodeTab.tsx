import { Select, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import { usePromptVersion } from "@/api/prompts";
import type { Prompt, PromptVersion } from "@/api/types";
import { CodeBlock } from "@/components/CodeBlock";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { placeholdersOf } from "@/components/renderVersion";
import classes from "./PromptPage.module.css";
import { curlSnippet, pythonSnippet } from "./snippets";

/** The code that gets the prompt. */
export function CodeTab({ prompt }: { prompt: Prompt }) {
  const [alias, setAlias] = useState(
    () =>
      (prompt.aliases.find(({ alias }) => alias === "production") ?? prompt.aliases[0])?.alias ?? "latest",
  );
  const number = prompt.aliases.find((one) => one.alias === alias)?.version ?? prompt.latest_version;
  const version = usePromptVersion(prompt.id, number).data;
  if (prompt.latest_version === null) {
    return (
      <PageMessage title="No version yet.">
        <PageHint>Save a version first. The code to use it appears here.</PageHint>
      </PageMessage>
    );
  }
  return (
    <Stack className={classes.body} gap="md" maw={860}>
      <Select
        size="xs"
        label="Alias"
        maw={220}
        data={["latest", ...prompt.aliases.map((one) => one.alias)]}
        value={alias}
        onChange={(value) => setAlias(value ?? alias)}
        allowDeselect={false}
      />
      <section aria-label="Python" data-testid="snippet-python">
        <h2 className={classes.heading}>Python</h2>
        <CodeBlock code={pythonSnippet(prompt.name, { alias }, neededBy(version))} what="Python program" />
        <Text size="xs" c="dimmed" mt={4}>
          The package looptrace keeps prompts in memory, follows moves of aliases within seconds, and names
          the prompt in the spans of the call, so that its runs appear under{" "}
          <Link to="?tab=usage">Usage</Link>.
        </Text>
      </section>
      <section aria-label="HTTP" data-testid="snippet-curl">
        <h2 className={classes.heading}>HTTP</h2>
        <CodeBlock code={curlSnippet(window.location.origin, prompt.name, { alias })} what="request" />
        <Text size="xs" c="dimmed" mt={4}>
          Both need a key with the scope prompts:read.
        </Text>
      </section>
    </Stack>
  );
}

function neededBy(version: PromptVersion | undefined) {
  if (!version) return { variables: [], placeholders: [] };
  return {
    variables: Object.entries(version.variables)
      .filter(([, variable]) => (variable.required ?? true) && !("default" in variable))
      .map(([name]) => name),
    placeholders: placeholdersOf(version),
  };
}
