import { Skeleton, Stack, Tabs, Text } from "@mantine/core";
import { writeJson } from "@/api/json";
import { type CompletionDraft, useCompletionPreview } from "@/api/playground";
import { CodeBlock } from "@/components/CodeBlock";
import { Dialog } from "@/components/Dialog";
import { QueryState } from "@/components/QueryState";

interface Props {
  draft: CompletionDraft;
  number: number;
  onClose: () => void;
}

/** The exact request of a column, to run it elsewhere. */
export function RequestDialog({ draft, number, onClose }: Props) {
  const query = useCompletionPreview(draft);
  return (
    <Dialog onClose={onClose} title={`Request of column ${number}`} size={860}>
      <QueryState query={query} skeleton={<Skeleton h={300} />}>
        {({ method, url, headers, body, curl, python, warnings }) => (
          <Stack gap="sm">
            <Text size="xs" c="dimmed">
              <code>
                {method} {url}
              </code>
              . The code reads the API key from an environment variable.
            </Text>
            {warnings.map((warning) => (
              <Text key={warning} size="xs">
                {warning}
              </Text>
            ))}
            <Tabs defaultValue="curl" keepMounted={false}>
              <Tabs.List aria-label="Format">
                <Tabs.Tab value="curl">curl</Tabs.Tab>
                <Tabs.Tab value="python">Python</Tabs.Tab>
                <Tabs.Tab value="json">JSON</Tabs.Tab>
              </Tabs.List>
              <Tabs.Panel value="curl" pt="sm">
                <CodeBlock code={curl} what="curl command" maxHeight={460} />
              </Tabs.Panel>
              <Tabs.Panel value="python" pt="sm">
                <CodeBlock code={python} what="Python code" maxHeight={460} />
              </Tabs.Panel>
              <Tabs.Panel value="json" pt="sm">
                <Stack gap="sm">
                  <CodeBlock code={writeJson(body, 2)} what="request body" maxHeight={400} />
                  <CodeBlock
                    code={Object.entries(headers)
                      .map(([name, value]) => `${name}: ${value}`)
                      .join("\n")}
                    what="headers"
                  />
                </Stack>
              </Tabs.Panel>
            </Tabs>
          </Stack>
        )}
      </QueryState>
    </Dialog>
  );
}
