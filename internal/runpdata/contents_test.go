package runpdata

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestPreviewOfMessage checks that decoding only the beginning of a message's text yields the same preview.
func TestPreviewOfMessage(t *testing.T) {
	t.Parallel()
	pieces := []string{"a", "word ", `\n`, `\"`, `\\`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, "é", "語", "😀", strings.Repeat("long", 40)}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var parts []string
		for range 1 + random.IntN(3) {
			var content strings.Builder
			for range random.IntN(150) {
				content.WriteString(pieces[random.IntN(len(pieces)-random.IntN(len(pieces)))])
			}
			parts = append(parts, `{"type":"text","content":"`+content.String()+`"}`)
		}
		message := `{"role":"user","parts":[` + strings.Join(parts, ",") + `]}`
		_, whole, _ := runmodel.MessageText(message)
		role, begun, _ := runmodel.MessageBeginning(message, runmodel.PreviewLength)
		require.Equal(t, "user", role)
		require.Equal(t, truncate(whole), truncate(begun), message)
	}
}
