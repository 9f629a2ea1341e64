import { Anchor, Select, Text } from "@mantine/core";
import { lazy, Suspense } from "react";
import { useSearchParams } from "react-router";
import { useInstrumentGuide } from "@/api/instrument";
import { CodeBlock } from "@/components/CodeBlock";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useProjectId } from "@/components/useProject";
import classes from "./ConnectPage.module.css";

const Markdown = lazy(() => import("@/components/Markdown"));

const DEFAULT_FRAMEWORK = "openai";

/** The instrument guide, one framework at a time. */
export function Instrument() {
  const projectId = useProjectId();
  const [search, setSearch] = useSearchParams();
  const framework = search.get("framework") ?? DEFAULT_FRAMEWORK;
  const guide = useInstrumentGuide(projectId, framework);
  const choose = (id: string | null) => id && setSearch({ framework: id }, { replace: true });
  const retry = () => (framework === DEFAULT_FRAMEWORK ? guide.refetch() : choose(DEFAULT_FRAMEWORK));
  return (
    <section className={classes.section} aria-labelledby="connect-instrument">
      <h2 id="connect-instrument" className={classes.heading}>
        Record a program
      </h2>
      <Text size="sm" c="dimmed" mb="sm">
        For agents:{" "}
        <Anchor href="/llms.txt" underline="always">
          llms.txt
        </Anchor>
        , or <code>GET /v1/agent/instrument-guide</code>.
      </Text>
      <QueryState
        query={{ data: guide.data, error: guide.error, refetch: retry }}
        skeleton={<SkeletonRows count={4} height={60} />}
      >
        {({ frameworks, environment, recipe, self_test }) => (
          <>
            <Select
              label="Framework or library"
              searchable
              allowDeselect={false}
              maw={360}
              value={recipe?.id ?? null}
              onChange={choose}
              data={frameworks.map(({ id, title, language }) => ({
                value: id,
                label: title.toLowerCase().includes(language) ? title : `${title} (${language})`,
              }))}
            />
            <p className={classes.label}>Environment, with a key that has the Ingest preset</p>
            <CodeBlock
              code={environment.map(({ name, value }) => `export ${name}=${value}\n`).join("")}
              what="environment"
            />
            {recipe && (
              <div data-testid={`recipe-${recipe.id}`}>
                <p className={classes.label}>Install</p>
                <CodeBlock code={recipe.install} what="install command" />
                <p className={classes.label}>Minimal example</p>
                <CodeBlock code={recipe.code} what="program" maxHeight={420} />
                {recipe.notes && (
                  <div className={classes.notes}>
                    <Suspense fallback={recipe.notes}>
                      <Markdown text={recipe.notes} />
                    </Suspense>
                  </div>
                )}
              </div>
            )}
            <p className={classes.label}>Self-test: send a run</p>
            <CodeBlock code={self_test.send} what="command that sends a run" />
            <p className={classes.label}>Self-test: read it back, with a key that can read runs</p>
            <CodeBlock code={self_test.check} what="command that reads the run" />
          </>
        )}
      </QueryState>
    </section>
  );
}
