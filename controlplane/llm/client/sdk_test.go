package client_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/test/provider"
)

// TestRequestsOfSDKs holds the requests to those that the official SDKs send for the same calls. The tests of
// test/provider/sdk record them.
func TestRequestsOfSDKs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/sdk-requests.json")
	require.NoError(t, err)
	var recorded map[string]struct {
		Method, URI string
		Header      map[string]string
		Body        json.RawMessage
	}
	require.NoError(t, json.Unmarshal(text, &recorded))
	const schema = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":7}},"required":["city","days"],"additionalProperties":false}`
	tool := func(name, schema string) json.RawMessage {
		return object("type", "function", "function", map[string]any{"name": name, "parameters": json.RawMessage(schema)})
	}
	hello := user("Grüße <a> & b")
	for name, want := range recorded {
		kind, call, _ := strings.Cut(name, "/")
		var request llm.Request
		switch name {
		case "openai/whole":
			request = llm.Request{
				Model: "text", Messages: hello, Temperature: ptr(0.5), MaxOutputTokens: ptr(int64(50)),
				Tools: []json.RawMessage{tool("weather", schema), tool("time", schema)},
				ResponseFormat: object("type", "json_schema", "json_schema", map[string]any{
					"name": "forecast", "strict": true, "schema": json.RawMessage(schema),
				}),
			}
		case "anthropic/whole":
			request = llm.Request{
				Model: "text", Messages: append([]json.RawMessage{object("role", "system", "content", "Be brief.")}, hello...),
				Temperature: ptr(0.5), MaxOutputTokens: ptr(int64(50)), Stop: []string{"end"},
				Tools: []json.RawMessage{tool("weather", strings.Replace(schema, `,"additionalProperties":false`, "", 1))},
			}
		default:
			request = llm.Request{Model: "text", Messages: hello}
		}
		server := provider.Start(t, provider.Options{})
		client := connect(t, connection(t, llm.Kind(kind), server))
		if call == "models" {
			_, err = client.Models(t.Context())
		} else {
			_, _, err = complete(t.Context(), client, request, call == "streamed")
		}
		require.NoError(t, err, name)
		sent := server.Requests()[0]
		assert.Equal(t, want.Method+" "+want.URI, sent.Method+" "+sent.URI, name)
		if want.Body != nil {
			assert.JSONEq(t, string(want.Body), string(sent.Body), name)
		}
		if call == "streamed" {
			want.Header["Accept"] = "text/event-stream" // the SDKs ask for JSON, and are sent a stream all the same
		}
		for header, value := range want.Header {
			assert.Equal(t, value, strings.ReplaceAll(sent.Header.Get(header), server.Key, "$API_KEY"), "%s: %s", name, header)
		}
	}
	assert.Len(t, recorded, 6)
}
