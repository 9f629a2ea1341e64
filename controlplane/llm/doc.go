// Package llm calls the APIs of model providers: OpenAI's chat completions, which many servers offer, and Anthropic's
// messages. Requests and messages have the shape of chat completions for both kinds.
//
// It makes one attempt per call: it has no retries, no limits of rate or money, and no store. The caller gives the HTTP
// client, whose address policy it has to choose (package outbound).
//
// What the user set is sent or refused, never left out in silence: a parameter that a provider's API does not have is an
// [Error] of kind [InvalidParameter] that suggests what to do.
//
// # Messages of Anthropic
//
// An assistant message whose blocks chat completions cannot express (thinking with its signature, blocks of server
// tools) carries them verbatim in the member anthropic_content, beside content, reasoning_content and tool_calls. A
// next request of kind anthropic sends them back as they are, as the API requires, unless content or tool_calls were
// edited: then it sends the thinking blocks first and the edited content after them. Requests of kind openai leave out
// anthropic_content and the reasoning_content that came with it.
//
// # Structured answers
//
// A response_format of type json_schema is asked for by the [Strategy] of the request. [Result].Structured has the JSON
// of the answer for every strategy, or nil if the answer has none.
//
// # API documents
//
//   - https://platform.openai.com/docs/api-reference/chat
//   - https://platform.openai.com/docs/guides/structured-outputs
//   - https://platform.openai.com/docs/guides/error-codes
//   - https://platform.claude.com/docs/en/api/messages
//   - https://platform.claude.com/docs/en/build-with-claude/streaming
//   - https://platform.claude.com/docs/en/build-with-claude/structured-outputs
//   - https://platform.claude.com/docs/en/build-with-claude/thinking
//   - https://platform.claude.com/docs/en/api/errors
//   - https://html.spec.whatwg.org/multipage/server-sent-events.html
package llm
