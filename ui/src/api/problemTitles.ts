import type { components } from "./schema.gen";

/** What failed, by the code of a problem. */
const byCode: Record<string, string> = {
  address_not_allowed: "This address isn't allowed",
  alias_protected: "The alias is protected",
  body_too_large: "The request is too large",
  budget_exceeded: "The call could exceed its cost limit",
  content_refused: "The provider refuses the content",
  context_length_exceeded: "The messages are too long for the model",
  dataset_busy: "An import into the dataset is running",
  dependency_unavailable: "The server can't answer right now",
  internal: "The server failed",
  invitation_for_other: "The invitation is for someone else",
  key_expired: "The key has expired",
  key_revoked: "The key is revoked",
  last_organization: "This is the only organization",
  last_owner: "An organization needs an owner",
  model_not_found: "The provider doesn't have this model",
  name_taken: "The name is taken",
  price_unknown: "The model has no price",
  provider_broken_answer: "The provider's answer can't be read",
  provider_busy: "The connection is busy",
  provider_error: "The provider failed",
  provider_key_refused: "The provider refuses the API key",
  provider_key_unreadable: "The stored API key can't be read",
  provider_overloaded: "The provider is overloaded",
  provider_permission_denied: "The API key can't use this model",
  provider_quota_exceeded: "The provider's quota is used up",
  provider_rate_limited: "The provider's rate limit is reached",
  provider_timeout: "The provider didn't answer in time",
  provider_unreachable: "The provider can't be reached",
  stale_base_revision: "Someone changed it meanwhile",
  stale_base_version: "Someone saved another version meanwhile",
  throttled: "Too many attempts",
  too_many_streams: "Too many streams and exports are open",
  too_much_at_once: "Too many requests at once",
  too_much_work: "This needs too much work",
  upstream_silent: "The server isn't answering",
  upstream_unavailable: "The server can't be reached",
};

/** What failed, by the status of a problem whose code says no more. */
const byStatus: Record<number, string> = {
  400: "The request can't be read",
  401: "You aren't logged in",
  402: "A spending limit doesn't allow this",
  403: "You don't have permission",
  404: "Not found",
  408: "The request took too long to arrive",
  409: "This isn't possible now",
  412: "Someone changed it meanwhile",
  413: "It is too large",
  422: "Some values aren't valid",
  429: "Too many requests",
  500: "The server failed",
  502: "Another server failed",
  503: "The server can't answer right now",
};

/** What failed, in a few words: the title of a problem is only the name of its status. */
export function titleOf({ code, status, title, errors }: components["schemas"]["Problem"]): string {
  if (code === "parameter_refused") {
    const parameter = errors?.[0]?.location.replace(/^body\.(model_config\.?)?/, "");
    return `The model refuses ${parameter || "a parameter"}`;
  }
  return byCode[code] ?? byStatus[status] ?? title;
}
