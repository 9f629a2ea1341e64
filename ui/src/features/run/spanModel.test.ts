import { expect, it } from "vitest";
import { modelBesideName } from "./spanModel";

it.each([
  ["llm", "litellm_request", "gpt-4o-2024-08-06", "gpt-4o-2024-08-06"],
  ["embedding", "Embedding.create", "text-embedding-3-small", "text-embedding-3-small"],
  ["llm", "chat gpt-4o", "gpt-4o", ""],
  ["llm", "chat gpt-4o", "gpt-4o-2024-08-06", ""],
  ["llm", "chat GPT-4o", "openai/gpt-4o", ""],
  ["llm", "chat openai/gpt-4o", "gpt-4o", ""],
  ["llm", "chat claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022", ""],
  ["llm", "chat gpt-4o", "claude-3-5-sonnet", "claude-3-5-sonnet"],
  ["llm", "step 4", "gpt-4o", "gpt-4o"],
  ["llm", "gpt", "gpt-4o", "gpt-4o"],
  ["llm", "unnamed", "", ""],
  ["agent", "planner", "gpt-4o", ""],
])("%s %s with %s", (kind, name, model, want) => expect(modelBesideName(kind, name, model)).toBe(want));
