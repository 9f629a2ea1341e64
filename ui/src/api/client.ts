import createClient from "openapi-fetch";
import { parseJson } from "./json";
import { errorFromNetwork, errorFromResponse } from "./problem";
import { queryText } from "./query";
import { fetchInTime, noteArrival, noteOperation } from "./requests";
import type { paths } from "./schema.gen";

/** The typed client for every operation. The browser adds the session's cookie, and fetchInTime its secret. */
export const client = createClient<paths>({ baseUrl: "/", querySerializer: queryText, fetch: fetchInTime });
client.use({ onRequest: ({ request, schemaPath }) => noteOperation(request, schemaPath) });

export interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The answer. Throws an ApiError if there is none, and an AbortError if the request was cancelled. */
export async function answerOf<T>(pending: Promise<Answer<T>>): Promise<Answer<T>> {
  try {
    const answer = await pending;
    noteArrival(answer.response);
    return answer;
  } catch (cause) {
    // TanStack Query recognizes a cancelled request by its name.
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw errorFromNetwork(cause);
  }
}

/** The body of a successful response. Throws an ApiError for any other. */
export async function unwrap<T>(pending: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answerOf(pending);
  if (!response.ok) throw errorFromResponse(response, error);
  return data as T;
}

/** The JSON of a successful response to a request with `parseAs: "text"`, with all digits of long numbers. */
export async function unwrapExact<T>(pending: Promise<Answer<unknown>>): Promise<T> {
  return parseJson((await unwrap(pending)) as string) as T;
}
