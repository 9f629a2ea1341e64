// Package sdk drives the scripted provider with the official SDKs of OpenAI and Anthropic, so that the provider stays true
// to the protocols, and records the requests that the SDKs send, to which package llm is held.
//
// It is a module of its own: the SDKs take minutes to compile, and the product needs neither. `make test-release` runs it.
package sdk
