import createClient from "openapi-fetch";
import { errorFromNetwork, errorFromResponse } from "./problem";
import { queryText } from "./query";
import type { paths } from "./schema.gen";

/** The typed client; every operation goes through it, with the session cookie of this origin. */
export const client = createClient<paths>({ baseUrl: "/", querySerializer: queryText });

client.use({
  onError({ error }) {
    // A cancelled request is no failure of the server: the query layer knows it by its name.
    if (error instanceof DOMException && error.name === "AbortError") return error;
    return errorFromNetwork(error);
  },
});

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The body of a successful answer; an ApiError is thrown for every other. */
export async function unwrap<T>(pending: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await pending;
  if (!response.ok) throw errorFromResponse(response, error);
  return data as T;
}
