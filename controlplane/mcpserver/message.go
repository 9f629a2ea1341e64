package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// methods are the supported methods. The server has no resources, and no streams of changes, because a stream could
// outlive its key.
var methods = map[string]bool{
	"initialize": true, "ping": true, "server/discover": true, "tools/list": true, "tools/call": true,
	methodListPrompts: true, methodGetPrompt: true,
}

// notifications is the prefix of methods that get no response.
const notifications = "notifications/"

// methodNotFoundVersion is the first protocol version in which an unknown method has HTTP status 404.
const methodNotFoundVersion = "2026-07-28"

// reply is the response to a message that is not passed to the SDK: a notification, which has no effect without
// sessions, or an invalid request.
type reply struct {
	status  int
	id      any
	code    int
	message string
}

// replyTo returns the reply to a message that is not valid JSON-RPC or has an unsupported method, and nil for a message
// to pass to the SDK. The SDK would reply to these in plain text, which clients cannot parse.
func replyTo(body []byte, version string) *reply {
	switch {
	case !json.Valid(body):
		return &reply{http.StatusBadRequest, nil, jsonrpc.CodeParseError, "the body is not valid JSON"}
	case bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")):
		// A batch would count as one request for the rate limit.
		return &reply{http.StatusBadRequest, nil, jsonrpc.CodeInvalidRequest, "the protocol has no batches since 2025-06-18; send one message per request"}
	}
	message, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		return &reply{http.StatusBadRequest, nil, jsonrpc.CodeInvalidRequest, "the body is not a JSON-RPC 2.0 message: " + err.Error()}
	}
	request, ok := message.(*jsonrpc.Request)
	if !ok { // a response; the server sends no requests
		return nil
	}
	id := request.ID.Raw()
	switch {
	case !request.IsCall() && !strings.HasPrefix(request.Method, notifications):
		return &reply{http.StatusBadRequest, nil, jsonrpc.CodeInvalidRequest, "a request must have an id"}
	case !request.IsCall():
		return &reply{status: http.StatusAccepted}
	case !methods[request.Method]:
		status := http.StatusOK // as for other responses
		if version >= methodNotFoundVersion {
			status = http.StatusNotFound
		}
		return &reply{status, id, jsonrpc.CodeMethodNotFound, "unknown method; use tools/list, tools/call, prompts/list or prompts/get"}
	case len(request.Params) == 0 && (request.Method == "initialize" || request.Method == "tools/call" || request.Method == methodGetPrompt):
		return &reply{http.StatusOK, id, jsonrpc.CodeInvalidParams, request.Method + " requires params"}
	}
	return nil
}

func (r *reply) write(w http.ResponseWriter) {
	if r.code == 0 {
		w.WriteHeader(r.status)
		return
	}
	var response struct {
		JSONRPC string `json:"jsonrpc"`
		ID      any    `json:"id"` // null if the id cannot be read
		Error   struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	response.JSONRPC, response.ID = "2.0", r.id
	response.Error.Code, response.Error.Message = r.code, r.message
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, _ = w.Write(jsontext.MustEncode(response)) // fails only if the client disconnected
}
