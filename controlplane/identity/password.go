package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Cost holds the argon2id parameters of a hash. Every stored hash includes them, so old hashes stay valid
// when PasswordCost is raised. The user's next login replaces an old hash.
type Cost struct {
	MemoryKiB uint32
	Passes    uint32
	Threads   uint8
}

// PasswordCost takes about 100 ms, well over OWASP's minimum of 19 MiB and two passes.
var PasswordCost = Cost{MemoryKiB: 64 * 1024, Passes: 3, Threads: 1}

// maxCost is the maximum cost that a stored hash may have.
var maxCost = Cost{MemoryKiB: 1024 * 1024, Passes: 64, Threads: 16}

const (
	saltLength = 16
	hashLength = 32
	// maxConcurrentHashes limits the memory of concurrent logins, which take 64 MiB each.
	maxConcurrentHashes = 2
)

var errPasswordHash = errors.New("stored password hash is malformed")

// hasher creates and verifies password hashes, at most maxConcurrentHashes at a time.
type hasher struct {
	cost  Cost
	slots chan struct{}
	// dummy is verified for an unknown user, so that the response time does not reveal whether the user exists.
	dummy string
}

func newHasher(c Cost) *hasher {
	h := &hasher{cost: c, slots: make(chan struct{}, maxConcurrentHashes)}
	salt := make([]byte, saltLength)
	sum := make([]byte, hashLength)
	_, _ = rand.Read(salt) // crypto/rand.Read never returns an error
	_, _ = rand.Read(sum)
	h.dummy = encodeHash(c, salt, sum)
	return h
}

// hash hashes the password with a new salt and returns a PHC string.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	if err := h.acquire(ctx); err != nil {
		return "", err
	}
	defer h.release()
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt)
	return encodeHash(h.cost, salt, h.cost.sum(password, salt, hashLength)), nil
}

// verify reports whether the password matches the hash. stale reports whether the hash has a cost other than
// the current one and should be replaced.
func (h *hasher) verify(ctx context.Context, password, encoded string) (ok, stale bool, err error) {
	c, salt, want, err := decodeHash(encoded)
	if err != nil {
		return false, false, err
	}
	if err := h.acquire(ctx); err != nil {
		return false, false, err
	}
	defer h.release()
	got := c.sum(password, salt, len(want))
	return subtle.ConstantTimeCompare(got, want) == 1, c != h.cost, nil
}

func (h *hasher) acquire(ctx context.Context) error {
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a free hashing slot: %w", ctx.Err())
	}
}

func (h *hasher) release() { <-h.slots }

func (c Cost) sum(password string, salt []byte, length int) []byte {
	return argon2.IDKey([]byte(password), salt, c.Passes, c.MemoryKiB, c.Threads, uint32(length))
}

func encodeHash(c Cost, salt, sum []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.MemoryKiB, c.Passes, c.Threads,
		b64.EncodeToString(salt), b64.EncodeToString(sum))
}

func decodeHash(encoded string) (c Cost, salt, sum []byte, err error) {
	parts := strings.Split(encoded, "$")
	if len(parts) != 6 {
		return Cost{}, nil, nil, errPasswordHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.MemoryKiB, &c.Passes, &c.Threads); err != nil {
		return Cost{}, nil, nil, errPasswordHash
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return Cost{}, nil, nil, errPasswordHash
	}
	if sum, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil {
		return Cost{}, nil, nil, errPasswordHash
	}
	inRange := c.Passes >= 1 && c.Passes <= maxCost.Passes && c.Threads >= 1 && c.Threads <= maxCost.Threads &&
		c.MemoryKiB >= 8*uint32(c.Threads) && c.MemoryKiB <= maxCost.MemoryKiB &&
		len(salt) >= 8 && len(salt) <= 64 && len(sum) >= 16 && len(sum) <= 64
	// Encoding again checks the algorithm and version, and rejects non-canonical numbers.
	if !inRange || encodeHash(c, salt, sum) != encoded {
		return Cost{}, nil, nil, errPasswordHash
	}
	return c, salt, sum, nil
}
