/** A field to filter by. */
export interface Field {
  /** The field's name when asking the API for its values; null if the API doesn't list them. */
  name: string | null;
  parameter: string;
  label: string;
  /** Set for a number, which has a lower bound. */
  unit?: string;
  /** All possible values. */
  choices?: readonly { value: string; label: string }[];
  /** Set if several values can be chosen, one after the other. */
  several?: boolean;
  count?: number | null;
}
