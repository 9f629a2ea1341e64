package e2e

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestHostileContent opens runs whose every text is hostile.
func TestHostileContent(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.play(t, "hostile", map[string]any{"runIds": p.sendHostileRuns(t)}, nil)
}

// hostile are texts that do harm where a page executes or fetches them.
var hostile = []string{
	`<script>window.__hostile = "script"</script>`,
	`<img src=x onerror="window.__hostile = 'onerror'">`,
	`<svg onload="window.__hostile = 'svg'"></svg>`,
	`<iframe srcdoc="<script>parent.__hostile = 'iframe'</script>"></iframe>`,
	`<iframe src="https://hostile.example/frame"></iframe>`,
	`<link rel="stylesheet" href="https://hostile.example/style.css">`,
	`<style>@import url(https://hostile.example/import.css);</style>`,
	`<a href="javascript:window.__hostile='link'">click</a>`,
	`[click](javascript:window.__hostile='markdown')`,
	`[click](JaVaScRiPt&colon;window.__hostile='entity')`,
	`[click](data:text/html,<script>window.__hostile='data'</script>)`,
	`![pixel](https://hostile.example/pixel.png)`,
	`![pixel](//hostile.example/relative.png)`,
	`<https://hostile.example/auto>`,
	`{"__proto__":{"hostile":true},"constructor":{"prototype":{"hostile":true}}}`,
	"{{constructor.constructor('window.__hostile=1')()}}",
	"\u202egnp.exe \x00 \x1b[31m",
}

// sendHostileRuns sends a run for each hostile text, which is every text in it, and returns their ids.
func (p *project) sendHostileRuns(t *testing.T) (ids []string) {
	t.Helper()
	start := time.Now().UTC().Add(-time.Hour)
	var runs, spans []any
	for i, text := range hostile {
		id := uuid.NewString()
		ids = append(ids, id)
		at := start.Add(time.Duration(i) * time.Second)
		failure := map[string]any{"type": text, "message": text, "stack": text}
		runs = append(runs, map[string]any{
			"run_id": id, "name": "hostile " + text, "start_time": at, "end_time": at.Add(time.Second), "inputs": text, "outputs": text,
			"status": "error", "error": failure, "session_id": text, "user_id": text, "tags": []string{text},
			"metadata": map[string]any{text: text}, "environment": text, "release": text, "attributes": map[string]any{text: text},
		})
		messages := []any{map[string]any{"role": text, "parts": []any{
			map[string]any{"type": "text", "content": text},
			map[string]any{"type": "reasoning", "content": text},
			map[string]any{"type": "tool_call", "id": text, "name": text, "arguments": map[string]any{text: text}},
			map[string]any{"type": "tool_call_response", "id": text, "response": text},
			map[string]any{"type": "uri", "modality": "image", "uri": "https://hostile.example/image.png"},
			map[string]any{"type": "uri", "modality": "image", "uri": "javascript:window.__hostile='uri'"},
			map[string]any{"type": "blob", "modality": "image", "mime_type": "image/svg+xml", "content": "PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+"},
			map[string]any{"type": text, text: text},
		}}}
		spans = append(spans,
			map[string]any{
				"span_id": "00000000000000b1", "run_id": id, "name": text, "kind": "llm", "start_time": at, "end_time": at.Add(time.Second),
				"model": text, "provider": text, "inputs": text, "outputs": text, "error": failure,
				"events": []any{map[string]any{"name": text, "time": at, "attributes": map[string]any{text: text}}},
				"attributes": map[string]any{
					"gen_ai.input.messages": messages, "gen_ai.output.messages": messages,
					"gen_ai.system_instructions": []any{map[string]any{"type": "text", "content": text}}, text: text,
				},
			},
			map[string]any{
				"span_id": "00000000000000b2", "run_id": id, "name": text, "kind": "tool", "start_time": at, "end_time": at.Add(time.Second),
				"tool": map[string]any{"name": text, "call_id": text, "arguments": text, "result": text},
			})
	}
	p.post(t, "", len(runs), len(spans), map[string]any{"sdk": hostile[0], "runs": runs, "spans": spans})
	for _, id := range ids {
		p.awaitRun(t, id, ofSpans(3))
	}
	return ids
}
