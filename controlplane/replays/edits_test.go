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
		`{"target":"all","set":{"latency_ms":5}}`: errRemovedEdit,
		`{"target":"all","set":{"timeout_ms":5}}`: nil,
	} {
		var config Config
		stored := `{"edits":[` + edit + `]}`
		require.NoError(t, json.Unmarshal([]byte(stored), &config))
		require.ErrorIs(t, config.Edits.known(), want)
		text, err := json.Marshal(config.Edits)
		require.NoError(t, err)
		assert.JSONEq(t, "["+edit+"]", string(text))
	}
}
