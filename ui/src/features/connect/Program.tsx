import { Select, Text } from "@mantine/core";
import { useMemo, useState } from "react";
import { useSearchParams } from "react-router";
import { useInstrumentGuide } from "@/api/instrument";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useProjectId } from "@/components/useProject";
import { Example } from "./Example";
import { Recipe } from "./Recipe";
import { snippets } from "./snippets";

/** Stands for the key in code. */
const PLACEHOLDER = "lt_YOUR_KEY";

/** The code of a first run or of a framework, with the key in it. */
export function Program({ apiKey }: { apiKey: string }) {
  const projectId = useProjectId();
  const [search, setSearch] = useSearchParams();
  const [ids] = useState(exampleIds);
  const key = apiKey || PLACEHOLDER;
  const examples = useMemo(() => snippets({ ...ids, origin: window.location.origin, key }), [ids, key]);
  const chosen = search.get("framework") ?? examples[0]?.id ?? null;
  const example = examples.find(({ id }) => id === chosen);
  const list = useInstrumentGuide(projectId, null);
  const guide = useInstrumentGuide(projectId, example ? null : chosen);
  const choose = (id: string | null) => id && setSearch({ framework: id }, { replace: true });
  const frameworks = list.data?.frameworks ?? [];
  return (
    <>
      <Select
        label="Language or framework"
        searchable
        allowDeselect={false}
        maw={360}
        maxDropdownHeight={360}
        // An address may name a package of the recipe.
        value={example ? chosen : (guide.data?.recipe?.id ?? null)}
        onChange={choose}
        data={[
          {
            group: "First run, no model needed",
            items: examples.map(({ id, label }) => ({ value: id, label })),
          },
          {
            group: "Your program",
            items: frameworks.map(({ id, title, language }) => ({
              value: id,
              label: labelOf(title, language),
            })),
          },
        ]}
      />
      {example ? (
        <>
          {list.isError && <ProblemPanel error={list.error} onRetry={() => list.refetch()} />}
          <Example snippet={example} />
        </>
      ) : (
        <QueryState query={guide} skeleton={<SkeletonRows count={4} height={60} />}>
          {({ recipe, environment }) =>
            recipe && <Recipe recipe={recipe} environment={environment.map((v) => withKey(v, key))} />
          }
        </QueryState>
      )}
      {!apiKey && (
        <Text size="sm" c="dimmed" mt="xs">
          Choose a key above to replace <code>{PLACEHOLDER}</code>.
        </Text>
      )}
    </>
  );
}

const LANGUAGES: Record<string, string> = {
  python: "Python",
  javascript: "JavaScript",
  go: "Go",
  java: "Java",
};

function labelOf(title: string, language: string): string {
  const name = LANGUAGES[language];
  return !name || title.includes(name) || title.includes("Node") ? title : `${title} (${name})`;
}

function withKey({ name, value }: { name: string; value: string }, key: string) {
  return { name, value: value.replace(PLACEHOLDER, key) };
}

function exampleIds() {
  return { runId: uuid(), spanId: hex(8), traceId: hex(16), failedRunId: uuid(), now: new Date() };
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
