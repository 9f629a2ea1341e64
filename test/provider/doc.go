// Package provider is a provider of models that answers from a script: a real HTTP server that speaks the protocols of
// OpenAI, Azure and Anthropic, streamed or not, and refuses what they refuse, in their words.
//
//	POST /v1/chat/completions                     OpenAI; also under /openai/v1 and /compatible
//	POST /openai/deployments/{model}/chat/completions?api-version=…    Azure
//	POST /v1/messages                             Anthropic
//	GET  /v1/models, GET /v1/models/{model}       OpenAI; Anthropic with anthropic-version or x-api-key
//
// Three things decide what it answers: replies that a test queues (Server.Next), then the function Options.Answer, then
// the name of the model:
//
//	text               a fixed text, or a value that fits the schema where response_format or output_config.format has one
//	echo               the text of the last message
//	long               500 words
//	empty              no text
//	unicode, hostile   scripts, emoji, control characters; markup and instructions
//	tools              calls every tool that is offered, in parallel; once it has their results, like text
//	tool               the same with the first tool only
//	json-prose, json-cut, json-fenced    an answer that is no JSON, half of it, or in a code fence, despite a schema
//	reasoning          OpenAI counts reasoning and hides it; Anthropic sends thinking blocks where thinking is on
//	reasoning-content  sends reasoning_content and takes unknown parameters, as vLLM and DeepSeek
//	cached             input from the cache: 2048 tokens read, and for Anthropic 1024 written
//	no-usage           without usage (OpenAI)
//	length             ends because of its length
//	refusal            refuses: OpenAI's refusal, Anthropic's stop reason refusal
//	content-filter     ends because of a filter
//	pass-NN            with a schema the best value (true, the first of an enumeration, the maximum) with a probability of
//	                   NN percent and else another; without one, yes or no. Equal requests get equal answers
//	noisy-NN           the same, drawn anew for each repetition of a request
//	flaky-NN           like text, but NN percent of requests are answered with 429
//	no-max-tokens, no-temperature, no-schema, no-tools    like text, but refuse the parameter with 400
//	error-400, -401, -403, -404, -500, -529     the errors; 529 is 503 for OpenAI
//	error-429          with Retry-After in seconds; -ms has retry-after-ms too, -date a date, -long a day
//	error-quota, error-context                  no credit; the prompt is too long
//	stall              nothing until the client goes away
//	stall-stream, reset, cut, error-stream, bad-json, bad-sse    break after three tokens: see Fault
//	error-finish       ends with the finish reason error after three tokens, as aggregators do
//	bad-gateway        502 in HTML
//	huge               256 MiB of spaces
//	redirect           307 to another host name of this machine, where the model answers like text
//	gpt-…, claude-…    like tools; gpt-5…, o1…, o3…, o4… and claude-… reason, and OpenAI's of them refuse max_tokens and any
//	                   temperature but 1
//
// Any other model is unknown. A name may end in delays, as in text@200ms or text@200ms+5ms: the time to the first token,
// and between tokens. All models obey max_tokens, stop sequences and forced tool choices.
//
// What varies depends on the seed and the request alone: see Request.Draw.
package provider
