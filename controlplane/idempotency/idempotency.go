// Package idempotency stores responses to requests with an Idempotency-Key, so that a retry gets the first response.
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
	// answerLifetime is how long a response is stored for retries.
	answerLifetime = 24 * time.Hour
	// claimLifetime is the time after which a retry can take over the claim of a process that died.
	claimLifetime = time.Minute
	// WorkTime is the time limit of the work under a [Claim]. It is shorter than claimLifetime, so that two processes
	// never do the same work at once.
	WorkTime = 50 * time.Second
	// removalBatch is the number of responses that one statement removes.
	removalBatch = 1000
	// maxKept is how many bytes of responses are stored for one caller.
	maxKept = 16 << 20
	// smallAnswer is the size below which a response does not count at once: rate limits bound how many there are.
	smallAnswer = 16 << 10
	// underWayRetry is the Retry-After of a request whose first attempt is still running.
	underWayRetry = time.Second
)

// Header is the name of the HTTP header with the client's key.
const Header = "Idempotency-Key"

// Errors that callers distinguish.
var (
	// ErrKeyReused is returned if the key was used for a different request.
	ErrKeyReused = &problem.Error{
		Kind: problem.Invalid, Code: "idempotency_key_reused",
		Detail: "This Idempotency-Key was used for another request. Use a new key for each request, and the same key only for its retries.",
		Fields: []problem.Field{{Location: "header." + Header, Message: "was used for another request"}},
	}
	// ErrUnderWay is returned while the first attempt is running.
	ErrUnderWay = &problem.Error{
		Kind: problem.Conflict, Code: "request_under_way", RetryAfter: underWayRetry,
		Detail: "A request with this Idempotency-Key is still running. Retry to get its answer.",
	}
)

// Service stores responses for retries.
type Service struct {
	db      postgres.DB
	nameKey []byte
	seal    cipher.AEAD
	now     func() time.Time
}

// New returns a service on the database. nameKey is the HMAC key for the ids of attempts. answerKey has 32 bytes and
// encrypts responses, so that API keys in them do not appear in database backups. now is the clock.
func New(pool *pgxpool.Pool, nameKey, answerKey []byte, now func() time.Time) (*Service, error) {
	block, err := aes.NewCipher(answerKey)
	if err != nil {
		return nil, fmt.Errorf("create the cipher of responses: %w", err)
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("create the cipher of responses: %w", err)
	}
	return &Service{postgres.NewDB(pool, queries), nameKey, seal, postgres.Clock(now)}, nil
}

// Attempt is a request that its client may retry. Attempts of different callers or operations are unrelated, even with
// the same key.
type Attempt struct {
	Operation string
	// Key identifies the attempt and its retries. The client chooses it.
	Key string
	// Request is the content of the request.
	Request []byte
}

// Claim is the exclusive right to do the work of an [Attempt]. [Service.Keep] or [Service.Release] ends it.
type Claim struct {
	id     []byte
	claim  uuid.UUID
	caller string
}

type row struct {
	Claim   uuid.UUID
	Request []byte
	Answer  []byte
}

// Begin claims an attempt, or returns the response stored for it within the last 24 hours. It returns [ErrKeyReused] if
// the key was used for a different request, and [ErrUnderWay] while the first attempt is running.
func (s *Service) Begin(ctx context.Context, p *access.Principal, a Attempt) (Claim, []byte, error) {
	c := Claim{id: s.digest(p.ID(), a.Operation, a.Key), claim: postgres.NewID(), caller: p.ID()}
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
	// The id is authenticated data, so a stored response cannot be moved to a different attempt.
	answer, err := s.seal.Open(nil, nil, kept.Answer, c.id)
	if err != nil {
		return Claim{}, nil, fmt.Errorf("decrypt the response to a retry: %w", err)
	}
	return Claim{}, answer, nil
}

// claim claims the row of an attempt if it is free, and otherwise reads it.
func (s *Service) claim(ctx context.Context, c Claim, request []byte) (row, error) {
	now := s.now()
	args := pgx.NamedArgs{
		"id": c.id, "caller": c.caller, "request": request, "claim": c.claim, "now": now,
		"claimed_until": now.Add(claimLifetime), "expires_at": now.Add(answerLifetime),
	}
	taken, err := postgres.One[row](ctx, s.db, "claim a retry key", args)
	if !errors.Is(err, postgres.ErrNotFound) {
		return taken, err
	}
	kept, err := postgres.One[row](ctx, s.db, "read the answer to a retry", args)
	if errors.Is(err, postgres.ErrNotFound) { // released in the meantime
		return row{}, ErrUnderWay
	}
	return kept, err
}

// Keep ends a claim and stores the response for retries within 24 hours. The oldest responses of the caller give way to one for which there
// is no room.
func (s *Service) Keep(ctx context.Context, c Claim, answer []byte) error {
	kept, err := s.db.Exec(ctx, "keep an answer for retries", pgx.NamedArgs{
		"id": c.id, "claim": c.claim, "answer": s.seal.Seal(nil, nil, answer, c.id), //nolint:gosec // the cipher generates the nonce
		"expires_at": s.now().Add(answerLifetime),
	})
	switch {
	case err != nil:
		return err
	case kept == 0:
		return errors.New("keep a response for retries: the claim expired")
	case len(answer) < smallAnswer:
		return nil
	}
	return s.makeRoom(ctx, c.caller)
}

// makeRoom removes the oldest responses beyond the bound, of one caller or of each.
func (s *Service) makeRoom(ctx context.Context, caller string) error {
	_, err := s.db.Exec(ctx, "remove the oldest answers of callers that have too many", pgx.NamedArgs{"caller": caller, "max_bytes": maxKept})
	return err
}

// Release ends a claim without a response, so that a retry can do the work.
func (s *Service) Release(ctx context.Context, c Claim) error {
	_, err := s.db.Exec(ctx, "release a retry key", pgx.NamedArgs{"id": c.id, "claim": c.claim})
	return err
}

// RemoveExpired removes responses older than 24 hours, and those for which there is no room.
func (s *Service) RemoveExpired(ctx context.Context) error {
	for {
		removed, err := s.db.Exec(ctx, "remove expired answers", pgx.NamedArgs{"now": s.now(), "batch": removalBatch})
		if err != nil {
			return err
		}
		if removed < removalBatch {
			return s.makeRoom(ctx, "")
		}
	}
}

// digest returns an HMAC of the strings. Each string is prefixed with its length to keep the encoding unambiguous.
func (s *Service) digest(texts ...string) []byte {
	mac := hmac.New(sha256.New, s.nameKey)
	for _, text := range texts {
		_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text)))) // a hash.Hash never returns an error
		_, _ = mac.Write([]byte(text))
	}
	return mac.Sum(nil)
}
