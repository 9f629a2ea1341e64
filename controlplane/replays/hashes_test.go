package replays

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestHashOfARecording: a recording is another one if a request is, even if the answers are the same.
func TestHashOfARecording(t *testing.T) {
	t.Parallel()
	hash := func(question, answer string) string {
		text := func(role, content string) []json.RawMessage {
			message, err := json.Marshal(map[string]any{"role": role, "parts": []any{map[string]string{"type": "text", "content": content}}})
			assert.NoError(t, err)
			return []json.RawMessage{message}
		}
		span := recorded.Span{InputMessages: text("user", question), OutputMessages: text("assistant", answer)}
		span.SpanID, span.Kind, span.Name, span.RequestModel = 1, runmodel.KindLLM, "chat", "gpt-4o"
		span.StartTime = time.Unix(1_700_000_000, 0)
		return hashOf(recorded.Read([]recorded.Span{span}))
	}
	recorded := hash("Where is my order?", "On its way.")
	assert.Equal(t, recorded, hash("Where is my order?", "On its way."))
	assert.NotEqual(t, recorded, hash("Where is my parcel?", "On its way."))
	assert.NotEqual(t, recorded, hash("Where is my order?", "Lost."))
}
