import createClient from "openapi-fetch";
import { parseJson } from "./json";
import { errorFromNetwork, errorFromResponse } from "./problem";
import { queryText } from "./query";
import type { paths } from "./schema.gen";

/** The typed client for every operation. The browser sends the session cookie. */
export const client = createClient<paths>({ baseUrl: "/", querySerializer: queryText });

client.use({
  onError({ error }) {
    // TanStack Query recognizes a cancelled request by its name.
    if (error instanceof DOMException && error.name === "AbortError") return error;
    return errorFromNetwork(error);
  },
});

export interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The body of a successful response. Throws an ApiError for any other. */
export async function unwrap<T>(pending: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await pending;
  if (!response.ok) throw errorFromResponse(response, error);
  return data as T;
}

/** The JSON of a successful response to a request with `parseAs: "text"`, with all digits of long numbers. */
export async function unwrapExact<T>(pending: Promise<Answer<unknown>>): Promise<T> {
  return parseJson((await unwrap(pending)) as string) as T;
}
