package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// checkNumbers refuses numbers that JSON cannot express.
func checkNumbers(r *llm.Request) error {
	for name, value := range map[string]*float64{"temperature": r.Temperature, "top_p": r.TopP} {
		if value != nil && (math.IsNaN(*value) || math.IsInf(*value, 0)) {
			return llm.Invalid(name, fmt.Sprintf("The value of %s is no number.", name), "")
		}
	}
	return nil
}

// checkList refuses what is not a JSON object.
func checkList(parameter string, list []json.RawMessage) error {
	for i, raw := range list {
		if _, err := llm.Members(raw); err != nil {
			return llm.Invalid(parameter, fmt.Sprintf("%s[%d] is not valid: %s.", parameter, i, err), "")
		}
	}
	return nil
}

// addExtra puts the members of Extra into a body.
func addExtra(body *llm.Object, r *llm.Request) error {
	if jsontext.IsNull(r.Extra) {
		return nil
	}
	extra, err := llm.Members(r.Extra)
	if err != nil {
		return llm.Invalid("extra", "extra is not valid: "+err.Error()+".", "")
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if _, clash := body.Values[name]; clash || name == "stream" {
			return llm.Invalid("extra."+name, fmt.Sprintf("extra.%s is also set by another part of the request.", name), "Leave one of them out.")
		}
		if name == "n" && string(extra[name]) != "1" {
			return llm.Invalid("extra.n", "A call takes one answer.", "Leave n out and repeat the call.")
		}
		body.Set(name, extra[name])
	}
	return nil
}

// HasExtra reports whether Extra has a member.
func HasExtra(r *llm.Request, name string) bool {
	extra, err := llm.Members(r.Extra)
	return err == nil && extra[name] != nil
}
