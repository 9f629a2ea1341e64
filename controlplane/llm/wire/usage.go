package wire

import (
	"encoding/json"
	"math"
)

// maxTokens is more than the tokens of any call.
const maxTokens = 1e9

// tokens is a count that a provider tells. What cannot be one, such as a text or a negative number, is unknown: an answer that was paid
// is not lost for it, and no cost is made of it.
type tokens struct{ *int64 }

// UnmarshalJSON never fails.
func (t *tokens) UnmarshalJSON(raw []byte) error {
	t.int64 = nil
	var n *float64
	if json.Unmarshal(raw, &n) == nil && n != nil && *n >= 0 && *n <= maxTokens && *n == math.Trunc(*n) {
		t.int64 = new(int64(*n))
	}
	return nil
}
