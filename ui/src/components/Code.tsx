import { Skeleton } from "@mantine/core";
import { lazy, Suspense } from "react";
import { Delayed } from "./Delayed";

// The editor is large, and most pages don't need it.
const CodeEditor = lazy(() => import("./CodeEditor"));

/** A CodeEditor that is loaded when it is first shown. */
export function Code(props: React.ComponentProps<typeof CodeEditor>) {
  const { minHeight = 60 } = props;
  return (
    <Suspense
      fallback={
        <div aria-busy="true" style={{ minHeight: minHeight + 14 }}>
          <Delayed>
            <Skeleton h={minHeight + 14} />
          </Delayed>
        </div>
      }
    >
      <CodeEditor {...props} />
    </Suspense>
  );
}
