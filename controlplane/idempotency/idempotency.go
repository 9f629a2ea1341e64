// Package idempotency keeps the answers to requests with an Idempotency-Key, so that a retry gets the first answer.
package idempotency

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

//go:embed queries.sql
var queries string

const (
	// answerLifetime is how long a retry gets the first answer.
	answerLifetime = 24 * time.Hour
	// claimLifetime is how long a key stays taken by a process that died over the work.
	claimLifetime = time.Minute
	// WorkTime is how long the work of a [Claim] may take. It ends before the claim does: two never do it at once.
	WorkTime = 50 * time.Second
	// removalBatch is how many answers are removed at a time.
	removalBatch = 1000
	// underWayRetry is when a client may ask again for the answer to a request that is under way.
	underWayRetry = time.Second
)

// Header is the header that names an attempt.
const Header = "Idempotency-Key"

// Errors that callers tell apart.
var (
	// ErrKeyReused is a key that was used to ask for something else.
	ErrKeyReused = &problem.Error{
		Kind: problem.Invalid, Code: "idempotency_key_reused",
		Detail: "Another request was sent with this Idempotency-Key. Give each request its own key, and its retries the same.",
		Fields: []problem.Field{{Location: "header." + Header, Message: "was used for another request"}},
	}
	// ErrUnderWay is an attempt whose work is not done yet.
	ErrUnderWay = &problem.Error{
		Kind: problem.Conflict, Code: "request_under_way", RetryAfter: underWayRetry,
		Detail: "A request with this Idempotency-Key is under way. Ask again for its answer.",
	}
)

// Service keeps answers.
type Service struct {
	db      postgres.DB
	nameKey []byte
	seal    cipher.AEAD
	now     func() time.Time
}

// New returns a service on the database. nameKey hashes what identifies an attempt; answerKey, of 32 bytes, encrypts answers: a backup of
// the database has no keys in it. now is the clock.
func New(pool *pgxpool.Pool, nameKey, answerKey []byte, now func() time.Time) (*Service, error) {
	block, err := aes.NewCipher(answerKey)
	if err != nil {
		return nil, fmt.Errorf("make the cipher of answers: %w", err)
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make the cipher of answers: %w", err)
	}
	return &Service{postgres.NewDB(pool, queries), nameKey, seal, postgres.Clock(now)}, nil
}

// Attempt is a request that its client may send again. Attempts of other callers and of other operations are unrelated,
// whatever their keys.
type Attempt struct {
	Operation string
	// Key is the client's own name for the attempt and its retries.
	Key string
	// Request is all that is asked.
	Request []byte
}

// Claim is the right to do what an [Attempt] asks. Its holder ends it by [Service.Keep] or [Service.Release].
type Claim struct {
	id    []byte
	claim uuid.UUID
}

type row struct {
	Claim   uuid.UUID
	Request []byte
	Answer  []byte
}

// Begin claims an attempt, or returns the answer that it was given within the last 24 hours. It is [ErrKeyReused] where the key
// was used to ask for something else, and [ErrUnderWay] while somebody does the work.
func (s *Service) Begin(ctx context.Context, p *access.Principal, a Attempt) (Claim, []byte, error) {
	c := Claim{id: s.digest(p.ID(), a.Operation, a.Key), claim: postgres.NewID()}
	request := s.digest(string(a.Request))
	kept, err := s.claim(ctx, c, request)
	switch {
	case err != nil:
		return Claim{}, nil, err
	case kept.Claim == c.claim:
		return c, nil, nil
	case !hmac.Equal(kept.Request, request):
		return Claim{}, nil, ErrKeyReused
	case kept.Answer == nil:
		return Claim{}, nil, ErrUnderWay
	}
	// The id is authenticated: no answer can be put in the place of another.
	answer, err := s.seal.Open(nil, nil, kept.Answer, c.id)
	if err != nil {
		return Claim{}, nil, fmt.Errorf("decrypt the answer kept for a retry: %w", err)
	}
	return Claim{}, answer, nil
}

// claim takes the row of an attempt where it is free; otherwise it reads the row as it is.
func (s *Service) claim(ctx context.Context, c Claim, request []byte) (row, error) {
	now := s.now()
	args := pgx.NamedArgs{
		"id": c.id, "request": request, "claim": c.claim, "now": now,
		"claimed_until": now.Add(claimLifetime), "expires_at": now.Add(answerLifetime),
	}
	taken, err := postgres.One[row](ctx, s.db, "claim a retry key", args)
	if !errors.Is(err, postgres.ErrNotFound) {
		return taken, err
	}
	kept, err := postgres.One[row](ctx, s.db, "read the answer to a retry", args)
	if errors.Is(err, postgres.ErrNotFound) { // released in between
		return row{}, ErrUnderWay
	}
	return kept, err
}

// Keep ends a claim: for 24 hours retries get the answer.
func (s *Service) Keep(ctx context.Context, c Claim, answer []byte) error {
	kept, err := s.db.Exec(ctx, "keep an answer for retries", pgx.NamedArgs{
		"id": c.id, "claim": c.claim, "answer": s.seal.Seal(nil, nil, answer, c.id), //nolint:gosec // the cipher makes the nonce
		"expires_at": s.now().Add(answerLifetime),
	})
	if err == nil && kept == 0 {
		return errors.New("keep an answer for retries: the claim is lost")
	}
	return err
}

// Release ends a claim whose work was not done: a retry does it.
func (s *Service) Release(ctx context.Context, c Claim) error {
	_, err := s.db.Exec(ctx, "release a retry key", pgx.NamedArgs{"id": c.id, "claim": c.claim})
	return err
}

// RemoveExpired removes the answers that no retry gets any more.
func (s *Service) RemoveExpired(ctx context.Context) error {
	for {
		removed, err := s.db.Exec(ctx, "remove expired answers", pgx.NamedArgs{"now": s.now(), "batch": removalBatch})
		if err != nil || removed < removalBatch {
			return err
		}
	}
}

// digest is a keyed hash of texts, each with its length: no two lists of texts are hashed as the same bytes.
func (s *Service) digest(texts ...string) []byte {
	mac := hmac.New(sha256.New, s.nameKey)
	for _, text := range texts {
		_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text)))) // a hash.Hash never returns an error
		_, _ = mac.Write([]byte(text))
	}
	return mac.Sum(nil)
}
