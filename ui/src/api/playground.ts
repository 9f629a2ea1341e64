import { useQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { useDraftQuery } from "./draftQuery";
import { writeJson } from "./json";
import { useInvalidatingMutation } from "./mutation";
import { ApiError, errorFromNetwork, errorFromProblem, errorFromResponse, type Problem } from "./problem";
import { keys } from "./queryKeys";
import { sessionHeaders } from "./session";
import { EventStreamParser } from "./sse";
import type {
  Completion,
  CompletionCreate,
  CompletionDelta,
  CompletionToolResult,
  PromptMessage,
  ScenarioContent,
} from "./types";

/** What to complete, without how it is answered. */
export type CompletionDraft = Omit<CompletionCreate, "stream">;

/** An event of a completion that is streamed. `done` is the last one. */
export type CompletionEvent =
  | { type: "start"; data: { run_id: string } }
  | { type: "delta"; data: CompletionDelta }
  | { type: "tool_result"; data: CompletionToolResult }
  | { type: "message"; data: PromptMessage }
  | { type: "done"; data: Completion };

const TYPES: readonly string[] = ["start", "delta", "tool_result", "message", "done"];

/**
 * POST /v1/playground/completions with a stream: calls `onEvent` for each event. Throws an ApiError if the request or the
 * stream fails, and an AbortError if `signal` ends it, which ends the provider's request, too.
 */
export async function streamCompletion(
  draft: CompletionDraft,
  signal: AbortSignal,
  onEvent: (event: CompletionEvent) => void,
): Promise<void> {
  try {
    const response = await fetch("/v1/playground/completions", {
      method: "POST",
      headers: { ...sessionHeaders(), "Content-Type": "application/json", Accept: "text/event-stream" },
      body: writeJson({ ...draft, stream: true }),
      signal,
    });
    if (!response.ok || !response.body) throw errorFromResponse(response, await bodyOf(response));
    const parser = new EventStreamParser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      for (const { event, data } of parser.push(piece.value)) {
        if (event === "error") throw errorFromProblem(JSON.parse(data) as Problem);
        if (!TYPES.includes(event)) continue;
        onEvent({ type: event, data: JSON.parse(data) } as CompletionEvent);
        if (event === "done") return;
      }
    }
    throw new ApiError(0, null, null, "The answer broke off");
  } catch (error) {
    if (error instanceof ApiError || signal.aborted) throw error;
    throw errorFromNetwork(error);
  }
}

async function bodyOf(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
}

/** POST /v1/playground/completions without a stream. */
export function complete(draft: CompletionDraft, signal: AbortSignal): Promise<Completion> {
  return unwrap(
    client.POST("/v1/playground/completions", {
      body: { ...draft, stream: false },
      bodySerializer: (value) => writeJson(value),
      signal,
    }),
  ) as Promise<Completion>;
}

/** POST /v1/playground/completions/_actions/preview. Null has no request. */
export function useCompletionPreview(draft: CompletionDraft | null) {
  return useDraftQuery(keys.playground.preview(draft), draft, (draft, signal) =>
    unwrap(
      client.POST("/v1/playground/completions/_actions/preview", {
        body: { ...draft, stream: true },
        bodySerializer: (value) => writeJson(value),
        signal,
      }),
    ),
  );
}

type CallOfRun = { runId: string; spanId: string | undefined };

/** POST /v1/playground/_actions/open: what a recorded call sent. */
export function openedRunQuery({ runId, spanId }: CallOfRun) {
  return {
    queryKey: keys.playground.opened(runId, spanId),
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      unwrap(
        client.POST("/v1/playground/_actions/open", { body: { run_id: runId, span_id: spanId }, signal }),
      ),
    retry: false,
  };
}

/** POST /v1/playground/_actions/open. Null has no request. */
export function useOpenedRun(run: CallOfRun | null) {
  return useQuery({
    ...openedRunQuery(run ?? { runId: "", spanId: undefined }),
    enabled: run !== null,
    gcTime: 0,
  });
}

/** More scenarios than a menu can show. */
const SCENARIOS = 100;

/** GET /v1/playground/scenarios, sorted by name. */
export function useScenarios(projectId: string, enabled: boolean) {
  return useQuery({
    queryKey: keys.playground.scenarios(projectId),
    queryFn: ({ signal }) =>
      unwrap(
        client.GET("/v1/playground/scenarios", {
          params: { query: { project_id: projectId, limit: SCENARIOS } },
          signal,
        }),
      ),
    enabled,
  });
}

/** GET /v1/playground/scenarios/{scenario_id}. */
export function fetchScenario(id: string) {
  return unwrap(
    client.GET("/v1/playground/scenarios/{scenario_id}", { params: { path: { scenario_id: id } } }),
  );
}

/** Creates a scenario, or replaces the name or content of the one with the id. */
export function useSaveScenario(projectId: string) {
  return useInvalidatingMutation(
    keys.playground.scenarios(projectId),
    (scenario: { id: string | null; name: string; content?: ScenarioContent }) => {
      const { id, name, content } = scenario;
      return id === null
        ? unwrap(
            client.POST("/v1/playground/scenarios", {
              body: { project_id: projectId, name, content: content ?? { messages: [] } },
            }),
          )
        : unwrap(
            client.PATCH("/v1/playground/scenarios/{scenario_id}", {
              params: { path: { scenario_id: id } },
              body: content ? { name, content } : { name },
            }),
          );
    },
  );
}

/** DELETE /v1/playground/scenarios/{scenario_id}. */
export function useDeleteScenario(projectId: string) {
  return useInvalidatingMutation(keys.playground.scenarios(projectId), (id: string) =>
    unwrap(
      client.DELETE("/v1/playground/scenarios/{scenario_id}", { params: { path: { scenario_id: id } } }),
    ),
  );
}
