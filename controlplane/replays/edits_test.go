package replays

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEditsOfEarlierVersions are shown as they were stored, and make no more attempts.
func TestEditsOfEarlierVersions(t *testing.T) {
	t.Parallel()
	for edit, want := range map[string]error{
		`{"target":"all","set":{"latency_ms":5}}`:                           errRemovedEdit,
		`{"target":{"span_id":"a000000000000002"},"set":{"resample":true}}`: errRemovedEdit,
		`{"target":{"kind":"tool"},"set":{"tool_error":{"remove":true}}}`:   errRemovedEdit,
		`{"target":{"kind":"tool"},"set":{"tool_error":{"type":"Down"}}}`:   nil,
		`{"target":"all","set":{"timeout_ms":5}}`:                           nil,
	} {
		var config Config
		stored := `{"edits":[` + edit + `]}`
		require.NoError(t, json.Unmarshal([]byte(stored), &config))
		require.ErrorIs(t, known(config.Edits), want)
		text, err := json.Marshal(config.Edits)
		require.NoError(t, err)
		assert.JSONEq(t, "["+edit+"]", string(text))
	}
}
