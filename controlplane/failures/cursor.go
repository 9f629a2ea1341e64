package failures

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/runs"
)

// cursor is a position in a ranked list: after the group with a rank and a fingerprint, whatever became of its state. Its text is opaque to
// clients, and short, because tools show it to models.
type cursor struct {
	Now    int64  `json:"n"` // Unix seconds
	Window int64  `json:"w"` // seconds
	Rank   int64  `json:"r"` // in billionths
	Last   string `json:"p"` // digest of the fingerprint
	List   string `json:"f"` // digest of what is listed
}

// digestOfList tells lists of groups apart.
func digestOfList(state State, kind runs.FailureKind, filter runs.Filter) string {
	sum := sha256.Sum256([]byte("failed-runs " + string(state) + " " + string(kind) + " " + filter.Digest()))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// digestOf is a fingerprint without its version.
func digestOf(fingerprint string) string {
	return fingerprint[strings.LastIndexByte(fingerprint, ':')+1:]
}

func (c cursor) String() string {
	text, _ := json.Marshal(c) // these types always encode
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseCursor(text string, first cursor, now time.Time) (cursor, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return cursor{}, runs.ErrInvalidCursor
	}
	var c cursor
	if json.Unmarshal(raw, &c) != nil || c.List != first.List {
		return cursor{}, runs.ErrInvalidCursor
	}
	if c.Rank < 0 || c.Rank > rankUnits || c.Window <= 0 || c.Window > int64(maxWindow/time.Second) || c.Now < 0 || c.Now > now.Unix() {
		return cursor{}, runs.ErrInvalidCursor // this service makes no such cursor
	}
	return c, nil
}
