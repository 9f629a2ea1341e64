package runtools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/causes"
	"github.com/looptrace/looptrace/controlplane/mcpserver/tool"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// Causes finds candidates for the cause of a group of failed runs.
type Causes interface {
	Find(ctx context.Context, in access.Projects, filter runs.Filter, window time.Duration, fingerprint string) (causes.Found, error)
}

const (
	// maxShownCandidates is how many candidates are shown of a group.
	maxShownCandidates = 5
	// candidateTokens is how many tokens are shown of a candidate's title and edits, and maxShownEdits how many bytes of edits: a part of an
	// edit is of no use.
	candidateTokens = 400
	maxShownEdits   = 1200
)

// shownCandidate is a possible cause: what failed runs have more often than good ones of the agent.
type shownCandidate struct {
	Kind   string `json:"kind"`
	Failed string `json:"failed"`
	Good   string `json:"good"`
	// CI is the 95% interval of the difference of the shares.
	CI [2]float64 `json:"ci"`
	P  *float64   `json:"p"`
	// Separates reports that it is not chance.
	Separates bool `json:"separates"`
	// Recorded has the title, and the edits that undo it as replay.edit takes them, between marks.
	Recorded string `json:"recorded"`
}

// candidates returns the best candidates of a group. It returns none if there is too much to read.
func (t *tools) candidates(ctx context.Context, projects access.Projects, in *failuresInput, filter runs.Filter, window time.Duration) ([]shownCandidate, error) {
	found, err := t.causes.Find(ctx, projects, filter, window, in.Fingerprint)
	if errors.Is(err, runs.ErrTooExpensive) || errors.Is(err, runs.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it does
	}
	shown := []shownCandidate{}
	for i := range found.Candidates[:min(maxShownCandidates, len(found.Candidates))] {
		c := &found.Candidates[i]
		text := []string{c.Title}
		if len(c.MovesWith) > 0 {
			text = append(text, "Moves together with: "+strings.Join(c.MovesWith, "; "))
		}
		edits := string(jsontext.MustEncode(c.Edits))
		switch {
		case len(c.Edits) == 0:
			text = append(text, "No edit: "+c.WhyNoEdit)
		case len(edits) > maxShownEdits:
			text = append(text, fmt.Sprintf("The edits have %d bytes: GET /v1/agent/failed-runs/{fingerprint}/candidates has them.", len(edits)))
		default:
			text = append(text, "edits: "+edits)
		}
		shown = append(shown, shownCandidate{
			Kind: agentview.SafeName(string(c.Kind)), Failed: fmt.Sprintf("%d of %d", c.Failed.Count, c.Failed.Of), Good: fmt.Sprintf("%d of %d", c.Good.Count, c.Good.Of),
			CI: [2]float64{*tool.Rounded(&c.CI[0]), *tool.Rounded(&c.CI[1])}, P: tool.Rounded(&c.PAdjusted), Separates: c.Separates(), Recorded: t.Fence(found.FirstFailed.ID, "candidate", candidateTokens, strings.Join(text, "\n")),
		})
	}
	return shown, nil
}
