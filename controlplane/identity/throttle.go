package identity

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// pace is how attempts of one subject are slowed down: the first free ones are not, then the wait doubles
// from one second up to the longest. There is always a next attempt: nothing is ever locked.
type pace struct {
	free    int
	longest time.Duration
}

var (
	// accountPace is mild at its end, since a stranger can slow down a user's logins by it.
	accountPace = pace{free: 5, longest: 30 * time.Second}
	// addressPace leaves room for an office behind one address.
	addressPace = pace{free: 20, longest: 10 * time.Minute}
)

// throttleMemory is how long quiet forgets past attempts.
const throttleMemory = time.Hour

// wait is how long the next attempt has to wait after so many.
func (p pace) wait(attempts int) time.Duration {
	over := attempts - p.free
	if over < 0 {
		return 0
	}
	return min(time.Second<<min(over, 30), p.longest)
}

// subject is who is slowed down: an account, or an address.
type subject struct {
	key  string
	pace pace
}

// accountSubject is the account that an email address names, whether or not it exists.
func accountSubject(email string) subject {
	const longest = 254 // runes, as the column for emails has it
	name := []rune(strings.ToLower(email))
	return subject{key: "account:" + string(name[:min(len(name), longest)]), pace: accountPace}
}

// addressSubject counts a whole /64 of IPv6 as one address, which one host commonly owns.
func addressSubject(addr netip.Addr) subject {
	addr = addr.Unmap().WithZone("")
	if !addr.IsValid() {
		return subject{key: "address:unknown", pace: addressPace}
	}
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	network := netip.PrefixFrom(addr, bits).Masked()
	return subject{key: "address:" + network.String(), pace: addressPace}
}

// enterLogin lets a login attempt in, or returns a [ThrottledError] that says when the next one may come. An
// attempt counts when it is let in, not when it fails, so that attempts side by side cannot slip through
// together.
func (s *store) enterLogin(ctx context.Context, now time.Time, subjects ...subject) error {
	// One order for all, so that two attempts cannot wait for each other.
	slices.SortFunc(subjects, func(a, b subject) int { return strings.Compare(a.key, b.key) })
	return s.tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var wait time.Duration
		for _, sub := range subjects {
			// A row lock would not do: the first attempts find no row.
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(@key, 0))`,
				pgx.NamedArgs{"key": sub.key}); err != nil {
				return fmt.Errorf("lock login attempts: %w", err)
			}
			var attempts int
			var last time.Time
			err := tx.QueryRow(ctx, `
				SELECT coalesce(max(failures), 0), coalesce(max(last_failed_at), @now)
				FROM login_attempts WHERE key = @key AND last_failed_at > @forgotten`,
				pgx.NamedArgs{"key": sub.key, "now": now, "forgotten": now.Add(-throttleMemory)}).Scan(&attempts, &last)
			if err != nil {
				return fmt.Errorf("read login attempts: %w", err)
			}
			wait = max(wait, last.Add(sub.pace.wait(attempts)).Sub(now))
		}
		if wait > 0 {
			return &ThrottledError{RetryAfter: wait}
		}
		for _, sub := range subjects {
			if _, err := tx.Exec(ctx, `
				INSERT INTO login_attempts AS a (key, failures, first_failed_at, last_failed_at)
				VALUES (@key, 1, @now, @now)
				ON CONFLICT (key) DO UPDATE SET
					failures = CASE WHEN a.last_failed_at > @forgotten THEN a.failures + 1 ELSE 1 END,
					first_failed_at = CASE WHEN a.last_failed_at > @forgotten THEN a.first_failed_at ELSE @now END,
					last_failed_at = @now`,
				pgx.NamedArgs{"key": sub.key, "now": now, "forgotten": now.Add(-throttleMemory)}); err != nil {
				return fmt.Errorf("count login attempt: %w", err)
			}
		}
		// Rows of invented names do not pile up. What another attempt holds is left to a later one.
		if _, err := tx.Exec(ctx, `
			DELETE FROM login_attempts WHERE key IN (
				SELECT key FROM login_attempts WHERE last_failed_at <= @forgotten
				ORDER BY last_failed_at LIMIT 100 FOR UPDATE SKIP LOCKED)`,
			pgx.NamedArgs{"forgotten": now.Add(-throttleMemory)}); err != nil {
			return fmt.Errorf("forget login attempts: %w", err)
		}
		return nil
	})
}

// forgetLogins forgets all attempts of the subject.
func (s *store) forgetLogins(ctx context.Context, sub subject) error {
	return s.exec(ctx, "forget login attempts", `DELETE FROM login_attempts WHERE key = @key`,
		pgx.NamedArgs{"key": sub.key})
}

// takeLoginBack takes one attempt of the subject back: it succeeded, or came to no verdict.
func (s *store) takeLoginBack(ctx context.Context, sub subject) error {
	return s.exec(ctx, "take login attempt back", `
		WITH gone AS (DELETE FROM login_attempts WHERE key = @key AND failures <= 1)
		UPDATE login_attempts SET failures = failures - 1 WHERE key = @key AND failures > 1`,
		pgx.NamedArgs{"key": sub.key})
}
