package identity

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
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

// throttled is the error of a login attempt that came too early.
func throttled(wait time.Duration) error {
	return &problem.Error{Kind: problem.RateLimited, Code: "throttled", Detail: "Too many login attempts. Try again later.", RetryAfter: wait}
}

// enterLogin lets a login attempt in, or returns an error that says when the next one may come. An attempt counts when it is let in, not
// when it fails, so that attempts side by side cannot slip through together.
func (s *Service) enterLogin(ctx context.Context, now time.Time, subjects ...subject) error {
	// One order for all, so that two attempts cannot wait for each other.
	slices.SortFunc(subjects, func(a, b subject) int { return strings.Compare(a.key, b.key) })
	return s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		args := func(sub subject) pgx.NamedArgs {
			return pgx.NamedArgs{"key": sub.key, "now": now, "forgotten": now.Add(-throttleMemory)}
		}
		var wait time.Duration
		for _, sub := range subjects {
			if _, err := tx.Exec(ctx, "lock login attempts", pgx.NamedArgs{"key": sub.key}); err != nil {
				return err
			}
			row, err := postgres.One[struct {
				Attempts int
				Last     time.Time
			}](ctx, tx, "read login attempts", args(sub))
			if err != nil {
				return err
			}
			wait = max(wait, row.Last.Add(sub.pace.wait(row.Attempts)).Sub(now))
		}
		if wait > 0 {
			return throttled(wait)
		}
		for _, sub := range subjects {
			if _, err := tx.Exec(ctx, "count login attempt", args(sub)); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "remove old login attempts", pgx.NamedArgs{"forgotten": now.Add(-throttleMemory)})
		return err
	})
}

// forgetLogins forgets all attempts of the subject.
func (s *Service) forgetLogins(ctx context.Context, sub subject) error {
	_, err := s.db.Exec(ctx, "forget login attempts", pgx.NamedArgs{"key": sub.key})
	return err
}

// takeLoginBack takes one attempt of the subject back: it succeeded, or ended without a verdict.
func (s *Service) takeLoginBack(ctx context.Context, sub subject) error {
	_, err := s.db.Exec(ctx, "take login attempt back", pgx.NamedArgs{"key": sub.key})
	return err
}
