package rules

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strings"

	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/problem"
)

// By what runs belong together, beside paths of metadata.
const (
	BySession = "session"
	ByUser    = "user"

	ofMetadata = "metadata."
)

func checkGroupBy(path string) error {
	const location = "body.group_by"
	if err := validate.Printable(location, path); err != nil {
		return err //nolint:wrapcheck // it is for the client
	}
	if path != BySession && path != ByUser && (!strings.HasPrefix(path, ofMetadata) || path == ofMetadata) {
		return problem.InvalidField(location, "must be session, user, or a path in the metadata, such as metadata.customer")
	}
	return nil
}

// groupKey is the same for runs that belong together. It is nil for a run without a value.
func groupKey(by string, source *runs.Source, sample *grader.Sample) *int64 {
	var value any
	switch by {
	case BySession:
		value = source.Run.SessionID
	case ByUser:
		value = source.Run.UserID
	default:
		value = at(sample.Metadata, strings.TrimPrefix(by, ofMetadata))
	}
	if value == nil || value == "" {
		return nil
	}
	text, err := json.Marshal(value)
	if err != nil { // it came from JSON
		return nil
	}
	sum := sha256.Sum256(text)
	return new(int64(binary.BigEndian.Uint64(sum[:])))
}

// at returns the value at a path. Keys of metadata may have dots, too.
func at(metadata map[string]any, path string) any {
	if value, ok := metadata[path]; ok {
		return value
	}
	for i, c := range path {
		if inner, ok := metadata[path[:i]].(map[string]any); ok && c == '.' {
			return at(inner, path[i+1:])
		}
	}
	return nil
}
