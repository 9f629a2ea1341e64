package mapping

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/reading"
)

func TestKnownExports(t *testing.T) {
	t.Parallel()
	for file, test := range map[string]struct {
		shape Shape
		items []string
	}{
		"openai_chat.jsonl": {OpenAIChat, []string{
			`{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Capital of France?"}]} → {"role":"assistant","content":"Paris","weight":1}`,
			`{"messages":[{"role":"user","content":"Weather in Paris?"}],"tools":[{"type":"function","function":{"name":"weather"}}],"parallel_tool_calls":false} → {"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}]}`,
			`{"messages":[{"role":"user","content":"No answer"}]}`,
			`! 4 [messages: has no messages: it must be a list of them]`,
		}},
		"openai_preference.jsonl": {OpenAIChat, []string{
			`{"messages":[{"role":"user","content":"Hi"}],"tools":[],"parallel_tool_calls":true} → {"role":"assistant","content":"Hello!"} + {"non_preferred_output":[{"role":"assistant","content":"What?"}]}`,
		}},
		"openai_evals.jsonl": {OpenAIEvals, []string{
			`[{"role":"system","content":"Answer."},{"role":"user","content":"2+2"}] → "4"`,
			`"Capital of France?" → ["Paris","paris"] + {"topic":"geography"}`,
		}},
		"openai_evals_item.jsonl": {OpenAIEvals, []string{
			`{"question":"2+2"} → "4" + {"sample":{"output_text":"four"}}`,
			`{"ticket":"My monitor is off"}`,
		}},
		"promptfoo.yaml": {Promptfoo, []string{
			`{"question":"What is 2 + 2?","n":12345678901234567890} → "4"`,
			`{"question":"Capital of France?"} → "Paris" + {"category":"geography","description":"Capital","assert":[{"type":"contains","value":"Paris"},{"type":"equals","value":"Paris","weight":2}]}`,
			`! 21 [vars: is no object: the vars of a test that are in a file of their own cannot be read; put them into the test]`,
		}},
		"promptfoo.csv": {Promptfoo, []string{
			`{"question":"What is 2+2?","language":"en"} → "4" + {"__expected2":"contains: four","__description":"Sum","topic":"math","tags":["a","b,c"]}`,
			`{"question":"Capital of France?","language":null} → "Paris"`,
			`{"question":"Say it","language":"en"} + {"__expected1":"fn:output.length < 10"}`,
		}},
		"langfuse.json": {Langfuse, []string{
			`{"question": "What is AI?"} → {"answer": "Artificial Intelligence"} + {"category":"tech","langfuse":{"status":"ACTIVE","datasetId":"d1","datasetName":"faq","createdAt":"2026-01-01T00:00:00.000Z","updatedAt":"2026-01-01T00:00:00.000Z","mediaReferences":[]}} key=a1`,
			`"What is ML?" + {"metadata":"old","langfuse":{"status":"ARCHIVED","sourceTraceId":"t1","sourceObservationId":"o1","datasetId":"d1","datasetName":"faq","createdAt":"2026-01-01T00:00:00.000Z","updatedAt":"2026-01-01T00:00:00.000Z","mediaReferences":[]}} key=a2`,
		}},
		"langfuse.csv": {Langfuse, []string{
			`{"question":"What is AI?"} → "Artificial Intelligence" + {"category":"tech","langfuse":{"datasetId":"d1","status":"ACTIVE","createdAt":"2026-01-01T00:00:00.000Z","updatedAt":"2026-01-01T00:00:00.000Z","datasetName":"faq"}} key=a1`,
		}},
		"phoenix.jsonl": {Phoenix, []string{
			`{"question": "What is AI?"} → {"answer": "Artificial Intelligence"} + {"topic":"tech","phoenix":{"node_id":"RGF0YXNldEV4YW1wbGU6MQ=="}} key=RGF0YXNldEV4YW1wbGU6MQ== split=test`,
			`{"question": "What is ML?"} + {"phoenix":{"node_id":"RGF0YXNldEV4YW1wbGU6Mg==","splits":["train", "hard"]}} key=mine`,
		}},
		"phoenix.json": {Phoenix, []string{
			`{"question": "What is AI?"} → {"answer": "A"} + {"phoenix":{"node_id":"RGF0YXNldEV4YW1wbGU6MQ==","updated_at":"2026-01-01T00:00:00+00:00"}} key=RGF0YXNldEV4YW1wbGU6MQ==`,
		}},
		"phoenix.csv": {Phoenix, []string{
			`{"question":"What is AI?","context":{"page":3,"lines":[1, 2]}} → {"answer":"Artificial Intelligence"} + {"topic":"tech","phoenix":{"node_id":"RGF0YXNldEV4YW1wbGU6MQ=="}} key=mine split=test`,
			`{"question":"What is ML?"} + {"phoenix":{"node_id":"RGF0YXNldEV4YW1wbGU6Mg=="}} key=other`,
		}},
		"langsmith.jsonl": {LangSmith, []string{
			`{"question":"What is AI?"} → {"answer":"Artificial Intelligence"} + {"dataset_split":["test"],"topic":"tech","langsmith":{"created_at":"2026-01-01T00:00:00+00:00","modified_at":"2026-01-01T00:00:00+00:00","dataset_id":"9a3b36f7-b308-40a5-9b46-6613853b6330"}} key=8523d9e9-c123-4b23-9b46-210210d5289e split=test`,
			`{"question":"What is ML?"} + {"dataset_split":["a","b"],"langsmith":{"created_at":"2026-01-01T00:00:00+00:00","modified_at":"2026-01-01T00:00:00+00:00","dataset_id":"9a3b36f7-b308-40a5-9b46-6613853b6330","source_run_id":"8523d9e9-c123-4b23-9b46-210210d52800"}} key=8523d9e9-c123-4b23-9b46-210210d5289f`,
		}},
		"langsmith.csv": {LangSmith, []string{
			`{"question":"What is AI?"} → {"answer":"Artificial Intelligence"} key=8523d9e9-c123-4b23-9b46-210210d5289e`,
		}},
		"huggingface.json": {Columns, []string{
			`{"question":"What is AI?"} → {"text":["A"],"start":[0]}`,
			`! 4 [question: is truncated: the dataset viewer cuts large cells; download the file of the dataset, as Parquet, instead]`,
		}},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(filepath.Join("testdata", file))
			require.NoError(t, err)
			format, err := reading.DetectFormat("", file, content)
			require.NoError(t, err)
			m, items := preview(t, string(content), datasetfile.Options{Format: format})
			assert.Equal(t, test.shape, m.Shape)
			assert.Equal(t, test.items, items)
		})
	}
}
