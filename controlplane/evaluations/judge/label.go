package judge

import (
	"encoding/json"
	"errors"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// Label reads what a person says of an output: as the value of an answer, and true or false on a binary scale.
func (s *Scale) Label(raw json.RawMessage) (value float64, label string, err error) {
	var yes bool
	if s.Type == Binary && json.Unmarshal(raw, &yes) == nil {
		value = 0
		if yes {
			value = 1
		}
		return value, s.Labels[int(value)], nil
	}
	if jsontext.IsNull(raw) {
		return 0, "", errors.New("there is none")
	}
	return s.read(raw)
}
