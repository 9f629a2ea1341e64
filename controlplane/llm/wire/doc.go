// Package wire has the forms of the providers' APIs: the bodies of requests and the answers, streamed or whole, of OpenAI
// and Anthropic, and refusals as these write them. It makes no calls.
package wire
