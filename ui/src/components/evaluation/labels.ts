import type { Author, JudgeScale, Label, LabelWrite, PanelRead, User } from "@/api/types";

/** A value that a label can have. */
export interface LabelChoice {
  /** The key that gives it; null where there are too many. */
  key: string | null;
  value: LabelWrite["value"];
  text: string;
}

/** More whole numbers are typed. */
const MAX_BUTTONS = 20;

/** The values of a scale as buttons; null if a number is typed. */
export function labelChoices({ type, min, max, labels }: JudgeScale): LabelChoice[] | null {
  if (type === "binary")
    return [
      { key: "1", value: true, text: "Pass" },
      { key: "0", value: false, text: "Fail" },
    ];
  if (labels)
    return labels.map((label, index) => ({
      key: index < 9 ? String(index + 1) : null,
      value: label,
      text: label,
    }));
  if (type !== "ordinal" || min === undefined || max === undefined || max - min >= MAX_BUTTONS) return null;
  return Array.from({ length: max - min + 1 }, (_, index) => {
    const value = min + index;
    return { key: value >= 0 && value <= 9 ? String(value) : null, value, text: String(value) };
  });
}

/** Whether a label has the value of a choice. */
export function hasValue({ value, label, pass }: Label, choice: LabelChoice): boolean {
  if (typeof choice.value === "boolean") return pass === choice.value;
  return typeof choice.value === "number" ? value === choice.value : label === choice.value;
}

/** What of a label is written again, for example with another note. */
export function writtenValue(
  { value, label, pass }: Label,
  { type }: JudgeScale,
): LabelWrite["value"] | null {
  if (type === "binary") return pass;
  return label ?? value;
}

/** The panels that outputs can be labelled for: a preference is about two outputs. */
export function labelPanels({ panels }: { panels: readonly PanelRead[] }): PanelRead[] {
  return panels.filter(({ kind, judges }) => kind === "score" && judges[0]?.scale != null);
}

/** Whether the labels of several people are the same: "2 people agree." Null for fewer. */
export function agreementText(labels: readonly Label[]): string | null {
  if (labels.length < 2) return null;
  const values = new Set(labels.map(({ value, label, pass }) => JSON.stringify([value, label, pass])));
  return values.size === 1
    ? `${labels.length} people agree.`
    : `${labels.length} people differ: ${values.size} different labels.`;
}

/** Whether someone has made something with a session, and not with a key. */
function isBy({ email, key }: Author, user: Pick<User, "email"> | null | undefined): boolean {
  return key === null && user != null && email === user.email;
}

/** The labels for a panel: the reader's own, and those of others, which stay hidden until there is an own one. */
export function splitLabels(
  labels: readonly Label[],
  panel: string,
  user: Pick<User, "email"> | null | undefined,
): { mine: Label | undefined; others: Label[] } {
  const of = labels.filter((label) => label.panel === panel);
  return {
    mine: of.find(({ author }) => isBy(author, user)),
    others: of.filter(({ author }) => !isBy(author, user)),
  };
}
