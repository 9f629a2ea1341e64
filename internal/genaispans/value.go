package genaispans

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// countOf converts a number to a count: whole, not negative, and exact as a double.
func countOf(f float64) (int64, bool) {
	const exact = 1 << 53
	if !(f >= 0 && f <= exact) || f != math.Trunc(f) {
		return 0, false
	}
	return int64(f), true
}

// parseCount parses a count that was sent as text.
func parseCount(s string) (int64, bool) {
	s = strings.Trim(s, `" `)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, n >= 0
	}
	f, ok := parseNumber(s)
	if !ok {
		return 0, false
	}
	return countOf(f)
}

// isNumber reports whether a text is a whole number.
func isNumber(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// parseNumber parses a number that was sent as text.
func parseNumber(s string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.Trim(s, `" `), 64)
	return f, err == nil && isFinite(f)
}

// stringsOf reads a list of strings in any encoding.
func stringsOf(c *candidate) []string {
	if c.kind == fromAttribute && c.value.Type() == pcommon.ValueTypeSlice {
		list := make([]string, 0, c.value.Slice().Len())
		for _, element := range c.value.Slice().All() {
			if s := valueText(element); s != "" {
				list = append(list, s)
			}
		}
		return list
	}
	text := strings.TrimSpace(c.plain())
	if strings.HasPrefix(text, "[") {
		if elements, ok := parseArray(text); ok {
			list := make([]string, 0, len(elements))
			for _, element := range elements {
				if plain, isString := jsonString(element); isString {
					element = plain
				}
				if element != "" && element != "null" {
					list = append(list, element)
				}
			}
			return list
		}
	}
	if text == "" || text == "null" {
		return nil
	}
	if c.as == asCommas {
		list := strings.Split(text, ",")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		return list
	}
	return []string{unquoted(text)}
}

func boolOf(c *candidate) (value, ok bool) {
	if c.kind == fromAttribute && c.value.Type() == pcommon.ValueTypeBool {
		return c.value.Bool(), true
	}
	switch strings.ToLower(strings.Trim(c.plain(), `"`)) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// formatSeconds formats a duration as a number of seconds.
func formatSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'g', -1, 64) }

func timeOfMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// parseSpanID parses a hexadecimal span id. It returns the empty id if the text is invalid.
func parseSpanID(s string) (id pcommon.SpanID) {
	b, err := hex.DecodeString(s)
	if err == nil && len(b) == len(id) {
		copy(id[:], b)
	}
	return id
}
