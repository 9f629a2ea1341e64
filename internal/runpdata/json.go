package runpdata

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

func valueJSON(value pcommon.Value) string { return anyJSON(jsonSafe(value.AsRaw())) }

func mapJSON(m pcommon.Map) string { return anyJSON(rawMap(m)) }

// anyJSON marshals a value that was made safe with jsonSafe, which cannot fail.
func anyJSON(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

func rawMap(m pcommon.Map) map[string]any {
	raw := m.AsRaw()
	jsonSafe(raw)
	return raw
}

// jsonSafe replaces the numbers in a raw value that JSON cannot express, NaN and the infinities, by text.
func jsonSafe(raw any) any {
	switch v := raw.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
	case []any:
		for i := range v {
			v[i] = jsonSafe(v[i])
		}
	case map[string]any:
		for key, value := range v {
			v[key] = jsonSafe(value)
		}
	}
	return raw
}

// jsonText returns the JSON text of an attribute that is either structured or a string of JSON.
func jsonText(value pcommon.Value) string { return valid(rawText(value)) }

// rawText is jsonText without the check for valid UTF-8.
func rawText(value pcommon.Value) string {
	if value.Type() != pcommon.ValueTypeStr {
		return valueJSON(value)
	}
	return value.Str()
}

func valid(text string) string {
	if utf8.ValidString(text) { // many times faster than ToValidUTF8
		return text
	}
	return strings.ToValidUTF8(text, string(utf8.RuneError))
}
