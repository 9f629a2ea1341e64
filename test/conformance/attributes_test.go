package conformance

import (
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestAttributesAreTheReceivedOnes checks that the attributes of each recorded span are read as they were sent: none is added, and
// only those that the API returns in members of their own are left out.
func TestAttributesAreTheReceivedOnes(t *testing.T) {
	t.Parallel()
	spans, attributes := 0, 0
	require.NoError(t, filepath.WalkDir("testdata", func(file string, _ fs.DirEntry, err error) error {
		if name := filepath.Base(file); err != nil || filepath.Ext(name) != ".json" || name == "truth.json" || name == "logs.json" || name == "expected.json" {
			return err
		}
		p := readPayload(t, file, filepath.Join(filepath.Dir(file), "logs.json"))
		sent := sentAttributes(p.traces)
		runs, read := receive(t, p)
		for _, s := range allSpans(runs, read) {
			spans++
			want, got := sent[spanOfRun{s.RunID, s.SpanID}], s.RestoreAttributes()
			for _, key := range slices.Sorted(maps.Keys(got)) {
				attributes++
				if value, ok := want.span[key]; !ok {
					assert.Equal(t, want.resource[key], got[key], "%s: %s of %q was not sent", file, key, s.Name)
				} else {
					assert.JSONEq(t, asJSON(t, value), asJSON(t, got[key]), "%s: %s of %q", file, key, s.Name)
				}
			}
			for _, key := range slices.Sorted(maps.Keys(want.span)) {
				if _, ok := got[key]; !ok && want.span[key] != "" && want.span[key] != "[]" {
					assert.True(t, isMember(s.Span, key), "%s: %s of %q is lost", file, key, s.Name)
				}
			}
		}
		return nil
	}))
	require.NotZero(t, attributes)
	t.Logf("%d spans, %d attributes", spans, attributes)
}

// sentSpan are the attributes of a span and of its resource as they were sent.
type sentSpan struct{ span, resource map[string]any }

type spanOfRun struct {
	run  uuid.UUID
	span uint64
}

// sentAttributes returns what all versions of each span sent.
func sentAttributes(traces ptrace.Traces) map[spanOfRun]sentSpan {
	sent := make(map[spanOfRun]sentSpan)
	for _, rs := range traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				spanID := span.SpanID()
				id := spanOfRun{uuid.UUID(span.TraceID()), binary.BigEndian.Uint64(spanID[:])}
				if sent[id].span == nil {
					sent[id] = sentSpan{map[string]any{}, rs.Resource().Attributes().AsRaw()}
				}
				maps.Copy(sent[id].span, span.Attributes().AsRaw())
			}
		}
	}
	return sent
}

// isMember reports whether the API returns an attribute in a member of its own.
func isMember(s *runmodel.Span, key string) bool {
	switch key {
	case runmodel.KeyInputMessages:
		return len(s.InputMessageIDs) > 0
	case runmodel.KeyOutputMessages:
		return len(s.OutputMessageIDs) > 0
	case runmodel.KeySystemInstructions:
		return s.InstructionsID != 0
	case runmodel.KeyToolDefinitions:
		return s.ToolDefinitionsID != 0
	case runmodel.KeyToolCallArguments:
		return s.ToolArguments != ""
	case runmodel.KeyToolCallResult:
		return s.ToolResult != ""
	}
	return strings.HasPrefix(key, "looptrace.")
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
