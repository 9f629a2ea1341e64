package llm

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// checkNumbers refuses numbers that JSON cannot express.
func checkNumbers(r *Request) error {
	for name, value := range map[string]*float64{"temperature": r.Temperature, "top_p": r.TopP} {
		if value != nil && (math.IsNaN(*value) || math.IsInf(*value, 0)) {
			return invalid(name, fmt.Sprintf("The value of %s is no number.", name), "")
		}
	}
	return nil
}

// checkList refuses what is not a JSON object.
func checkList(parameter string, list []json.RawMessage) error {
	for i, raw := range list {
		if _, err := members(raw); err != nil {
			return invalid(parameter, fmt.Sprintf("%s[%d] is not valid: %s.", parameter, i, err), "")
		}
	}
	return nil
}

// addExtra puts the members of Extra into a body.
func addExtra(body *object, r *Request) error {
	if jsontext.IsNull(r.Extra) {
		return nil
	}
	extra, err := members(r.Extra)
	if err != nil {
		return invalid("extra", "extra is not valid: "+err.Error()+".", "")
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if _, clash := body.values[name]; clash || name == "stream" {
			return invalid("extra."+name, fmt.Sprintf("extra.%s is also set by another part of the request.", name), "Leave one of them out.")
		}
		if name == "n" && string(extra[name]) != "1" {
			return invalid("extra.n", "A call takes one answer.", "Leave n out and repeat the call.")
		}
		body.set(name, extra[name])
	}
	return nil
}

// hasExtra reports whether Extra has a member.
func hasExtra(r *Request, name string) bool {
	extra, err := members(r.Extra)
	return err == nil && extra[name] != nil
}
