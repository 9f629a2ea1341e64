import { Group, SegmentedControl, Skeleton } from "@mantine/core";
import { Link } from "react-router";
import { useEvalRunItem } from "@/api/evalRuns";
import { useMe } from "@/api/identity";
import type { EvalRun, EvalRunItem, EvaluationOutput } from "@/api/types";
import { Disclosure } from "@/components/evaluation/Disclosure";
import classes from "@/components/evaluation/Items.module.css";
import { itemName } from "@/components/evaluation/items";
import { LabelForm, LabelSettings } from "@/components/evaluation/LabelForm";
import { labelPanels, splitLabels } from "@/components/evaluation/labels";
import { ItemPart, Output, RecordedValue } from "@/components/evaluation/Output";
import { ITEM_STATUSES, reasonText } from "@/components/evaluation/progress";
import { Votes } from "@/components/evaluation/Votes";
import { QueryState } from "@/components/QueryState";
import { allows, useProject, useProjectId } from "@/components/useProject";
import type { ItemsPlace } from "./itemsPlace";

interface Props {
  run: EvalRun;
  itemId: string;
  place: ItemsPlace;
  live: boolean;
  onPlace: (changes: Record<string, string | null>) => void;
  onNext: () => void;
}

/** One item with its outputs, whole, the votes on them, and the reader's label. */
export function ItemDetail(props: Props) {
  const query = useEvalRunItem(props.run.id, props.itemId, props.live);
  return (
    <QueryState query={query} skeleton={<Skeleton h={320} m="md" />}>
      {(item) => <Detail item={item} {...props} />}
    </QueryState>
  );
}

function Detail({ run, item, place, onPlace, onNext }: Props & { item: EvalRunItem }) {
  const projectId = useProjectId();
  const mayLabel = allows(useProject(), "evals:write");
  const user = useMe().data?.user;
  const repeat = item.repeats.find((one) => one.repeat === place.repeat) ?? item.repeats[0];
  const panels = labelPanels(run);
  const panel = panels.find(({ name }) => name === place.panel) ?? panels[0];
  const mine = repeat && panel ? splitLabels(repeat.labels, panel.name, user).mine : undefined;
  const isHidden = place.isBlind && mayLabel && panel !== undefined && mine === undefined;
  return (
    <div className={classes.content} data-testid="item-detail" data-item={item.item_id}>
      <header className={classes.head}>
        <h2 className={classes.title}>
          {itemName(item)}
          {item.key !== null && <span className={classes.dim}> no. {item.number}</span>}
        </h2>
        <span>{ITEM_STATUSES[item.status]}</span>
        <Link
          to={`/p/${projectId}/datasets/${run.dataset.id}?item=${item.item_id}&revision=${run.dataset.revision}`}
        >
          In the dataset
        </Link>
        {item.repeats.length > 1 && (
          <Group gap={6} ml="auto">
            <span className={classes.dim}>Repeat</span>
            <SegmentedControl
              size="xs"
              aria-label="Repeat"
              value={String(repeat?.repeat)}
              onChange={(value) => onPlace({ repeat: value === "1" ? null : value })}
              data={item.repeats.map((one) => String(one.repeat))}
            />
          </Group>
        )}
      </header>
      {item.reason !== null && <p className={classes.reason}>{reasonText(item.reason)}</p>}
      <div className={classes.parts}>
        <ItemPart title="Input" value={item.input} />
        <ItemPart title="Reference output" value={item.reference_output} />
      </div>
      {item.input_truncated && <p className={classes.dim}>The input is longer; it is cut here.</p>}
      {Object.keys((item.metadata as object | null) ?? {}).length > 0 && (
        <Disclosure className={classes.more} summary="Metadata">
          <RecordedValue value={item.metadata} what="metadata" />
        </Disclosure>
      )}
      {repeat ? (
        <Output
          side={null}
          output={isHidden ? withoutPanels(repeat.result, run) : repeat.result}
          panels={run.panels}
          isSkipped={item.status === "skipped"}
        />
      ) : (
        <p className={classes.dim}>
          {run.target.type === "external" ? "No result has been sent." : "Not run yet."}
        </p>
      )}
      {repeat && panel && repeat.result.status === "ok" && (
        <LabelForm
          key={`${item.item_id} ${repeat.repeat}`}
          title={mayLabel ? "Your label" : "Labels of people"}
          output={{ side: null, id: run.id, itemId: item.item_id }}
          repeat={repeat.repeat}
          labels={repeat.labels}
          panel={panel}
          hasKeys
          mayLabel={mayLabel}
          onNext={onNext}
        >
          {mayLabel && (
            <LabelSettings
              panels={panels}
              panel={panel}
              isBlind={place.isBlind}
              hidden="votes"
              onPanel={(name) => onPlace({ panel: name })}
              onBlind={(isBlind) => onPlace({ blind: isBlind ? "1" : null })}
            />
          )}
        </LabelForm>
      )}
      {repeat && isHidden && repeat.result.votes.length > 0 && (
        <p className={classes.dim}>The votes of judges are hidden until you have labelled this output.</p>
      )}
      {repeat && !isHidden && <Votes votes={repeat.result.votes} scores={repeat.result.scores} />}
    </div>
  );
}

/** An output without what judges say. */
function withoutPanels(output: EvaluationOutput, { panels }: EvalRun): EvaluationOutput {
  const names = panels.map(({ name }) => name);
  return { ...output, scores: output.scores.filter(({ name }) => !names.includes(name)) };
}
