package findings

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/recorded/edit"
)

// TestApply makes edits in a version of a prompt.
func TestApply(t *testing.T) {
	t.Parallel()
	const system, user, tool = `{"role":"developer","content":"You are {{tone}}."}`, `{"role":"user","content":"{{question}}"}`, `{"type":"function","function":{"name":"find"}}`
	id := uuid.New()
	for name, c := range map[string]struct {
		edits            string
		plain            bool
		messages, tools  string // as before if empty
		config           string
		changes, leftOut int
	}{
		"a system message keeps its role": {
			edits: `[{"target":"all","set":{"system_prompt":"Ask."}}]`, messages: `[{"content":"Ask.","role":"developer"},` + user + `]`, changes: 1,
		},
		"a text that a template would read is left out": {edits: `[{"target":"all","set":{"system_prompt":"Use {{x}}."}}]`, leftOut: 1},
		"a plain prompt has it": {
			edits: `[{"target":"all","set":{"system_prompt":"Use {{x}}."}}]`, plain: true, messages: `[{"content":"Use {{x}}.","role":"developer"},` + user + `]`, changes: 1,
		},
		"system messages replace system messages": {
			edits:    `[{"target":"all","set":{"prompt":{"id":"` + uuid.NewString() + `","version":1,"messages":[{"role":"system","content":"a"}]}}}]`,
			messages: `[{"role":"system","content":"a"},` + user + `]`, changes: 1,
		},
		"other messages replace all": {
			edits: `[{"target":"all","set":{"messages":[{"role":"user","content":"a"}]}}]`, messages: `[{"role":"user","content":"a"}]`, changes: 1,
		},
		"a version is itself": {edits: `[{"target":"all","set":{"prompt":{"id":"` + id.String() + `","version":3,"messages":[]}}}]`},
		"a model and parameters": {
			edits:  `[{"target":"all","set":{"model":"m"}},{"target":"all","set":{"params":{"max_tokens":5,"temperature":null,"stop":"x","user":"u","top_k":null}}}]`,
			config: `{"model":"m","max_output_tokens":5,"stop":["x"],"extra":{"user":"u","old":1}}`, changes: 2,
		},
		"a tool replaces that of its name": {
			edits: `[{"target":"all","set":{"tool_schema":{"type":"function","function":{"name":"find","description":"d"}}}}]`,
			tools: `[{"type":"function","function":{"name":"find","description":"d"}}]`, changes: 1,
		},
		"another tool is added": {
			edits: `[{"target":"all","set":{"tool_schema":{"type":"function","function":{"name":"book"}}}}]`,
			tools: `[` + tool + `,{"type":"function","function":{"name":"book"}}]`, changes: 1,
		},
		"a timeout is no part of a prompt": {edits: `[{"target":{"kind":"tool"},"set":{"timeout_ms":5}}]`, leftOut: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const before = `{"model":"old","temperature":1,"extra":{"top_k":4,"old":1}}`
			p := Prompt{
				ID: id, Version: 3, Plain: c.plain, ModelConfig: json.RawMessage(before),
				Messages: []json.RawMessage{json.RawMessage(system), json.RawMessage(user)}, Tools: []json.RawMessage{json.RawMessage(tool)},
			}
			var edits []edit.Edit
			require.NoError(t, json.Unmarshal([]byte(c.edits), &edits))
			changes, leftOut, err := p.apply(edits)
			require.NoError(t, err)
			assert.Len(t, changes, c.changes)
			assert.Len(t, leftOut, c.leftOut)
			for _, part := range []struct {
				want, before string
				got          any
			}{{c.messages, `[` + system + `,` + user + `]`, p.Messages}, {c.tools, `[` + tool + `]`, p.Tools}, {c.config, before, p.ModelConfig}} {
				got, err := json.Marshal(part.got)
				require.NoError(t, err)
				if part.want == "" {
					part.want = part.before
				}
				assert.JSONEq(t, part.want, string(got))
			}
		})
	}
}

// TestEditsOfEarlierVersions are shown as they were stored.
func TestEditsOfEarlierVersions(t *testing.T) {
	t.Parallel()
	const stored = `[{"target":{"kind":"tool"},"set":{"tool_error":{"remove":true}}}]`
	r := row{Edits: stored}
	f, err := r.finding(nil)
	require.NoError(t, err)
	text, err := json.Marshal(f.Candidate.Edits)
	require.NoError(t, err)
	assert.JSONEq(t, stored, string(text))
	assert.True(t, f.Candidate.Edits.Removed())
}
