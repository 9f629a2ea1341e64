import { expect, it } from "vitest";
import { filterWords, runFilterOf } from "./runFilter";

it.each([
  [
    "agent_name=support&tag=beta&range=24h&start_after=2026-01-01T00:00:00Z&order=-cost_usd",
    "agent_name=support&tag=beta",
  ],
  ["search=%20refund%20&outcome=failed&outcome=recovered", "outcome=recovered&outcome=failed&search=refund"],
  ["metadata%5Btier%5D=gold&source=replay", "source=replay&metadata%5Btier%5D=gold"],
  ["status=nonsense", ""],
])("the filter of %s", (query, want) => expect(runFilterOf(query)).toBe(want));

it.each([
  ["", ""],
  ["agent_name=support&environment=production", "agent: support, environment: production"],
  [
    "outcome=failed&outcome=recovered&status=error&kind=agent&source=replay",
    "source: replay, outcome: recovered or failed, status: error, kind: agent",
  ],
  ["search=refund&min_tokens=2000&metadata%5Btier%5D=gold", "words: refund, tier: gold, tokens ≥ 2,000"],
])("%s in words", (query, want) => expect(filterWords(query)).toBe(want));
