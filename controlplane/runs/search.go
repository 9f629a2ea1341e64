package runs

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/looptrace/looptrace/internal/clickhouse"
)

// search selects the runs that have all words of the search, and its quoted phrases, in one span or in one message.
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
		// A native run may state a later start than its first span has.
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
		" UNION DISTINCT SELECT run_id FROM contents ARRAY JOIN shared_ids AS id, shared_tails AS tail WHERE "+sharing.String()+")",
		slices.Concat(spans.args, contents.args, sharing.args)...)
}

// phrasesOf returns the quoted parts of a search that contain a token. The last may lack its closing quote, because searches run while
// the user types.
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

// settings returns the SETTINGS clause of a statement on runs FINAL that has the filter's conditions. With a search, ClickHouse would
// read the columns that it orders by of every run in the window before it checks which runs were found. With this setting it checks ids
// first, which all versions of a row share.
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
