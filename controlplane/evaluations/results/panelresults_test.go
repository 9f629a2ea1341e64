package results

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
)

// TestNoScoreSaysWhy has the reasons of panels of which enough judges voted.
func TestNoScoreSaysWhy(t *testing.T) {
	t.Parallel()
	p := &evaluations.ReadyPanel{Panel: &evaluations.Panel{Name: "tone"}}
	for reason, want := range map[panel.Reason]struct{ text, code string }{
		panel.Tie: {"The judges are tied.", "judges_tied: tone"},
	} {
		output := outputKey{number: 1, repeat: 1}
		score := ScoreOf(p, &panel.OutputScore{Reason: reason, Judges: 2, Valid: 1})
		assert.Equal(t, want.text, score.Reason)
		r := &Results{reasons: map[evaluations.ReasonCount]int64{}, indexes: map[string]int{}, Items: make([]Item, 1)}
		r.addScore(output, score, NoScoreCode(reason))
		assert.Equal(t, map[evaluations.ReasonCount]int64{{Side: &evaluations.SideNames[evaluations.SideA], Code: want.code}: 1}, r.reasons)
	}
}
