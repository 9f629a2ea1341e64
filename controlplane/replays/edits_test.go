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
	for edit, want := range map[string]bool{
		`{"target":"all","set":{"latency_ms":5}}`:                           true,
		`{"target":{"span_id":"a000000000000002"},"set":{"resample":true}}`: true,
		`{"target":{"kind":"tool"},"set":{"tool_error":{"remove":true}}}`:   true,
		`{"target":{"kind":"tool"},"set":{"tool_error":{"type":"Down"}}}`:   false,
		`{"target":"all","set":{"timeout_ms":5}}`:                           false,
	} {
		var config Config
		stored := `{"edits":[` + edit + `]}`
		require.NoError(t, json.Unmarshal([]byte(stored), &config))
		assert.Equal(t, want, config.Edits.Removed())
		text, err := json.Marshal(config.Edits)
		require.NoError(t, err)
		assert.JSONEq(t, "["+edit+"]", string(text))
	}
}
