import { Button, Menu } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useReadyMadeJudges } from "@/api/judges";
import editor from "@/components/editor/Editor.module.css";
import type { FormErrors } from "@/components/formErrors";
import { ProblemPanel } from "@/components/ProblemPanel";
import { PanelEditor } from "./PanelEditor";
import classes from "./Panels.module.css";
import type { PanelContext } from "./panelContext";
import { newPanel, type PanelDraft, readyMadePanel } from "./panelDraft";

/** How many panels an evaluation may have. */
const MAX_PANELS = 10;

interface Props extends Omit<PanelContext, "catalog"> {
  panels: PanelDraft[];
  /** Names that panels can't have. */
  taken: readonly string[];
  /** Whether judges may say which of two outputs is better. */
  mayPrefer: boolean;
  /** More than these can't be added. */
  most?: number;
  errors: FormErrors;
  onChange: (panels: PanelDraft[]) => void;
}

/** Panels of judges: models that score the outputs. */
export function PanelsForm({
  panels,
  taken,
  mayPrefer,
  most = MAX_PANELS,
  errors,
  onChange,
  ...context
}: Props) {
  const query = useReadyMadeJudges();
  const all = query.data?.data ?? [];
  // Runs as they come have no reference output.
  const catalog = context.runs ? all.filter(({ needs }) => !needs.includes("reference_output")) : all;
  const names = [...taken, ...panels.map(({ name }) => name)];
  const add = (panel: PanelDraft) => onChange([...panels, panel]);
  return (
    <section className={editor.section} aria-label="Judges" data-testid="panels">
      <h2>Judges</h2>
      <p className={classes.note}>
        Judges are models that score what no fixed rule can grade. A panel of several, of different families,
        makes one score{context.runs ? "." : ", and the result says how far they can be trusted."} Judges cost
        money.
      </p>
      {query.error && <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />}
      {panels.map((panel, index) => (
        <PanelEditor
          key={panel.id}
          panel={panel}
          number={index + 1}
          context={{ ...context, catalog }}
          errors={errors}
          onChange={(changed) => onChange(panels.with(index, changed))}
          onRemove={() => onChange(panels.toSpliced(index, 1))}
        />
      ))}
      <Menu position="bottom-start">
        <Menu.Target>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconPlus size={13} />}
            disabled={panels.length >= most || context.providers.length === 0}
          >
            Panel of judges
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah={420} className={classes.menu}>
          {catalog.map((ready) => (
            <Menu.Item key={ready.id} onClick={() => add(readyMadePanel(ready, context.providers, names))}>
              {ready.title}
              <span className={classes.optionHint}>{ready.description}</span>
            </Menu.Item>
          ))}
          {catalog.length > 0 && <Menu.Divider />}
          <Menu.Item onClick={() => add(newPanel("score", context.providers, names))}>
            Own rubric
            <span className={classes.optionHint}>Write your own criteria</span>
          </Menu.Item>
          {mayPrefer && (
            <Menu.Item onClick={() => add(newPanel("preference", context.providers, names))}>
              Which side is better
              <span className={classes.optionHint}>
                Judges see both outputs, in both orders, and choose one
              </span>
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {context.providers.length === 0 && (
        <p className={classes.note}>
          Judges need a connection to a provider. Add one under Settings → Providers.
        </p>
      )}
      {errors["body.panels"] && <p className={classes.error}>{errors["body.panels"]}</p>}
    </section>
  );
}
