package replay

import "github.com/looptrace/looptrace/internal/llm"

// LLM returns the request to send. Params that llm.Request has no member for are in Extra. Its error is a problem.Error of
// kind Invalid that names the parameter whose value cannot be sent.
func (r *Request) LLM() (llm.Request, error) { return r.llm() }

// ResponseOf returns the response that a result is.
func ResponseOf(result *llm.Result) Response { return responseOf(result) }
