package genaispans

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestCommonMessages checks that the single pass over common messages writes the same as the general path.
func TestCommonMessages(t *testing.T) {
	t.Parallel()
	for text, isCommon := range map[string]bool{
		`[{"role":"user","content":"Hi \"you\""}]`:                                                                                                     true,
		` [ { "role" : "user" , "content" : [ { "type" : "text" , "text" : "Hi" } ] } ] `:                                                              true,
		`[{"role":"user","content":""},{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}}]}]`: true,
		`[{"role":"tool","tool_call_id":"c","content":"rainy"},{"role":"tool","content":"dry","tool_call_id":"d"}]`:                                    true,
		`[{"role":"tool","tool_call_id":"c","content":null}]`:                                                                                          true,
		`[{"content":"Hi","role":"user"}]`:                                                                                                             true,
		`[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"rainy"}]}]`:                                                     true,
		`[{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool-call","toolCallId":"c","toolName":"f","input":{}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"f","output":{"type":"json","value":[1]}}]}]`: true,
		`[{"role":"user","content":[]}]`:                                              true,
		`[{"role":"tool","content":[]}]`:                                              false,
		`[{"role":"tool","content":[{"type":"text","text":"a"}],"tool_call_id":"c"}]`: false,
		`[{"content":[{"type":"text","text":"a"}],"role":"user"}]`:                    false,
		`[{"role":"user","content":["a"]}]`:                                           false,
		`[{"role":"model","content":"Hi"}]`:                                           false,
		`[{"role":"user","content":"Hi","name":"Ann"}]`:                               false,
		`[{"role":"user","content":"Hi"},{"role":"user"`:                              false,
		`[{"role":"user","content":"Hi"},{"role":"user","content":7}]`:                false,
		`[{"role":"user","content":"Hi"},"there"]`:                                    false,
		`[{"role":"user","content":"Hi"}] and more`:                                   false,
		`[{"role":"user","content":"a","content":"b"}]`:                               false,
		`[]`: false,
	} {
		w := writer{b: []byte("[")}
		assert.Equal(t, isCommon, w.common(text), text)
		if !isCommon {
			assert.Equal(t, writer{b: []byte("[")}, w, text)
			continue
		}
		general := writer{b: []byte("[")}
		elements, _ := parseArray(text)
		general.list(elements, "user")
		assert.Equal(t, string(general.b), string(w.b), text)
	}
}
