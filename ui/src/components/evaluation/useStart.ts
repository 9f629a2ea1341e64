import { useState } from "react";
import { errorsOf, type FormErrors, shownEarly } from "@/components/formErrors";
import type { EstimateQuery } from "./EstimatePanel";
import type { DebouncedRequest } from "./useDebouncedRequest";

interface Started {
  id: string;
}

interface Create<Body> {
  isPending: boolean;
  error: Error | null;
  mutate: (body: Body, options: { onSuccess: (started: Started) => void }) => void;
}

/** What the form of a comparison and that of an eval-run have in common: their errors, and how they start. */
export function useStart<Body>(
  request: { body: Body | null; errors: FormErrors },
  debounced: DebouncedRequest<Body>,
  estimate: EstimateQuery,
  create: Create<Body>,
  onStarted: (id: string) => void,
) {
  // Errors of empty fields appear once someone tried to start it.
  const [isChecked, setChecked] = useState(false);
  const isReady = request.body !== null;
  const errors: FormErrors = {
    ...(isChecked ? request.errors : shownEarly(request.errors)),
    ...errorsOf(isReady && request.body === debounced.body ? estimate.error : null),
    ...errorsOf(create.error),
  };
  const props = {
    estimate,
    debounced,
    isReady,
    missing: isChecked ? Object.keys(request.errors).length : 0,
    start: create,
    onStart: () => {
      setChecked(true);
      if (request.body !== null) create.mutate(request.body, { onSuccess: ({ id }) => onStarted(id) });
    },
  };
  return { errors, props };
}
