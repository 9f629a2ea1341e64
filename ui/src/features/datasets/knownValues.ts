/** Values of the items in view, to choose from. */
export interface KnownValues {
  splits: string[];
  tags: string[];
}
