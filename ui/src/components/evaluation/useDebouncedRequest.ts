import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import type { ForecastGoal } from "@/api/comparisons";
import { goalOf } from "./forecast";

/** What an estimate is asked for once nobody types. */
export interface DebouncedRequest<Body> {
  /** Null while something is missing. */
  body: Body | null;
  goal: ForecastGoal;
  /** The margin that is to be decided, in points, as it was typed. */
  margin: string;
  setMargin: (margin: string) => void;
  /** Whether it is what the form has now. */
  isCurrent: boolean;
}

/** The request of a form and the goal of its forecast, 600 ms after the last change. */
export function useDebouncedRequest<Body>(body: Body | null): DebouncedRequest<Body> {
  const [margin, setMargin] = useState("");
  const [debounced] = useDebouncedValue(body, 600);
  const [debouncedMargin] = useDebouncedValue(margin, 600);
  return {
    body: debounced,
    goal: goalOf(debouncedMargin),
    margin,
    setMargin,
    isCurrent: debounced === body && debouncedMargin === margin,
  };
}
