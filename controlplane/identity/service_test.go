package identity

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/test/engines"
)

func newService(t *testing.T) *Service {
	t.Helper()
	s, _ := newServiceAndPool(t)
	return s
}

func newServiceAndPool(t *testing.T) (*Service, *pgxpool.Pool) {
	t.Helper()
	pool, err := postgres.Open(t.Context(), engines.Postgres(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return New(pool, Config{SessionSecret: []byte("0123456789abcdef0123456789abcdef"), Passwords: cheap}, time.Now), pool
}

var client = Client{Address: netip.MustParseAddr("192.0.2.1"), UserAgent: "test\xff"}

func setUp(t *testing.T, s *Service) *access.Principal {
	t.Helper()
	_, p, err := s.Setup(t.Context(), SetupRequest{Email: "ann@example.com", Password: "correct horse", OrganizationName: "Example"}, client)
	require.NoError(t, err)
	return p
}

func TestLoginRaisesTheCostOfOldHashes(t *testing.T) {
	t.Parallel()
	s := newService(t)
	setUp(t, s)
	before, err := s.userByEmail(t.Context(), "ANN@example.com")
	require.NoError(t, err)

	s.hasher = newHasher(Cost{MemoryKiB: 128, Passes: 2, Threads: 1})
	_, _, err = s.Login(t.Context(), "ann@example.com", "wrong", client, Presented{})
	require.ErrorIs(t, err, ErrWrongPassword)
	unchanged, err := s.userByEmail(t.Context(), "ann@example.com")
	require.NoError(t, err)
	assert.Equal(t, before.PasswordHash, unchanged.PasswordHash)

	_, _, err = s.Login(t.Context(), "Ann@Example.com", "correct horse", client, Presented{})
	require.NoError(t, err)
	after, err := s.userByEmail(t.Context(), "ann@example.com")
	require.NoError(t, err)
	assert.Contains(t, after.PasswordHash, "$m=128,t=2,p=1$")
	_, _, err = s.Login(t.Context(), "ann@example.com", "correct horse", client, Presented{})
	require.NoError(t, err)
}

func TestAnotherSecretEndsSessions(t *testing.T) {
	t.Parallel()
	s, pool := newServiceAndPool(t)
	setUp(t, s)
	session, _, err := s.Login(t.Context(), "ann@example.com", "correct horse", client, Presented{})
	require.NoError(t, err)
	_, err = s.Resolve(t.Context(), Credential{Session: Presented{Token: session.Token}})
	require.NoError(t, err)
	other := New(pool, Config{SessionSecret: []byte("another secret of 32 bytes......"), Passwords: cheap}, time.Now)
	_, err = other.Resolve(t.Context(), Credential{Session: Presented{Token: session.Token}})
	require.ErrorIs(t, err, ErrUnauthenticated)
}

func TestLoginWithoutVerdictDoesNotCount(t *testing.T) {
	t.Parallel()
	s := newService(t)
	setUp(t, s)
	for range maxConcurrentHashes {
		require.NoError(t, s.hasher.acquire(t.Context()))
	}
	for range 2 * accountPace.free {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, _, err := s.Login(ctx, "ann@example.com", "correct horse", client, Presented{})
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	s.hasher.release()
	_, _, err := s.Login(t.Context(), "ann@example.com", "correct horse", client, Presented{})
	require.NoError(t, err)
}

func TestOddEmailsAreNoServerErrors(t *testing.T) {
	t.Parallel()
	s := newService(t)
	setUp(t, s)
	for _, email := range []string{"", "İ" + strings.Repeat("İ", 253), "\u202e@example.com", strings.Repeat("a", 254)} {
		_, _, err := s.Login(t.Context(), email, "wrong", client, Presented{})
		assert.ErrorIs(t, err, ErrWrongPassword, email)
	}
}

func TestNobodyGivesWhatTheyLack(t *testing.T) {
	t.Parallel()
	s := newService(t)
	project := setUp(t, s).Projects[0].ID
	limited := &access.Principal{Projects: []access.Project{{ID: project, Scopes: []string{apikey.ScopeRunsRead}}}}
	grant, err := limited.In(project)
	require.NoError(t, err)
	_, _, err = s.CreateKey(t.Context(), grant, NewKey{Name: "k", Scopes: []string{apikey.ScopeRunsRead, apikey.ScopeRunsWrite}})
	require.True(t, problem.Is(err, problem.Forbidden), err)
}

func TestLoginIsSlowedDown(t *testing.T) {
	t.Parallel()
	s, pool := newServiceAndPool(t)
	now := time.Now().Truncate(time.Microsecond) // PostgreSQL stores microseconds
	s.now = func() time.Time { return now }
	setUp(t, s)
	ctx := t.Context()
	attempt := func(email, password, from string) error {
		_, _, err := s.Login(ctx, email, password, Client{Address: netip.MustParseAddr(from)}, Presented{})
		return err
	}
	wait := func(err error) time.Duration {
		require.True(t, problem.Is(err, problem.RateLimited), err)
		return problem.Of(err).RetryAfter
	}

	t.Run("one account, many addresses", func(t *testing.T) {
		for i := range accountPace.free {
			require.ErrorIs(t, attempt("ann@example.com", "wrong", fmt.Sprintf("192.0.2.%d", i)), ErrWrongPassword)
		}
		var waits []int
		for range 8 {
			// A login with the right password has to wait, too.
			d := wait(attempt("Ann@example.com ", "correct horse", "192.0.2.200"))
			waits = append(waits, int(d.Seconds()))
			now = now.Add(d)
			require.ErrorIs(t, attempt("ann@example.com", "wrong", "192.0.2.100"), ErrWrongPassword)
		}
		assert.Equal(t, []int{1, 2, 4, 8, 16, 30, 30, 30}, waits)
		now = now.Add(accountPace.maxWait)
		require.NoError(t, attempt("ann@example.com", "correct horse", "192.0.2.200"), "never locked")
		require.ErrorIs(t, attempt("ann@example.com", "wrong", "192.0.2.200"), ErrWrongPassword, "a success resets the account")
	})
	t.Run("unknown account", func(t *testing.T) {
		for range accountPace.free {
			require.ErrorIs(t, attempt("nobody@example.com", "wrong", "198.51.100.9"), ErrWrongPassword)
		}
		assert.Equal(t, time.Second, wait(attempt("nobody@example.com", "wrong", "198.51.100.10")))
	})
	t.Run("one address, many accounts", func(t *testing.T) {
		host := func(i int) string { return fmt.Sprintf("2001:db8::%d", i+1) } // in one /64
		for i := range addressPace.free {
			require.ErrorIs(t, attempt(fmt.Sprintf("%d@example.com", i), "wrong", host(i)), ErrWrongPassword)
		}
		d := wait(attempt("other@example.com", "wrong", host(99)))
		assert.Equal(t, time.Second, d)
		now = now.Add(d)
		require.NoError(t, attempt("ann@example.com", "correct horse", host(1)))
		for i := range addressPace.free {
			require.ErrorIs(t, attempt(fmt.Sprintf("later%d@example.com", i), "wrong", host(i)), ErrWrongPassword, "a success clears the address")
		}
		assert.Equal(t, time.Second, wait(attempt("other@example.com", "wrong", host(99))))
	})
	t.Run("loopback, many accounts", func(t *testing.T) {
		for i := range 2 * addressPace.free {
			require.ErrorIs(t, attempt(fmt.Sprintf("local%d@example.com", i), "wrong", "127.0.0.1"), ErrWrongPassword)
		}
	})
	t.Run("concurrent attempts are limited", func(t *testing.T) {
		var wg sync.WaitGroup
		var entered atomic.Int64
		for i := range 3 * accountPace.free {
			wg.Go(func() {
				if errors.Is(attempt("target@example.com", "wrong", fmt.Sprintf("203.0.113.%d", i)), ErrWrongPassword) {
					entered.Add(1)
				}
			})
		}
		wg.Wait()
		assert.Equal(t, int64(accountPace.free), entered.Load())
	})
	t.Run("attempts expire after an hour", func(t *testing.T) {
		now = now.Add(throttleMemory)
		for range accountPace.free {
			require.ErrorIs(t, attempt("target@example.com", "wrong", "203.0.113.1"), ErrWrongPassword)
		}
		var rows int
		require.NoError(t, pool.QueryRow(ctx, "SELECT count(*) FROM login_attempts").Scan(&rows))
		assert.Equal(t, 2, rows, "expired attempts are deleted")
	})
}

// Nobody can keep an owner out of a browser that the owner has used.
func TestKnownDeviceHasItsOwnAllowance(t *testing.T) {
	t.Parallel()
	s := newService(t)
	now := time.Now()
	s.now = func() time.Time { return now }
	setUp(t, s)
	attempt := func(email, password, device string) (Session, error) {
		from := Client{Address: netip.MustParseAddr("192.0.2.1"), Secret: strings.Repeat("s", 43), Device: device}
		session, _, err := s.Login(t.Context(), email, password, from, Presented{})
		return session, err
	}
	guess := func(device string) error {
		_, err := attempt("ann@example.com", "wrong", device)
		return err
	}
	session, err := attempt("ann@example.com", "correct horse", "")
	require.NoError(t, err)
	device := session.Device
	require.NotEmpty(t, device)
	program, _, err := s.Login(t.Context(), "ann@example.com", "correct horse", client, Presented{})
	require.NoError(t, err)
	assert.Empty(t, program.Device, "a program is not a browser")

	for range accountPace.free {
		require.ErrorIs(t, guess(""), ErrWrongPassword)
	}
	for name, token := range map[string]string{
		"none": "", "invented": "a.b", "without a signature": device[:43], "of another account": s.newDevice("bob@example.com"),
	} {
		require.True(t, problem.Is(guess(token), problem.RateLimited), name)
	}
	_, err = attempt("Ann@Example.com ", "correct horse", device)
	require.NoError(t, err, "attempts of others do not count")
	require.True(t, problem.Is(guess(""), problem.RateLimited), "and still count for them")

	for range devicePace.free {
		require.ErrorIs(t, guess(device), ErrWrongPassword)
	}
	require.True(t, problem.Is(guess(device), problem.RateLimited), "it has no more than its allowance")
	now = now.Add(accountPace.maxWait)
	require.ErrorIs(t, guess(device), ErrWrongPassword)
	other := s.newDevice("ann@example.com")
	_, err = attempt("ann@example.com", "correct horse", other)
	require.NoError(t, err, "each device has its own")
}

func TestPaceGrowsAndEnds(t *testing.T) {
	t.Parallel()
	p := pace{free: 2, maxWait: 5 * time.Second}
	for attempts, want := range []time.Duration{0, 0, 1, 2, 4, 5, 5} {
		assert.Equal(t, want*time.Second, p.wait(attempts), attempts)
	}
	assert.Equal(t, 5*time.Second, p.wait(1<<40))
}

func TestAddressSubject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"192.0.2.1": "address:192.0.2.1/32", "::ffff:192.0.2.1": "address:192.0.2.1/32",
		"2001:db8::1": "address:2001:db8::/64", "fe80::1%eth0": "address:fe80::/64",
	} {
		got, ok := addressSubject(netip.MustParseAddr(text))
		assert.Equal(t, want, got.key)
		assert.True(t, ok)
	}
	unknown, _ := addressSubject(netip.Addr{})
	assert.Equal(t, "address:unknown", unknown.key)
	for _, text := range []string{"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"} {
		_, ok := addressSubject(netip.MustParseAddr(text))
		assert.False(t, ok, text)
	}
}
