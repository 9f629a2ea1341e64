import { formatAge, formatMoment, formatTime } from "./format";
import { useAbsoluteTimes } from "./times";

interface Props {
  time: string;
  now: number;
  /** Leaves out "ago". */
  bare?: boolean;
}

/** How long ago something was, or when, as the reader chose. */
export function Ago({ time, now, bare = false }: Props) {
  const age = formatAge(time, now);
  return (
    <time dateTime={time} title={formatTime(time)}>
      {useAbsoluteTimes() ? formatMoment(time, now) : bare ? age : `${age} ago`}
    </time>
  );
}
