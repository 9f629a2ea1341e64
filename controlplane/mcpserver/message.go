package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// methods are those that have an answer here. Others of the protocol belong to what this server does not offer, such as prompts, and
// to streams of changes: nothing here changes, and a stream would outlive its key.
var methods = map[string]bool{"initialize": true, "ping": true, "server/discover": true, "tools/list": true, "tools/call": true}

// notifications is how the names of messages begin that have no answer.
const notifications = "notifications/"

// methodNotFoundVersion is the version of the protocol from which on an unknown method is 404 also in HTTP.
const methodNotFoundVersion = "2026-07-28"

// reply answers a message that is not handed on: a notification, of which nothing follows without sessions, or an error.
type reply struct {
	status  int
	id      any
	code    int
	message string
}

// replyTo holds a message to JSON-RPC and to the methods that there are, and is nil for one to hand on. The SDK answers what departs
// from them in plain text, which is no message to a client.
func replyTo(body []byte, version string) *reply {
	switch {
	case !json.Valid(body):
		return &reply{http.StatusBadRequest, nil, jsonrpc.CodeParseError, "the body is not JSON"}
	case bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")):
		// Many calls in one request would pass the limit of requests as one.
		return &reply{http.StatusBadRequest, nil, jsonrpc.CodeInvalidRequest, "one message a request: batches are no part of the protocol since 2025-06-18"}
	}
	message, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		return &reply{http.StatusBadRequest, nil, jsonrpc.CodeInvalidRequest, "the body is not a message of JSON-RPC 2.0: " + err.Error()}
	}
	request, ok := message.(*jsonrpc.Request)
	if !ok { // an answer: nothing was asked
		return nil
	}
	id := request.ID.Raw()
	switch {
	case !request.IsCall() && !strings.HasPrefix(request.Method, notifications):
		return &reply{http.StatusBadRequest, nil, jsonrpc.CodeInvalidRequest, "a request has an id"}
	case !request.IsCall():
		return &reply{status: http.StatusAccepted}
	case !methods[request.Method]:
		status := http.StatusOK // the answer to a call, as any other
		if version >= methodNotFoundVersion {
			status = http.StatusNotFound
		}
		return &reply{status, id, jsonrpc.CodeMethodNotFound, "there is no method of this name; there are tools/list and tools/call"}
	case len(request.Params) == 0 && (request.Method == "initialize" || request.Method == "tools/call"):
		return &reply{http.StatusOK, id, jsonrpc.CodeInvalidParams, request.Method + " needs params"}
	}
	return nil
}

func (r *reply) write(w http.ResponseWriter) {
	if r.code == 0 {
		w.WriteHeader(r.status)
		return
	}
	var answer struct {
		JSONRPC string `json:"jsonrpc"`
		ID      any    `json:"id"` // null where the message has none that can be read
		Error   struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	answer.JSONRPC, answer.ID = "2.0", r.id
	answer.Error.Code, answer.Error.Message = r.code, r.message
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, _ = w.Write(encode(answer)) // the client went away
}
