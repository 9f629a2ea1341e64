import type { Replay } from "@/api/types";
import shared from "@/components/evaluation/Evaluation.module.css";
import { Fact, FactList } from "@/components/Fact";
import { formatCount } from "@/components/format";
import { graderType } from "@/components/graders/graderTypes";
import classes from "./Evidence.module.css";
import { isOffered } from "./edits";
import { ON_MISS } from "./ToolPolicies";

/** What a replay edits, and how it runs. */
export function EditsTab({ replay }: { replay: Replay }) {
  const { edits, edits_text: texts, tools, controls, treatments } = replay;
  const policies = Object.entries(tools);
  return (
    <div className={shared.body}>
      {edits.length === 0 && (
        <p className={shared.lead}>
          Nothing is edited: the replay shows how much the agent varies on its own.
        </p>
      )}
      <EditsShown edits={edits} texts={texts} />
      <section className={shared.block} aria-label="How it runs">
        <h2 className={shared.heading}>How it runs</h2>
        <FactList>
          <Fact label="Without the edits" value={formatCount(controls)} />
          <Fact label="With the edits" value={formatCount(treatments)} />
          <Fact
            label="Created by"
            value={replay.created_by.email ?? replay.created_by.key ?? "A deleted user"}
          />
        </FactList>
      </section>
      <section className={shared.block} aria-label="Outcome">
        <h2 className={shared.heading}>When is an attempt good?</h2>
        <p className={shared.lead}>{graderText(replay)}</p>
      </section>
      {policies.length > 0 && (
        <section className={shared.block} aria-label="Tools">
          <h2 className={shared.heading}>Tools</h2>
          <FactList>
            {policies.map(([name, policy]) => (
              <Fact
                key={name}
                label={name}
                value={[
                  ON_MISS[policy.on_miss ?? "stop"],
                  policy.side_effects === "read"
                    ? "only reads"
                    : policy.side_effects === "write"
                      ? "writes"
                      : "",
                  policy.drop?.length ? `without ${policy.drop.join(", ")}` : "",
                ]
                  .filter((text) => text !== "")
                  .join("; ")}
              />
            ))}
          </FactList>
        </section>
      )}
    </div>
  );
}

/** Each edit in words, with the value that it sets. */
export function EditsShown({ edits, texts }: { edits: Replay["edits"]; texts: readonly string[] }) {
  return edits.map((edit, index) => (
    <section
      // biome-ignore lint/suspicious/noArrayIndexKey: edits have no id, and their order is fixed
      key={index}
      className={classes.edit}
      aria-label={`Edit ${index + 1}`}
      data-testid="edit-shown"
    >
      <h2>{texts[index] ?? `Edit ${index + 1}`}</h2>
      {!isOffered(edit.set) && <p className={shared.lead}>This edit is no longer offered.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <pre className={classes.pre} tabIndex={0}>
        {setText(edit.set)}
      </pre>
    </section>
  ));
}

/** What says whether an attempt is good. */
export function graderText({ outcome, panel }: Pick<Replay, "outcome" | "panel">): string {
  if (panel)
    return `Judges of its final answer decide: ${panel.name}, by ${panel.judges.map(({ name }) => name).join(", ")}.`;
  return outcome
    ? `A grader of its final answer decides: ${graderType(outcome)?.label ?? outcome.type}.`
    : "Unknown: no grader was given. The verdict is about what attempts did, said and cost.";
}

/** What an edit sets: a text as it is, anything else as JSON. */
export function setText(set: Replay["edits"][number]["set"]): string {
  const [entry] = Object.entries(set);
  if (!entry) return "";
  const [name, value] = entry;
  return typeof value === "string" ? value : JSON.stringify({ [name]: value }, null, 2);
}
