package runs

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Filter selects runs of one project. A zero field does not filter.
type Filter struct {
	ProjectID      uuid.UUID
	Window         time.Duration // ends now
	StartAfter     time.Time     // inclusive
	StartBefore    time.Time     // exclusive
	Statuses       []string
	Outcomes       []string
	Replayability  []string // some of runmodel.Replayabilities
	Kinds          []string
	Search         string
	Name           string
	Model          string
	AgentName      string
	SessionID      string
	ConversationID string
	UserID         string
	Tag            string
	Environment    string
	Release        string
	AgentRelease   string `json:",omitzero"`
	ErrorType      string
	Prompts        []PromptMatch // a run has at least one of them
	Fingerprint    string
	Signals        []string          `json:",omitzero"` // a run has at least one of them
	Metadata       map[string]string // a run has all of them
	MinDuration    time.Duration
	MinCostUSD     *float64
	MinTokens      *int64
	HasScore       *bool
	// Traces is TracesGenAI, TracesOther or TracesAll. Empty is TracesGenAI.
	Traces string
	// Source is one of runmodel.Sources, or SourceAll. Empty is runmodel.SourceUser.
	Source string

	// failures follow from the project, and are not part of the Digest.
	failures definition
}

// Which traces a filter selects: those with a GenAI span, those without one, such as health checks, or both.
const (
	TracesGenAI = "genai"
	TracesOther = "other"
	TracesAll   = "all"
)

// SourceAll selects runs whatever made them.
const SourceAll = "all"

// failedItself is the condition that a run failed whatever its scores are.
const failedItself = "(fingerprint != '')"

// outcome is SQL that decides about runs, of those that started at a time or later, as runmodel.Run.Outcome does.
func (f Filter) outcome(start time.Time) (expression string, args []any) {
	failing, args := f.failures.failingSince(start)
	return "multiIf(status = '" + runmodel.StatusRunning + "', '" + runmodel.OutcomeRunning + "', " +
		failedItself + " OR run_id IN (SELECT run_id FROM (" + failing + ")), '" + runmodel.OutcomeFailed +
		"', error_count > 0, '" + runmodel.OutcomeRecovered + "', '" + runmodel.OutcomeSucceeded + "')", args
}

// readsScores reports whether scores decide which runs the filter selects.
func (f Filter) readsScores() bool {
	_, _, ofScores := runmodel.SplitScoreFingerprint(f.Fingerprint)
	return f.HasScore != nil || len(f.Outcomes) > 0 || ofScores
}

// Digest identifies a filter. A cursor is valid only with the filter that it was made for. A field that an earlier release did not have is
// omitted while it is zero, so that the cursors of that release stay valid.
func (f Filter) Digest() string {
	text, _ := json.Marshal(f) // these types always encode
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// at resolves the window, which ends now, to a lower bound of the start.
func (f Filter) at(now time.Time) Filter {
	if f.Window > 0 {
		if since := now.Add(-f.Window).UTC(); since.After(f.StartAfter) {
			f.StartAfter = since
		}
		f.Window = 0
	}
	return f
}

// conditions adds the filter's conditions on the table runs, except those on the start. lower bounds the start of the runs, and so of the
// spans that a search and of the scores that an outcome reads.
func (f Filter) conditions(w *where, lower time.Time) {
	f.shown(w)
	for _, equal := range []struct{ column, value string }{
		{"name", f.Name},
		{"agent_name", f.AgentName},
		{"session_id", f.SessionID},
		{"conversation_id", f.ConversationID},
		{"user_id", f.UserID},
		{"environment", f.Environment},
		{"release", f.Release},
		{"agent_release", f.AgentRelease},
		{"error_type", f.ErrorType},
	} {
		if equal.value != "" {
			w.add(equal.column+" = ?", equal.value)
		}
	}
	score, peers, ofScores := runmodel.SplitScoreFingerprint(f.Fingerprint)
	switch {
	case ofScores:
		f.failures.scoreFingerprint(w, lower, score, peers)
	case strings.HasPrefix(f.Fingerprint, runmodel.SignalFingerprint):
		w.add("has(signal_fingerprints, ?)", f.Fingerprint)
	case f.Fingerprint != "":
		w.add("fingerprint = ?", f.Fingerprint)
	}
	if len(f.Signals) > 0 {
		on, args := f.failures.signals("signals")
		w.add("hasAny("+on+", ?)", append(args, f.Signals)...)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		w.add("mapContains(metadata, ?) AND metadata[?] = ?", key, key, f.Metadata[key])
	}
	if len(f.Statuses) > 0 {
		w.add("status IN (?)", f.Statuses)
	}
	if len(f.Outcomes) > 0 {
		outcome, args := f.outcome(lower)
		w.add(outcome+" IN (?)", append(args, f.Outcomes)...)
	}
	if len(f.Replayability) > 0 {
		w.add("replayability IN (?)", f.Replayability)
	}
	if len(f.Kinds) > 0 {
		w.add("kind IN (?)", f.Kinds)
	}
	addPrompts(w, f.Prompts)
	if f.Model != "" {
		w.add("has(models, ?)", f.Model)
	}
	if f.Tag != "" {
		w.add("has(tags, ?)", f.Tag)
	}
	if f.MinDuration > 0 {
		w.add(hasEnd+" AND "+duration+" >= ?", f.MinDuration.Nanoseconds())
	}
	if f.MinCostUSD != nil {
		w.add("cost_usd >= ?", *f.MinCostUSD)
	}
	if f.MinTokens != nil {
		w.add("coalesce(input_tokens, 0) + coalesce(output_tokens, 0) + coalesce(other_tokens, 0) >= ?", *f.MinTokens)
	}
	if f.HasScore != nil {
		in := "run_id IN "
		if !*f.HasScore {
			in = "run_id NOT IN "
		}
		w.add(in + "(SELECT run_id FROM scores FINAL WHERE " + projectsMark + ")")
	}
	if f.Search != "" {
		f.search(w, lower)
	}
}

// shown adds the conditions of Traces and Source, which leave out runs unless they are asked for.
func (f Filter) shown(w *where) {
	switch f.Traces {
	case TracesAll:
	case TracesOther:
		w.add("NOT genai")
	default:
		w.add("genai")
	}
	if f.Source != SourceAll {
		w.add("source = ?", cmp.Or(f.Source, runmodel.SourceUser))
	}
}
