package diff

import (
	"strconv"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/runs"
)

// Masks of an id and of a time.
const (
	idMask   = "‹id›"
	timeMask = "‹time›"
)

// clockRange is how near to the run's start a time must be to be taken for one that the run read from a clock.
const clockRange = 36 * time.Hour

// idOrTime is an id or a time in a text.
type idOrTime struct {
	from, to int
	at       time.Time // zero for an id
}

// findIDsAndTimes finds the ids and times of a text, which differ in another run that does the same. Ids are UUIDs, hexadecimal strings
// of 16 or more digits with letters, and those of model providers. Dates without a time of day and numbers are not masked, because they
// are mostly what a run is about.
func findIDsAndTimes(text string, found func(idOrTime)) {
	for i := 0; i < len(text); {
		if !isTokenByte(text[i]) {
			i++
			continue
		}
		end, digits, letters, hex := i, 0, 0, true
		for ; end < len(text) && isTokenByte(text[end]); end++ {
			switch c := text[end]; {
			case c >= '0' && c <= '9':
				digits++
			case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
				letters++
			default:
				hex = false
				letters++
			}
		}
		const shortest = 10
		if digits < 2 || end-i < shortest {
			i = end
			continue
		}
		word := text[i:end]
		switch {
		case isTime(text, i, found, &end):
		case letters == 0 && isEpoch(text, i, end, found, &end):
		case len(word) >= uuidLength && isUUID(word[len(word)-uuidLength:]):
			found(idOrTime{from: end - uuidLength, to: end})
		case hex && letters > 0 && len(word) >= 16, isProviders(word):
			found(idOrTime{from: i, to: end})
		}
		i = end
	}
}

func isTokenByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-'
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

const uuidLength = 36

func isUUID(word string) bool {
	for i := range len(word) {
		c := word[i]
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
		} else if !isHex(c) {
			return false
		}
	}
	return true
}

// providersIDs are prefixes of ids of model providers.
var providersIDs = []string{
	"call_", "toolu_", "srvtoolu_", "chatcmpl-", "cmpl-", "msg_", "resp_", "fc_", "rs_", "ws_", "run_", "thread_", "asst_", "req_", "gen-", "batch_", "file-",
}

func isProviders(word string) bool {
	for _, prefix := range providersIDs {
		if rest, ok := strings.CutPrefix(word, prefix); ok && len(rest) >= 8 && strings.ContainsAny(rest, "0123456789") {
			return true
		}
	}
	return false
}

// isTime finds a date with a time of day, in RFC 3339 or with a space.
func isTime(text string, from int, found func(idOrTime), end *int) bool {
	const shape, secondShape = "2006-01-02T15:04", ":05"
	if len(text)-from < len(shape) || text[from+4] != '-' || text[from+7] != '-' || text[from+13] != ':' {
		return false
	}
	to := from + len(shape)
	value := text[from:to]
	if value[10] == ' ' {
		value = value[:10] + "T" + value[11:]
	}
	at, err := time.Parse(shape, value)
	if err != nil {
		return false
	}
	digitsFrom := func(i int) int {
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
		}
		return i
	}
	if to < len(text) && text[to] == ':' && digitsFrom(to+1) == to+len(secondShape) {
		to += len(secondShape)
		if to < len(text) && (text[to] == '.' || text[to] == ',') {
			if fraction := digitsFrom(to + 1); fraction > to+1 {
				to = fraction
			}
		}
	}
	if to < len(text) {
		switch rest := text[to:]; {
		case rest[0] == 'Z':
			to++
		case (rest[0] == '+' || rest[0] == '-') && len(rest) >= 6 && rest[3] == ':' && digitsFrom(to+1) == to+3:
			to += 6
		}
	}
	found(idOrTime{from: from, to: to, at: at})
	*end = max(*end, to)
	return true
}

// isEpoch finds a time in seconds, milliseconds, microseconds or nanoseconds since 1970.
func isEpoch(text string, from, to int, found func(idOrTime), end *int) bool {
	var unit time.Duration
	switch to - from {
	case 10:
		unit = time.Second
	case 13:
		unit = time.Millisecond
	case 16:
		unit = time.Microsecond
	case 19:
		unit = time.Nanosecond
	default:
		return false
	}
	n, err := strconv.ParseInt(text[from:to], 10, 64)
	if err != nil {
		return false
	}
	at := time.Unix(0, 0)
	if unit == time.Second {
		at = time.Unix(n, 0)
	} else {
		at = at.Add(time.Duration(n) * unit)
	}
	if unit == time.Second && to+1 < len(text) && text[to] == '.' && text[to+1] >= '0' && text[to+1] <= '9' {
		for to++; to < len(text) && text[to] >= '0' && text[to] <= '9'; to++ {
		}
	}
	found(idOrTime{from: from, to: to, at: at})
	*end = to
	return true
}

// masker masks the ids that only its run has, and the times that the run read from a clock.
type masker struct {
	start time.Time
	// others are the ids of the other run. Ids of both runs are not masked.
	others map[string]struct{}
}

// eachMask finds what is masked in a text.
func (m *masker) eachMask(text string, found func(at idOrTime, mask string)) {
	findIDsAndTimes(text, func(at idOrTime) {
		if at.at.IsZero() {
			if _, both := m.others[text[at.from:at.to]]; !both {
				found(at, idMask)
			}
		} else if d := at.at.Sub(m.start); d <= clockRange && d >= -clockRange {
			found(at, timeMask)
		}
	})
}

// mask returns the masked text and the ids that were masked, in order.
func (m *masker) mask(text string) (masked string, maskedIDs []string) {
	var b strings.Builder
	copied := 0
	m.eachMask(text, func(at idOrTime, mask string) {
		b.WriteString(text[copied:at.from])
		b.WriteString(mask)
		copied = at.to
		if mask == idMask {
			maskedIDs = append(maskedIDs, text[at.from:at.to])
		}
	})
	if copied == 0 {
		return text, nil
	}
	b.WriteString(text[copied:])
	return b.String(), maskedIDs
}

// idsOf returns the ids in a run's texts.
func idsOf(spans []runs.Span) map[string]struct{} {
	ids := map[string]struct{}{}
	in := func(text string) {
		findIDsAndTimes(text, func(found idOrTime) {
			if found.at.IsZero() {
				ids[text[found.from:found.to]] = struct{}{}
			}
		})
	}
	for i := range spans {
		s := &spans[i]
		for _, text := range []string{s.Name, s.ToolArguments, s.ToolResult, s.Span.Inputs, s.Span.Outputs, s.ErrorMessage} {
			in(text)
		}
		for _, message := range s.InputMessages {
			in(string(message))
		}
		for _, message := range s.OutputMessages {
			in(string(message))
		}
	}
	return ids
}
