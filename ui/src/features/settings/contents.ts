import type { Container } from "@/api/organizations";
import type { Contents } from "@/api/types";
import { formatCount, formatCountOf, formatRuns } from "@/components/format";

/** What a deletion deletes, as the end of a sentence: "3 projects, 12 runs and 1 key. 2 people lose their role in it." */
export function contentsText(container: Container, contents: Contents): string {
  const { workspaces, projects, runs, keys, members } = contents;
  const parts = [
    container === "organization" && counted(workspaces, "workspace"),
    container !== "project" && counted(projects, "project"),
    formatRuns(runs),
    counted(keys, "key"),
  ].filter((part) => part !== false);
  const list = `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}.`;
  const people = members === 1 ? "1 person loses a" : `${formatCount(members)} people lose their`;
  return container === "project" ? list : `${list} ${people} role in it.`;
}

function counted(count: number, what: string): string {
  return formatCountOf(count, what);
}
