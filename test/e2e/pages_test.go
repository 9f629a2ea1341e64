package e2e

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/programs"
)

// firstRunArrives follows the page that tells how to send the first run, with the code that it shows.
func (s *story) firstRunArrives(t *testing.T) {
	s.browser.Play(t, "firstrun", map[string]any{
		"base": s.web(), "projectId": s.projectID, "python": programs.Python(t, "e2e-python", "python/requirements.txt"), "scratch": t.TempDir(),
	}, nil)
}

// listInBrowser looks for runs in a list that is longer than a page.
func (s *story) listInBrowser(t *testing.T) {
	s.sendHay(t)
	s.browser.Play(t, "list", map[string]any{
		"base": s.web(), "projectId": s.projectID, "needle": s.needle, "needleName": "needle in the haystack",
		"needleWords": "canton lakes Graubünden",
	}, nil)
}

// sendHay sends more runs than a page of the list holds.
func (s *story) sendHay(t *testing.T) {
	t.Helper()
	const runs, atOnce = 300, 100
	start := time.Now().UTC().Add(-2 * time.Hour)
	for from := 0; from < runs; from += atOnce {
		hay := make([]any, atOnce)
		last := ""
		for i := range hay {
			at := start.Add(time.Duration(from+i) * time.Second)
			last = uuid.NewString()
			one := map[string]any{
				"run_id": last, "name": fmt.Sprintf("hay %d", from+i), "start_time": at, "end_time": at.Add(time.Second),
				"inputs": "Is this a needle?", "outputs": "No",
			}
			if i%7 == 0 {
				one["status"], one["error"] = "error", map[string]any{"type": "NoNeedle", "message": "it is hay"}
			}
			hay[i] = one
		}
		s.post(t, "", atOnce, 0, map[string]any{"runs": hay})
		s.awaitRun(t, last, ofSpans(1))
	}
}

// liveInBrowser watches runs that the scenario sends itself, each when it is time.
func (s *story) liveInBrowser(t *testing.T) {
	s.browser.Play(t, "live", map[string]any{"base": s.web(), "projectId": s.projectID, "key": s.ingestKey}, nil)
}

func (s *story) runInBrowser(t *testing.T) {
	if len(s.trips) == 0 {
		t.Skip("no SDK has sent a trip")
	}
	unpriced, withoutModel := "", ""
	for id, listed := range s.listed(t) {
		switch {
		case listed.CostUSD != nil:
		case listed.LLMCallCount > 0:
			unpriced = id
		default:
			withoutModel = id
		}
	}
	s.browser.Play(t, "run", map[string]any{
		"base": s.web(), "projectId": s.projectID, "runId": s.trips[0], "trip": readTrip(t),
		"unpriced": unpriced, "withoutModel": withoutModel,
	}, nil)
}

// viewsInBrowser reads a run from all sides and compares it with another.
func (s *story) viewsInBrowser(t *testing.T) {
	if len(s.trips) == 0 {
		t.Skip("no SDK has sent a trip")
	}
	s.browser.Play(t, "views", map[string]any{
		"base": s.web(), "projectId": s.projectID, "runId": s.trips[0], "otherRunId": s.needle, "trip": readTrip(t),
	}, nil)
}

// longRunInBrowser reads a run of 10,000 spans.
func (s *story) longRunInBrowser(t *testing.T) {
	const spans = 10_000
	s.long = s.sendLongRun(t, spans)
	s.browser.Play(t, "long", map[string]any{"base": s.web(), "projectId": s.projectID, "runId": s.long, "spans": spans}, nil)
}

func (s *story) sessions(t *testing.T) {
	s.browser.Play(t, "sessions", map[string]any{
		"base": s.web(), "projectId": s.projectID, "runId": s.needle, "email": email, "password": password,
	}, nil)
}

// everyPage takes screenshots of every page and examines it.
func (s *story) everyPage(t *testing.T) {
	input := map[string]any{"base": s.web(), "projectId": s.projectID, "needle": s.needle}
	if len(s.trips) > 0 {
		input["trip"] = s.trips[0]
	}
	if s.long != "" {
		input["largest"] = s.long
	}
	s.browser.Play(t, "pages", input, nil)
}

// hostile are texts that an attacker hopes to see executed or fetched.
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

// hostileContent posts runs whose every text is hostile and opens all of it.
func (s *story) hostileContent(t *testing.T) {
	start := time.Now().UTC().Add(-time.Hour)
	var runs, spans []any
	var ids []string
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
	s.post(t, "", len(runs), len(spans), map[string]any{"sdk": hostile[0], "runs": runs, "spans": spans})
	for _, id := range ids {
		s.awaitRun(t, id, ofSpans(3))
	}
	s.browser.Play(t, "hostile", map[string]any{"base": s.web(), "projectId": s.projectID, "runIds": ids}, nil)
}

// restart stops the product and starts it on the same data: the same runs, the same user, the same session.
func (s *story) restart(t *testing.T) {
	before := s.runs(t, url.Values{})
	require.NotEmpty(t, before)
	require.NoError(t, s.product.Down(), "it stops in order")
	begin := time.Now()
	require.NoError(t, s.product.Up(t.Context()))
	t.Logf("next start: ready after %.1f s", time.Since(begin).Seconds())

	assert.True(t, s.bootstrapped(t), "no setup again")
	after := s.runs(t, url.Values{})
	assert.Equal(t, before, after, "the same runs")
	s.browser.Play(t, "again", map[string]any{"base": s.web(), "projectId": s.projectID}, nil)

	id := uuid.NewString()
	s.post(t, "", 1, 0, map[string]any{"runs": []any{map[string]any{"run_id": id, "name": "after the restart", "start_time": time.Now()}}})
	s.awaitRun(t, id, ofSpans(1))
}
