import { formatAge, formatTime } from "./format";

/** How long ago something was, with the full time on hover. */
export function Ago({ time, now }: { time: string; now: number }) {
  return <span title={formatTime(time)}>{formatAge(time, now)} ago</span>;
}
