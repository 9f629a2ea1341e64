const day = { month: "short", day: "numeric" } as const;
const minute = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
const second = { ...minute, second: "2-digit" } as const;

const yearFormat = new Intl.DateTimeFormat(undefined, { year: "numeric" });
const monthFormat = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short" });
const dayFormat = new Intl.DateTimeFormat(undefined, day);
const minuteFormat = new Intl.DateTimeFormat(undefined, minute);
const secondFormat = new Intl.DateTimeFormat(undefined, second);
const yearMinuteFormat = new Intl.DateTimeFormat(undefined, { year: "numeric", ...day, ...minute });
const dayMinuteFormat = new Intl.DateTimeFormat(undefined, { ...day, ...minute });
const daySecondFormat = new Intl.DateTimeFormat(undefined, { ...day, ...second });

const DAY = 86_400;

/** The axis label of a time, for steps in seconds: year, month, day, minute or second, as the step requires. Midnight shows
 * the day. */
export function tickLabel(time: number, step: number): string {
  const date = new Date(time * 1000);
  if (step >= 365 * DAY) return yearFormat.format(date);
  if (step >= 28 * DAY) return monthFormat.format(date);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0;
  if (step >= DAY || isMidnight) return dayFormat.format(date);
  return (step < 60 ? secondFormat : minuteFormat).format(date);
}

const LETTER_WIDTH = 6.4; // pixels, the widest average of the axis font

/** Whether a label centered at x fits into the chart's width, both in pixels. */
export function labelFits(label: string, x: number, width: number): boolean {
  const half = (label.length * LETTER_WIDTH) / 2;
  return x >= half && x <= width - half;
}

/** The time range of a bucket. */
export function bucketLabel(start: number, seconds: number): string {
  const from = new Date(start * 1000);
  if (seconds >= DAY) return yearMinuteFormat.format(from);
  const until = new Date((start + seconds) * 1000);
  return seconds % 60 === 0
    ? `${dayMinuteFormat.format(from)} – ${minuteFormat.format(until)}`
    : `${daySecondFormat.format(from)} – ${secondFormat.format(until)}`;
}
