import { Text } from "@mantine/core";
import { CodeBlock } from "@/components/CodeBlock";
import classes from "./ConnectPage.module.css";
import type { Snippet } from "./snippets";

/** A program that sends a run without calling a model, complete to paste. */
export function Example({ snippet }: { snippet: Snippet }) {
  return (
    <div data-testid={`snippet-${snippet.id}`}>
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
    </div>
  );
}
