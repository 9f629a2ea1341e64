package results

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// MaxPermanentFailures is how often the votes of a judge, or the outputs of a side, may fail one after the other for a reason that lasts.
// Then the judge is stopped, or the evaluation fails.
const MaxPermanentFailures = 10

// readStops returns the judges that were stopped.
func (s *Reader) readStops(ctx context.Context, e *evaluations.Evaluation) (map[evaluations.JudgeKey]*panel.Stopped, error) {
	rows, err := postgres.Many[struct {
		Panel       int
		Judge       int
		ErrorCode   string
		ErrorDetail string
	}](ctx, s.db, "list stopped judges", pgx.NamedArgs{"id": e.ID})
	if err != nil {
		return nil, err
	}
	stops := map[evaluations.JudgeKey]*panel.Stopped{}
	for _, row := range rows {
		stops[evaluations.JudgeKey{Panel: row.Panel, Judge: row.Judge}] = &panel.Stopped{
			Failures: MaxPermanentFailures, Error: panel.Failure{Code: row.ErrorCode, Detail: utf8text.Cut(row.ErrorDetail, maxStopDetail)}, Remedy: remedyOf(row.ErrorCode),
		}
	}
	return stops, nil
}

// maxStopDetail is how many characters are shown of why a judge was stopped.
const maxStopDetail = 1000

// fixedFor has the codes of failures that lie in what a judge is, which no evaluation changes.
var fixedFor = map[string]bool{
	"model_not_found": true, "parameter_refused": true, "validation_failed": true, providers.CodeDeleted: true,
}

// remedyOf says what to do about a judge that was stopped.
func remedyOf(code string) string {
	if fixedFor[code] {
		return "Start another evaluation with another connection, model or parameters for it. Votes of the others are used again."
	}
	return "Fix that, then resume, with failed votes, too."
}

// stoppedWords names the judges for whose votes items wait, empty if there are none.
func stoppedWords(panels []PanelSummary) string {
	var names []string
	votes := 0
	for i := range panels {
		for j := range panels[i].Judges {
			if stopped := panels[i].Judges[j].Stopped; stopped != nil {
				names = append(names, panels[i].Judges[j].Name)
				votes += stopped.Votes
			}
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(": %s was stopped, and was not asked for %d votes", names[0], votes)
	}
	return fmt.Sprintf(": %s were stopped, and were not asked for %d votes", strings.Join(names, ", "), votes)
}

// unasked counts a vote that is missing on an output that is there, if its judge was stopped. An escalation waits for such a judge. It
// returns the judge that was stopped, or the one before.
func unasked(in *panel.Input, j, votes int, before *panel.Stopped) *panel.Stopped {
	stopped := in.Judges[j].Stopped
	switch {
	case in.Judges[j].Escalation && before != nil:
		before.EscalationVotes += votes
	case stopped != nil:
		stopped.Votes += votes
		if before == nil {
			return stopped
		}
	}
	return before
}
