package apikeyauthextension

import (
	"slices"
	"time"

	"go.opentelemetry.io/collector/client"

	"github.com/looptrace/looptrace/internal/apikey"
)

// Attributes of the auth data.
const (
	attributeProjectID = "project_id"
	attributeKeyID     = "key_id"
	attributeScopes    = "scopes"
	attributeLimits    = "limits"
	attributeState     = "state"
)

// Values of the attribute state.
const (
	stateOK          = "ok"
	stateUnavailable = "unavailable"
)

// record is a key in PostgreSQL. It does not change once read.
type record struct {
	id         string
	projectID  string
	hash       []byte
	scopes     []string
	expiresAt  time.Time // zero: never
	lastUsedAt time.Time // zero: never
	revoked    bool
	auth       *authData
}

// refused reports whether the key is refused for good. An expired key is not: its expiry can still be moved.
func (r *record) refused() bool { return r == nil || r.revoked }

// judge decides about a presented key by its record, which may be nil. Only a client that presents the right secret
// learns that its key is revoked or expired.
func (r *record) judge(key apikey.Key, now time.Time) *refusal {
	if r == nil {
		key.Matches(nil) // takes as long as for a stored key
		return errUnknownKey
	}
	switch {
	case !key.Matches(r.hash):
		return errUnknownKey
	case r.revoked:
		return errRevokedKey
	case !r.expiresAt.IsZero() && !now.Before(r.expiresAt):
		return errExpiredKey
	default:
		return nil
	}
}

// authData tells receivers and processors about the key of a request.
type authData struct {
	state     string
	projectID string
	keyID     string
	scopes    []string
	// limits are the project's own limits, by the names of internal/ratelimit.
	limits map[string]float64
}

var _ client.AuthData = (*authData)(nil)

// unavailable is the auth data of a request whose key cannot be checked now.
var unavailable = &authData{state: stateUnavailable}

// GetAttribute returns the value of an attribute, or nil. All requests of the key share its limits: do not change
// them.
func (d *authData) GetAttribute(name string) any {
	if name == attributeState {
		return d.state
	}
	if d.state != stateOK {
		return nil
	}
	switch name {
	case attributeProjectID:
		return d.projectID
	case attributeKeyID:
		return d.keyID
	case attributeScopes:
		return slices.Clone(d.scopes)
	case attributeLimits:
		return d.limits
	default:
		return nil
	}
}

// GetAttributeNames returns the names of all attributes.
func (d *authData) GetAttributeNames() []string {
	if d.state != stateOK {
		return []string{attributeState}
	}
	return []string{attributeProjectID, attributeKeyID, attributeScopes, attributeLimits, attributeState}
}
