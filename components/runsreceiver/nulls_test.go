package runsreceiver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func TestDropNulls(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{}`:                         `{}`,
		`{"a":null}`:                 `{}`,
		` { "a" : null , "b" : 1 } `: `{"b":1}`,
		`{"b":1,"a":null,"c":[null,{"d":null}, 2 ]}`:             `{"b":1,"c":[null,{},2]}`,
		`{"a":"null","null":"\\\"null","x":null}`:                `{"a":"null","null":"\\\"null"}`,
		`{"a":null,"b":null,"c":{"d":true,"e":null},"f":-1.5e3}`: `{"c":{"d":true},"f":-1.5e3}`,
		`{"a":"nothing  here"}`:                                  `{"a":"nothing  here"}`,
	} {
		assert.Equal(t, want, string(dropNulls([]byte(in))), in)
	}
}

// A null is the same as an absent member, in every field of every message.
func TestNullFields(t *testing.T) {
	t.Parallel()
	const traceID, spanID = `"0af7651916cd43dd8448eb211c80319c"`, `"b7ad6b7169203331"`
	const body = `{"resourceSpans":[{"resource":{"attributes":null,"droppedAttributesCount":null},"schemaUrl":null,
		"scopeSpans":[{"scope":null,"schemaUrl":null,"spans":[{"traceId":` + traceID + `,"spanId":` + spanID + `,"parentSpanId":null,"traceState":null,
		"flags":null,"name":null,"kind":null,"startTimeUnixNano":null,"endTimeUnixNano":null,"droppedAttributesCount":null,"events":null,
		"links":[{"traceId":` + traceID + `,"spanId":` + spanID + `,"attributes":null,"flags":null}],"droppedEventsCount":null,"status":{"code":null,"message":null},
		"attributes":[{"key":"a","value":{"intValue":null}},{"key":"b","value":null},{"key":"c","value":{"arrayValue":{"values":null}}},{"key":"d","value":{"stringValue":"null"}}]}]}]}]}`
	var sink consumertest.TracesSink
	r := start(t, &sink)
	resp, text := send(t, r, sent{path: "/v1/traces", header: map[string]string{"Content-Type": typeJSON}, body: body})
	require.Equal(t, http.StatusAccepted, resp.StatusCode, text)
	require.Len(t, sink.AllTraces(), 1)
	span := sink.AllTraces()[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	assert.Equal(t, ptrace.SpanKindUnspecified, span.Kind())
	assert.Equal(t, map[string]any{"a": nil, "b": nil, "c": []any{}, "d": "null"}, span.Attributes().AsRaw())

	resp, text = send(t, r, sent{
		path: "/v1/logs", header: map[string]string{"Content-Type": typeJSON},
		body: `{"resourceLogs":[{"resource":null,"scopeLogs":[{"scope":null,"logRecords":[{"severityNumber":null,"timeUnixNano":null,"body":null,"traceId":null,"flags":null}]}]}]}`,
	})
	require.Equal(t, http.StatusAccepted, resp.StatusCode, text)
	assert.Equal(t, "{}", text, "nothing was rejected")
}

func FuzzDropNulls(f *testing.F) {
	for _, body := range []string{`{"a":null,"b":[null,{"c":null}],"d":"\\\\\"null"}`, `{"x" :null , "y":{}}`, `[null]`, `{"a":1e5 ,"b": null}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := weighJSON(body, maxDepth, 1<<20); err != nil {
			return
		}
		dropped := dropNulls(bytes.Clone(body))
		assert.Equal(t, withoutNulls(t, body), withoutNulls(t, dropped))
		if !bytes.Contains(body, []byte("null")) {
			assert.Equal(t, string(body), string(dropped))
		}
		assert.Equal(t, string(dropped), string(dropNulls(bytes.Clone(dropped))), "there is none left")
	})
}

// withoutNulls returns the tokens of JSON without null members, by a different decoder.
func withoutNulls(t *testing.T, body []byte) (tokens []json.Token) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	type level struct{ object, value bool } // value: the next token is the value of a member
	stack := []level{{}}
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return tokens
		}
		require.NoError(t, err)
		top := &stack[len(stack)-1]
		switch delim, _ := token.(json.Delim); {
		case delim == '}' || delim == ']':
			stack = stack[:len(stack)-1]
		case top.object && !top.value:
			top.value = true
		case top.object && token == nil:
			top.value = false
			tokens = tokens[:len(tokens)-1] // its key
			continue
		default:
			top.value = false
			if delim != 0 {
				stack = append(stack, level{object: delim == '{'})
			}
		}
		tokens = append(tokens, token)
	}
}
