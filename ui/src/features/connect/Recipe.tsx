import { lazy, Suspense } from "react";
import type { EnvironmentVariable, InstrumentRecipe } from "@/api/types";
import { CodeBlock } from "@/components/CodeBlock";
import classes from "./ConnectPage.module.css";

const Markdown = lazy(() => import("@/components/Markdown"));

interface Props {
  recipe: InstrumentRecipe;
  environment: EnvironmentVariable[];
}

/** How to record a program that uses a framework. */
export function Recipe({ recipe, environment }: Props) {
  return (
    <div data-testid={`recipe-${recipe.id}`}>
      <p className={classes.label}>Environment</p>
      <CodeBlock
        code={environment.map(({ name, value }) => `export ${name}=${value}\n`).join("")}
        what="environment"
      />
      <p className={classes.label}>
        {recipe.install.includes("./sdk/python") ? "Install, in the folder of Looptrace's source" : "Install"}
      </p>
      <CodeBlock code={recipe.install} what="install command" maxHeight={320} />
      <p className={classes.label}>{recipe.file}</p>
      <CodeBlock code={recipe.code} what="program" maxHeight={420} />
      <p className={classes.label}>
        Run. If it calls a model, set the provider's key too (such as OPENAI_API_KEY)
      </p>
      <CodeBlock code={recipe.run} what="run command" />
      {recipe.notes && (
        <div className={classes.notes}>
          <Suspense fallback={recipe.notes}>
            <Markdown text={recipe.notes} />
          </Suspense>
        </div>
      )}
    </div>
  );
}
