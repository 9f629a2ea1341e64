package sdk_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/provider"
)

var update = flag.Bool("update", false, "write the recorded requests anew")

// recorded is where the tests of package llm read the requests of the SDKs.
const recorded = "../../../controlplane/llm/client/testdata/sdk-requests.json"

// request is a request of an SDK without what tells the SDK, its version and the connection.
type request struct {
	Method string            `json:"method"`
	URI    string            `json:"uri"`
	Header map[string]string `json:"header"`
	Body   json.RawMessage   `json:"body,omitempty"`
}

// TestRequests records what the SDKs send for calls that package llm can make, and fails if that has changed.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	params := chat("text", "Grüße <a> & b")
	params.Temperature, params.MaxCompletionTokens = openai.Float(0.5), openai.Int(50)
	params.Tools = offered()
	params.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "forecast", Schema: weather, Strict: openai.Bool(true)},
	}}
	streamed := chat("text", "Grüße <a> & b")
	streamed.StreamOptions.IncludeUsage = openai.Bool(true)
	asked := message("text", "Grüße <a> & b")
	asked.Temperature, asked.MaxTokens, asked.StopSequences = anthropic.Float(0.5), 50, []string{"end"}
	asked.System, asked.Tools = []anthropic.TextBlockParam{{Text: "Be brief."}}, claudeOffered()
	asked.Tools = asked.Tools[:1]

	calls := []struct {
		name string
		send func() error
	}{
		{"openai/whole", func() error {
			_, err := openAI(s).Chat.Completions.New(t.Context(), params)
			return err
		}},
		{"openai/streamed", func() error {
			_, _, err := streamChat(t.Context(), openAI(s), streamed)
			return err
		}},
		{"openai/models", func() error {
			_, err := openAI(s).Models.List(t.Context())
			return err
		}},
		{"anthropic/whole", func() error {
			_, err := claude(s).Messages.New(t.Context(), asked)
			return err
		}},
		{"anthropic/streamed", func() error {
			_, _, err := streamMessage(t.Context(), claude(s), message("text", "Grüße <a> & b"))
			return err
		}},
		{"anthropic/models", func() error {
			_, err := claude(s).Models.List(t.Context(), anthropic.ModelListParams{Limit: anthropic.Int(1000)})
			return err
		}},
	}
	sent := map[string]request{}
	for _, c := range calls {
		require.NoError(t, c.send(), c.name)
		requests := s.Requests()
		last := requests[len(requests)-1]
		sent[c.name] = request{Method: last.Method, URI: last.URI, Header: said(last.Header, s.Key), Body: last.Body}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(sent))
	if *update {
		require.NoError(t, os.WriteFile(recorded, text.Bytes(), 0o644))
		return
	}
	want, err := os.ReadFile(recorded)
	require.NoError(t, err)
	assert.Equal(t, string(want), text.String())
}

// said is what a header says of the call.
func said(header http.Header, key string) map[string]string {
	out := map[string]string{}
	for name := range header {
		switch {
		case strings.HasPrefix(name, "X-Stainless-"), name == "User-Agent", name == "Accept-Encoding", name == "Content-Length":
		default:
			out[name] = strings.ReplaceAll(header.Get(name), key, "$API_KEY")
		}
	}
	return out
}
