package apikeyauthextension

import (
	"slices"
	"time"

	"go.opentelemetry.io/collector/client"

	"github.com/looptrace/looptrace/internal/apikey"
)

// Names of the attributes of the auth data.
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

// record is what PostgreSQL holds of a key. It never changes once read.
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

// refused tells whether the record refuses the key for good. A key that has expired is no such: its expiry can
// still be moved.
func (r *record) refused() bool { return r == nil || r.revoked }

// judge decides about a presented key by its record, nil where there is none. That a key is revoked or has
// expired is told only to who has shown its secret.
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

// authData is what receivers and processors learn of a request's key.
type authData struct {
	state     string
	projectID string
	keyID     string
	scopes    []string
	// limits are the project's own, by the names of internal/ratelimit.
	limits map[string]float64
}

var _ client.AuthData = (*authData)(nil)

// unavailable is the auth data of a request whose key cannot be checked now.
var unavailable = &authData{state: stateUnavailable}

// GetAttribute returns an attribute's value, or nil where it has none. The limits are for every request of the key:
// nobody may change them.
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
