package runpdata

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

func valueJSON(value pcommon.Value) string { return anyJSON(written(value.AsRaw())) }

func mapJSON(m pcommon.Map) string { return anyJSON(rawMap(m)) }

// anyJSON is the JSON of a value that written has been through, which can all be written.
func anyJSON(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

func rawMap(m pcommon.Map) map[string]any {
	raw := m.AsRaw()
	written(raw)
	return raw
}

// written puts a text in the place of each number in a raw value that JSON cannot write: NaN and the infinities.
func written(raw any) any {
	switch v := raw.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
	case []any:
		for i := range v {
			v[i] = written(v[i])
		}
	case map[string]any:
		for key, value := range v {
			v[key] = written(value)
		}
	}
	return raw
}

// jsonText is the JSON text of a value that an attribute carries either as a structure or as a string of JSON.
func jsonText(value pcommon.Value) string { return valid(rawText(value)) }

// rawText is jsonText that may not be valid UTF-8.
func rawText(value pcommon.Value) string {
	if value.Type() != pcommon.ValueTypeStr {
		return valueJSON(value)
	}
	return value.Str()
}

func valid(text string) string {
	if utf8.ValidString(text) { // which is many times faster than ToValidUTF8
		return text
	}
	return strings.ToValidUTF8(text, string(utf8.RuneError))
}
