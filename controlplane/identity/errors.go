package identity

import (
	"errors"
	"fmt"
	"time"
)

// What callers can tell apart. The HTTP face maps each to one answer.
var (
	// ErrUnauthenticated is a credential that is missing, unknown or no longer a session.
	ErrUnauthenticated = errors.New("no valid credential")
	// ErrKeyRevoked is a genuine key that was revoked.
	ErrKeyRevoked = errors.New("key is revoked")
	// ErrKeyExpired is a genuine key past its expiry.
	ErrKeyExpired = errors.New("key has expired")
	// ErrWrongPassword is a login with an unknown address or a wrong password; which of the two is not told.
	ErrWrongPassword = errors.New("email or password is wrong")
	// ErrScopeMissing is a caller who sees the resource and lacks the scope or role for the act.
	ErrScopeMissing = errors.New("scope is missing")
	// ErrNotFound is a resource that does not exist, or not for this caller: the two look the same.
	ErrNotFound = errors.New("not found")
	// ErrAlreadyBootstrapped is a second setup.
	ErrAlreadyBootstrapped = errors.New("already set up")
	// ErrAlreadyRevoked is a rotation of a key that is revoked.
	ErrAlreadyRevoked = errors.New("key is revoked already")
	// ErrAlreadyExpired is a rotation of a key that has expired, whose successor would have expired too.
	ErrAlreadyExpired = errors.New("key has expired already")
	// ErrNameTaken is a project name that its workspace has already.
	ErrNameTaken = errors.New("name is taken")
	// ErrViewNameTaken is a name that another view of the page has already.
	ErrViewNameTaken = errors.New("name of a view is taken")
	// ErrAttemptDiffers is a key for retries under which something else was asked.
	ErrAttemptDiffers = errors.New("key for retries was used for another request")
	// ErrAttemptUnderWay is an attempt whose work is not done yet.
	ErrAttemptUnderWay = errors.New("request is under way")
	// ErrUnavailable is a database that does not answer.
	ErrUnavailable = errors.New("database is unavailable")
)

// ScopeError is an [ErrScopeMissing] that names what would be needed.
type ScopeError struct {
	Needed string
}

func (e *ScopeError) Error() string { return "needs " + e.Needed }

// Is makes a ScopeError an [ErrScopeMissing].
func (e *ScopeError) Is(target error) bool { return target == ErrScopeMissing }

// InvalidError is a value that parses and cannot be accepted.
type InvalidError struct {
	Field   string
	Message string
}

func (e *InvalidError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Message) }

// ThrottledError is a login attempt that came too early.
type ThrottledError struct {
	RetryAfter time.Duration
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("too many login attempts, next one in %s", e.RetryAfter)
}
