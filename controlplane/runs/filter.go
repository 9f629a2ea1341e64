package runs

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/clickhouse"
)

// Filter selects runs of one project. Every read of several runs takes one. A zero member does not filter.
type Filter struct {
	ProjectID      uuid.UUID
	Window         time.Duration // back from now
	StartAfter     time.Time     // inclusive
	StartBefore    time.Time     // exclusive
	Statuses       []string
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
	ErrorType      string
	PromptID       string
	PromptVersion  string
	Fingerprint    string
	Metadata       map[string]string // all of them
	MinDuration    time.Duration
	MinCostUSD     *float64
	MinTokens      *int64
	HasScore       *bool
}

// Digest tells a filter from others: a cursor belongs to one.
func (f Filter) Digest() string {
	text, _ := json.Marshal(f) // strings, numbers and times always encode
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// at is the filter as it is meant at a moment: its window is a start bound then.
func (f Filter) at(now time.Time) Filter {
	if f.Window > 0 {
		if since := now.Add(-f.Window).UTC(); since.After(f.StartAfter) {
			f.StartAfter = since
		}
		f.Window = 0
	}
	return f
}

// where collects conditions with their arguments.
type where struct {
	conditions []string
	args       []any
}

func (w *where) add(condition string, args ...any) {
	w.conditions = append(w.conditions, condition)
	w.args = append(w.args, args...)
}

// inProjects begins the conditions of a statement.
func inProjects() where { return where{conditions: []string{projectsMark}} }

// hours bounds start_time to whole hours, which have both times among them.
func (w *where) hours(first, last time.Time) {
	w.startsIn(first.Truncate(time.Hour), last.Truncate(time.Hour).Add(time.Hour))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// period bounds a time column in the terms of the table's partition and sort key as well, so that neither parts nor
// granules outside it are read. A zero bound is none. Hours are those of UTC, as in the tables: not every zone's begin with
// them, and an engine has a zone of its own.
func (w *where) startsIn(lower, upper time.Time) {
	if !lower.IsZero() {
		ns := lower.UnixNano()
		w.add("start_time >= fromUnixTimestamp64Nano(?)", ns)
		w.add("toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))", ns)
	}
	if !upper.IsZero() {
		ns := upper.UnixNano()
		w.add("start_time < fromUnixTimestamp64Nano(?)", ns)
		w.add("toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))", ns-1) // the bound itself is outside
	}
}

// How long a run took, in nanoseconds, which has a meaning where its end is known: it is not while it is running, nor of one
// that was said to have failed, and not when.
const (
	hasEnd   = "toUnixTimestamp64Nano(end_time) != 0"
	duration = "toUnixTimestamp64Nano(end_time) - toUnixTimestamp64Nano(start_time)"
)

func (w *where) String() string { return strings.Join(w.conditions, " AND ") }

// conditions adds the filter's own conditions on the table runs, all but those on the start. lower bounds where the
// search looks for spans.
func (f Filter) conditions(w *where, lower time.Time) {
	for _, equal := range []struct{ column, value string }{
		{"name", f.Name},
		{"agent_name", f.AgentName},
		{"session_id", f.SessionID},
		{"conversation_id", f.ConversationID},
		{"user_id", f.UserID},
		{"environment", f.Environment},
		{"release", f.Release},
		{"error_type", f.ErrorType},
		{"prompt_id", f.PromptID},
		{"prompt_version", f.PromptVersion},
		{"fingerprint", f.Fingerprint},
	} {
		if equal.value != "" {
			w.add(equal.column+" = ?", equal.value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		w.add("mapContains(metadata, ?) AND metadata[?] = ?", key, key, f.Metadata[key])
	}
	if len(f.Statuses) > 0 {
		w.add("status IN (?)", f.Statuses)
	}
	if len(f.Kinds) > 0 {
		w.add("kind IN (?)", f.Kinds)
	}
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
		w.add("coalesce(input_tokens, 0) + coalesce(output_tokens, 0) >= ?", *f.MinTokens)
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

// settings end a statement on runs FINAL that has the filter's conditions. Of the runs of a search ClickHouse else reads what it
// orders by, of all that are in the time, before it looks whether they are among those that were found. It goes by ids, which
// all versions of a row have in common. Others are further settings of the statement.
func (f Filter) settings(others ...string) string {
	settings := slices.Clone(others)
	if f.Search != "" {
		settings = append(settings, "optimize_move_to_prewhere_if_final = 1")
	}
	if len(settings) == 0 {
		return ""
	}
	return " SETTINGS " + strings.Join(settings, ", ")
}

// search keeps the runs that have all the words, and the phrases in quotes as they stand, in one span or in one message of it.
func (f Filter) search(w *where, lower time.Time) {
	if !hasToken(f.Search) {
		w.add("false")
		return
	}
	phrases := phrasesOf(f.Search)
	matches := func(w *where, text string) {
		w.add("hasAllTokens("+text+", lowerUTF8(?))", f.Search)
		for _, phrase := range phrases {
			w.add("hasPhrase("+text+", lowerUTF8(?))", phrase)
		}
	}
	spans, contents, shared := inProjects(), inProjects(), inProjects()
	if !lower.IsZero() {
		// A native run may state a start that is later than its first span's.
		earliest := lower.Add(-24 * time.Hour)
		early := earliest.UnixNano()
		spans.add("toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))", early)
		contents.add("hour >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))", early)
		shared.add("day >= toDate(?)", dayNumber(earliest))
	}
	matches(&spans, clickhouse.SpansText)
	sharing := where{slices.Clone(contents.conditions), slices.Clone(contents.args)}
	matches(&shared, clickhouse.ContentsText)
	sharing.add("(id, tail) IN (SELECT content_id, shared_tail FROM shared_contents WHERE "+shared.String()+")", shared.args...)
	matches(&contents, clickhouse.ContentsText)
	w.add("run_id IN (SELECT run_id FROM spans WHERE "+spans.String()+
		" UNION DISTINCT SELECT run_id FROM contents WHERE "+contents.String()+
		" UNION DISTINCT SELECT run_id FROM contents ARRAY JOIN "+sharedNames+" WHERE "+sharing.String()+")",
		slices.Concat(spans.args, contents.args, sharing.args)...)
}

// sharedNames are the ids and tails of the shared contents that a row of contents names, those of a row of earlier versions too.
const sharedNames = "arrayPushBack(shared_ids, content_id) AS id, arrayPushBack(shared_tails, shared_tail) AS tail"

// phrasesOf are the parts of a search that stand in quotes and have a word. The last may lack its closing quote: a search is
// asked while it is typed.
func phrasesOf(search string) []string {
	var phrases []string
	for i, part := range strings.Split(search, `"`) {
		if i%2 == 1 && hasToken(part) {
			phrases = append(phrases, part)
		}
	}
	return phrases
}

// hasToken reports whether ClickHouse's splitByNonAlpha finds a token in text.
func hasToken(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r > unicode.MaxASCII || unicode.IsLetter(r) || unicode.IsDigit(r)
	})
}
