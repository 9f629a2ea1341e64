package identity

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// pace defines the delays between the login attempts of a subject. The first free attempts have no delay. Then the
// delay doubles from one second up to maxWait. No subject is ever locked out.
type pace struct {
	free    int
	maxWait time.Duration
}

var (
	// accountPace has a short maximum, because anyone can delay the logins of a user from browsers that are new to the account.
	accountPace = pace{free: 5, maxWait: 30 * time.Second}
	// devicePace is of a browser that has logged in to the account before.
	devicePace = accountPace
	// addressPace allows for many users behind one address.
	addressPace = pace{free: 20, maxWait: 10 * time.Minute}
)

// throttleMemory is the time without attempts after which earlier attempts no longer count.
const throttleMemory = time.Hour

// wait returns the delay of the next attempt after the given number of attempts.
func (p pace) wait(attempts int) time.Duration {
	over := attempts - p.free
	if over < 0 {
		return 0
	}
	return min(time.Second<<min(over, 30), p.maxWait)
}

// subject is an account, a network address or a browser whose login attempts are counted.
type subject struct {
	key  string
	pace pace
}

// accountSubject returns the subject of an email address. The account need not exist.
func accountSubject(email string) subject {
	const maxRunes = 254 // as in the column for emails
	name := []rune(strings.ToLower(email))
	return subject{key: "account:" + string(name[:min(len(name), maxRunes)]), pace: accountPace}
}

// addressSubject returns the subject of a network address. An IPv6 /64 is one subject, because one host commonly
// owns it. Loopback is none: all programs and people of the machine have it.
func addressSubject(addr netip.Addr) (sub subject, ok bool) {
	addr = addr.Unmap().WithZone("")
	if !addr.IsValid() {
		return subject{key: "address:unknown", pace: addressPace}, true
	}
	if addr.IsLoopback() {
		return subject{}, false
	}
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	network := netip.PrefixFrom(addr, bits).Masked()
	return subject{key: "address:" + network.String(), pace: addressPace}, true
}

// newDevice returns a token for a browser that has logged in to the account. It proves only that, so it does not expire.
func (s *Service) newDevice(email string) string {
	name := newToken()
	return name + "." + s.deviceSignature(name, email)
}

func (s *Service) deviceSignature(name, email string) string {
	return base64.RawURLEncoding.EncodeToString(s.tokenHash("device " + name + " of " + strings.ToLower(email)))
}

// deviceSubject returns the subject of a browser that has logged in to the account before.
func (s *Service) deviceSubject(token, email string) (sub subject, ok bool) {
	name, signature, _ := strings.Cut(token, ".")
	if !hmac.Equal([]byte(signature), []byte(s.deviceSignature(name, email))) {
		return subject{}, false
	}
	return subject{key: "device:" + name, pace: devicePace}, true
}

// admit admits and counts a login attempt, and returns what it counts for. Browsers that have logged in to the account before have an
// allowance of their own, so that nobody else can keep its owner out. When it is used up they are as unknown as others.
func (s *Service) admit(ctx context.Context, email string, client Client) ([]subject, error) {
	now := s.now()
	var exhausted error
	if device, ok := s.deviceSubject(client.Device, email); ok {
		err := s.enterLogin(ctx, now, device)
		if !problem.Is(err, problem.RateLimited) {
			return []subject{device}, err
		}
		exhausted = err
	}
	unknown := []subject{accountSubject(email)}
	if address, ok := addressSubject(client.Address); ok {
		unknown = append(unknown, address)
	}
	err := s.enterLogin(ctx, now, unknown...)
	if problem.Is(err, problem.RateLimited) && exhausted != nil && problem.Of(exhausted).RetryAfter < problem.Of(err).RetryAfter {
		return nil, exhausted
	}
	return unknown, err
}

// throttled returns the error for a login attempt that must wait.
func throttled(wait time.Duration) error {
	return &problem.Error{Kind: problem.RateLimited, Code: "throttled", Detail: "Too many login attempts. Try again later.", RetryAfter: wait}
}

// enterLogin admits and counts a login attempt, or returns an error with the time to wait. Attempts count on
// admission and not on failure, so that concurrent attempts cannot exceed the limit.
func (s *Service) enterLogin(ctx context.Context, now time.Time, subjects ...subject) error {
	// A fixed lock order prevents deadlocks.
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

// forgetLogins deletes all attempts of the subject.
func (s *Service) forgetLogins(ctx context.Context, sub subject) error {
	_, err := s.db.Exec(ctx, "forget login attempts", pgx.NamedArgs{"key": sub.key})
	return err
}

// takeLoginBack uncounts one attempt of the subject, which succeeded or ended without checking the password.
func (s *Service) takeLoginBack(ctx context.Context, sub subject) error {
	_, err := s.db.Exec(ctx, "take login attempt back", pgx.NamedArgs{"key": sub.key})
	return err
}
