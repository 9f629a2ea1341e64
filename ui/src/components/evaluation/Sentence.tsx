import { isolatedParts } from "./sentences";

interface Props {
  text: string;
  /** Names of people's own in the text: of metrics and configurations. */
  names: readonly string[];
}

/** A sentence of the server. Names in another direction don't turn the numbers beside them around. */
export function Sentence({ text, names }: Props) {
  return isolatedParts(text, names).map(({ at, part, isName }) =>
    isName ? <bdi key={at}>{part}</bdi> : <span key={at}>{part}</span>,
  );
}
