package evaluations

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/looptrace/looptrace/internal/utf8text"
)

// TargetType is where the outputs of an eval-run come from.
type TargetType string

// The types. Side a has the rest: the configuration, or the eval-run.
const (
	TargetExternal  TargetType = "external"
	TargetConfig    TargetType = "config"
	TargetReference TargetType = "reference"
	TargetEvalRun   TargetType = "eval_run"
	TargetRuns      TargetType = "runs"
)

// Target is what an eval-run evaluates. The members after Type are for recorded runs.
type Target struct {
	Type      TargetType `json:"type"`
	RunFilter string     `json:"run_filter"`
	From      *time.Time `json:"from"`
	To        *time.Time `json:"to"`
	MaxRuns   int        `json:"max_runs"`
	// Found says what became of the runs that match.
	Found *FoundRuns `json:"found,omitempty"`
}

// Sent reports whether the outputs of an evaluation of a type are sent to it, before its job runs.
func (c *Config) Sent(kind Type) bool {
	return kind == EvalRun && (c.Target.Type == TargetExternal || c.Target.Type == TargetRuns || c.Target.Type == "")
}

// FoundRuns says what became of the runs that a filter found. Selected is the sum of Evaluated, the counts of Skipped, and OtherSkipped.
type FoundRuns struct {
	// Matched are all that match, Selected those that were taken of them.
	Matched   int64         `json:"matched"`
	Selected  int64         `json:"selected"`
	Evaluated int64         `json:"evaluated"`
	Skipped   []SkippedRuns `json:"skipped"`
	// OtherSkipped are those with reasons that are not listed.
	OtherSkipped int64 `json:"other_skipped"`
}

// SkippedRuns counts runs that cannot be evaluated, for a reason.
type SkippedRuns struct {
	Reason string `json:"reason"`
	Runs   int64  `json:"runs"`
}

// Skip counts runs that cannot be evaluated by their reasons.
func (f *FoundRuns) Skip(reasons map[string]int64) {
	for _, one := range f.Skipped {
		reasons[one.Reason] += one.Runs
	}
	f.Skipped = []SkippedRuns{}
	for _, reason := range slices.SortedFunc(maps.Keys(reasons), func(x, y string) int {
		return cmp.Or(cmp.Compare(reasons[y], reasons[x]), cmp.Compare(x, y))
	}) {
		if len(f.Skipped) < MaxListed {
			f.Skipped = append(f.Skipped, SkippedRuns{utf8text.Storable(reason), reasons[reason]})
		} else {
			f.OtherSkipped += reasons[reason]
		}
	}
}

// Sentence says what is left out, empty if nothing is.
func (f *FoundRuns) Sentence() string {
	skipped := f.Selected - f.Evaluated
	if skipped == 0 {
		return ""
	}
	reasons := make([]string, 0, maxReasons+1)
	others := skipped
	for _, one := range f.Skipped[:min(len(f.Skipped), maxReasons)] {
		reasons, others = append(reasons, fmt.Sprintf("%d: %s", one.Runs, one.Reason)), others-one.Runs
	}
	if others > 0 {
		reasons = append(reasons, fmt.Sprintf("%d for other reasons", others))
	}
	return fmt.Sprintf("%d of %d recorded runs could not be evaluated (%s).", skipped, f.Selected, strings.Join(reasons, "; "))
}

// maxReasons is how many reasons a sentence names.
const maxReasons = 5
