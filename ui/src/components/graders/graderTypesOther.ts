import { type Field, type GraderType, limit, type Name, threshold } from "./graderFields";

const EXPRESSION_NAMES: readonly Name[] = [
  { name: "input", meaning: "of the item" },
  { name: "reference", meaning: "of the item" },
  { name: "metadata", meaning: "of the item" },
  { name: "output", meaning: "as it is" },
  { name: "output_text", meaning: "the output as a text" },
  { name: "output_json", meaning: "the output as JSON, or null" },
  { name: "tool_calls", meaning: "a list of {id, name, arguments, result, error}, or null" },
  { name: "usage", meaning: "{input_tokens, output_tokens, total_tokens}" },
  { name: "cost_usd", meaning: "or null" },
  { name: "duration_ms", meaning: "or null" },
  { name: "time_to_first_token_ms", meaning: "or null" },
  { name: "finish_reason", meaning: "or null" },
];

/** Graders of what an output took and how it ended, and those that combine. */
export const OTHER_GRADERS: readonly GraderType[] = [
  {
    type: "budget",
    label: "Budget",
    description: "Tokens, cost, time and tool calls stay within limits",
    group: "Cost and ending",
    name: "budget",
    start: { max_cost_usd: 0.01 },
    fields: [
      limit("max_input_tokens", "Input tokens"),
      limit("max_output_tokens", "Output tokens"),
      limit("max_total_tokens", "Tokens in total"),
      limit("max_cost_usd", "Cost ($)"),
      limit("max_duration_ms", "Duration (ms)"),
      limit("max_time_to_first_token_ms", "Time to first token (ms)"),
      limit("max_tool_calls", "Tool calls"),
    ],
  },
  {
    type: "finish_reason",
    label: "Finish reason",
    description: "Why the model stopped",
    group: "Cost and ending",
    name: "complete",
    start: { allowed: ["stop", "tool_calls"] },
    fields: [
      {
        member: "allowed",
        label: "Allowed reasons",
        kind: "names",
        placeholder: "stop",
        least: 1,
        known: ["stop", "tool_calls", "length", "content_filter", "refusal"],
      },
    ],
  },
  {
    type: "refusal",
    label: "Refusal",
    description: "The provider says that the model refused, or not",
    group: "Cost and ending",
    name: "answers",
    start: {},
    fields: [
      {
        member: "expected",
        label: "It should refuse",
        help: "Passes if the model refused. Otherwise, it passes if it didn't.",
        kind: "flag",
      },
    ],
  },
  {
    type: "expression",
    label: "Expression",
    description: "A formula in CEL about the output, the tool calls and the cost",
    group: "Combinations",
    name: "expression",
    start: { expression: "output_text != ''" },
    fields: [
      {
        member: "expression",
        label: "CEL expression",
        help: "Gives true or false, a number from 0 to 1, or null if it doesn't apply. Numbers are doubles: write / 2.0.",
        kind: "expression",
        placeholder: "tool_calls.exists(c, c.name == 'refund' && c.error == null)",
        isRequired: true,
        names: EXPRESSION_NAMES,
      },
      { ...threshold, help: "Only for expressions that give a number." } as Field,
    ],
  },
  {
    type: "multi",
    label: "Several graders as one",
    description: "Their weighted mean, or a formula of their scores",
    group: "Combinations",
    name: "all",
    start: {
      graders: [
        { name: "correct", type: "string_check", operation: "eq", ignore_case: true },
        { name: "short", type: "length", max: 100, unit: "words", weight: 0 },
      ],
    },
    fields: [
      { member: "graders", label: "Graders", kind: "graders" },
      {
        member: "calculate_output",
        label: "Formula",
        help: "Of the graders' names, with + - * / ^, parentheses, min, max, abs, floor, ceil, exp, sqrt and log. Empty: the weighted mean.",
        kind: "line",
        placeholder: "weighted mean",
      },
      threshold,
    ],
  },
];
