import type { Provider, ProviderCreate, ProviderKind, ProviderUpdate } from "@/api/types";
import { numberMistake } from "@/components/formErrors";

/** A header that is sent with each request. */
export interface HeaderField {
  name: string;
  value: string;
}

/** The fields of a connection as they are typed. */
export interface ProviderFields {
  name: string;
  kind: ProviderKind;
  baseUrl: string;
  /** Never filled with a stored key: the API doesn't tell it. */
  apiKey: string;
  removesKey: boolean;
  /** Null keeps the stored headers. */
  headers: HeaderField[] | null;
  maxConcurrency: string;
  requestsPerMinute: string;
  monthlyBudget: string;
  allowUnpriced: boolean;
}

/** The fields of a stored connection, or those of a new one. */
export function fieldsOf(provider: Provider | null): ProviderFields {
  const number = (value: number | null | undefined) => (value == null ? "" : String(value));
  return {
    name: provider?.name ?? "",
    kind: provider?.kind ?? "openai",
    baseUrl: provider?.base_url ?? "",
    apiKey: "",
    removesKey: false,
    headers: provider && provider.header_names.length > 0 ? null : [],
    maxConcurrency: number(provider ? provider.max_concurrency : 16),
    requestsPerMinute: number(provider?.requests_per_minute),
    monthlyBudget: number(provider?.monthly_budget_usd),
    allowUnpriced: provider?.allow_unpriced ?? false,
  };
}

/** Whether the address differs from the stored one. Then the key and headers are needed again. */
export function movesAway(fields: ProviderFields, provider: Provider | null): boolean {
  return provider !== null && fields.baseUrl.trim() !== provider.base_url;
}

/** Whether the form is filled in, without a mistake in its numbers. */
export function isComplete(fields: ProviderFields): boolean {
  const headers = fields.headers ?? [];
  const names = headers.map(({ name }) => name.trim().toLowerCase());
  return (
    fields.name.trim() !== "" &&
    fields.maxConcurrency !== "" &&
    !numberMistake(fields.maxConcurrency, true) &&
    !numberMistake(fields.requestsPerMinute, true) &&
    !numberMistake(fields.monthlyBudget) &&
    headers.every(({ name, value }) => name.trim() !== "" && value !== "") &&
    new Set(names).size === names.length
  );
}

/** The body that creates a connection. */
export function createOf(fields: ProviderFields): Omit<ProviderCreate, "project_id"> {
  return {
    name: fields.name.trim(),
    kind: fields.kind,
    ...(fields.baseUrl.trim() === "" ? {} : { base_url: fields.baseUrl.trim() }),
    ...(fields.apiKey === "" ? {} : { api_key: fields.apiKey }),
    ...(fields.headers && fields.headers.length > 0 ? { headers: headersOf(fields.headers) } : {}),
    ...limitsOf(fields),
    max_concurrency: Number(fields.maxConcurrency),
    allow_unpriced: fields.allowUnpriced,
  };
}

/** The body that changes a connection. Secrets that were not typed stay as they are. */
export function updateOf(fields: ProviderFields, provider: Provider): ProviderUpdate {
  const key = fields.removesKey ? { api_key: null } : fields.apiKey === "" ? {} : { api_key: fields.apiKey };
  return {
    name: fields.name.trim(),
    ...(movesAway(fields, provider) ? { base_url: fields.baseUrl.trim() } : {}),
    ...key,
    ...(fields.headers === null ? {} : { headers: headersOf(fields.headers) }),
    ...limitsOf(fields),
    max_concurrency: Number(fields.maxConcurrency),
    allow_unpriced: fields.allowUnpriced,
  };
}

function limitsOf({ requestsPerMinute, monthlyBudget }: ProviderFields) {
  const number = (text: string) => (text === "" ? null : Number(text));
  return { requests_per_minute: number(requestsPerMinute), monthly_budget_usd: number(monthlyBudget) };
}

function headersOf(headers: HeaderField[]): Record<string, string> {
  return Object.fromEntries(headers.map(({ name, value }) => [name.trim(), value]));
}

/** Addresses of servers that speak a kind's protocol. `header` is how they take the key, if not as a bearer token. */
export const ADDRESSES: Record<ProviderKind, { name: string; url: string; note: string; header?: string }[]> =
  {
    openai: [
      { name: "OpenAI", url: "https://api.openai.com/v1", note: "Also when the field is empty." },
      { name: "vLLM", url: "http://127.0.0.1:8000/v1", note: "Needs a key only if it was started with one." },
      { name: "Ollama", url: "http://127.0.0.1:11434/v1", note: "Needs no key." },
      {
        name: "OpenRouter",
        url: "https://openrouter.ai/api/v1",
        note: "Models have names like vendor/model.",
      },
      {
        name: "Azure OpenAI",
        url: "https://RESOURCE.openai.azure.com/openai/v1",
        note: "Takes the key in the header api-key. The model is the name of the deployment.",
        header: "api-key",
      },
    ],
    anthropic: [
      { name: "Anthropic", url: "https://api.anthropic.com", note: "Also when the field is empty." },
    ],
  };
