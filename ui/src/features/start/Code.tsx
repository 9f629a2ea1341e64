import { Tabs, Text } from "@mantine/core";
import { CodeBlock } from "@/components/CodeBlock";
import classes from "./StartPage.module.css";
import type { Snippet } from "./snippets";

interface Props {
  snippets: Snippet[];
  /** Whether the snippets contain the key. */
  ready: boolean;
}

/** One snippet per language, complete to paste. */
export function Code({ snippets, ready }: Props) {
  return (
    <Tabs defaultValue={snippets[0]?.id} keepMounted={false}>
      <Tabs.List aria-label="Languages">
        {snippets.map((snippet) => (
          <Tabs.Tab key={snippet.id} value={snippet.id}>
            {snippet.label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map((snippet) => (
        <Tabs.Panel key={snippet.id} value={snippet.id} data-testid={`snippet-${snippet.id}`}>
          {snippet.install && (
            <>
              <p className={classes.label}>Install</p>
              <CodeBlock code={snippet.install} what="install command" />
            </>
          )}
          <p className={classes.label}>{snippet.file ?? "In a shell"}</p>
          <CodeBlock code={snippet.code} what="code" maxHeight={420} />
          {snippet.run && (
            <>
              <p className={classes.label}>Run</p>
              <CodeBlock code={snippet.run} what="run command" />
            </>
          )}
          {snippet.note && (
            <Text size="sm" c="dimmed" mt="xs">
              {snippet.note}
            </Text>
          )}
          {!ready && (
            <Text size="sm" c="dimmed" mt="xs">
              Choose a key above to replace <code>lt_YOUR_KEY</code>.
            </Text>
          )}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
