package identity

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// How long what is kept for retries counts.
const (
	// answerLifetime is how long a retry gets the first answer.
	answerLifetime = 24 * time.Hour
	// claimLifetime is how long a key stays taken by a process that died over the work.
	claimLifetime = time.Minute
	// RetryableWork is how long the work of a [Claim] may take. It ends before the claim does: never do two do it at once.
	RetryableWork = 50 * time.Second
)

// removalBatch is how many answers are removed at a time.
const removalBatch = 1000

// Attempt is a request that its client may send again. Attempts of other callers and of other operations have nothing to do with it,
// whatever their keys.
type Attempt struct {
	Operation string
	// Key is the client's own name for the attempt and its retries.
	Key string
	// Request is all that is asked.
	Request []byte
}

// Claim is the right to do what an [Attempt] asks. Its holder ends it by [Service.KeepAnswer] or [Service.GiveUp].
type Claim struct {
	id    []byte
	claim uuid.UUID
}

// Begin claims an attempt, or returns the answer that it was given within the last 24 hours. It is [ErrAttemptDiffers] where the key
// was used to ask for something else, and [ErrAttemptUnderWay] while somebody does the work.
func (s *Service) Begin(ctx context.Context, p *Principal, a Attempt) (Claim, []byte, error) {
	var caller string
	if p.User != nil {
		caller = "user " + p.User.ID.String()
	} else {
		caller = "key " + p.Key.ID.String()
	}
	key := s.DeriveKey("names of retries")
	c := Claim{id: digest(key, caller, a.Operation, a.Key), claim: newID()}
	request := digest(key, string(a.Request))
	now := s.now()
	kept, err := s.store.claim(ctx, c, request, now)
	switch {
	case err != nil:
		return Claim{}, nil, err
	case kept.Claim == c.claim:
		return c, nil, nil
	case !hmac.Equal(kept.Request, request):
		return Claim{}, nil, ErrAttemptDiffers
	case kept.Answer == nil:
		return Claim{}, nil, ErrAttemptUnderWay
	}
	answer, err := s.answerSeal().Open(nil, nil, kept.Answer, c.id)
	if err != nil {
		return Claim{}, nil, fmt.Errorf("open the answer kept for a retry: %w", err)
	}
	return Claim{}, answer, nil
}

// KeepAnswer ends a claim: for 24 hours retries get the answer.
func (s *Service) KeepAnswer(ctx context.Context, c Claim, answer []byte) error {
	sealed := s.answerSeal().Seal(nil, nil, answer, c.id) //nolint:gosec // the seal makes a nonce by itself
	return s.store.keepAnswer(ctx, c, sealed, s.now().Add(answerLifetime))
}

// GiveUp ends a claim whose work was not done: a retry does it.
func (s *Service) GiveUp(ctx context.Context, c Claim) error { return s.store.giveUp(ctx, c) }

// RemoveExpired removes the answers that no retry gets any more.
func (s *Service) RemoveExpired(ctx context.Context) error {
	for {
		removed, err := s.store.removeExpiredAnswers(ctx, s.now())
		if err != nil || removed < removalBatch {
			return err
		}
	}
}

// answerSeal encrypts answers: a backup of the database has no keys in it. The answer's id is authenticated, so that none can be put
// in another's place.
func (s *Service) answerSeal() cipher.AEAD {
	block, err := aes.NewCipher(s.DeriveKey("answers kept for retries"))
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // the cipher is AES
	}
	return seal
}

// digest is a keyed hash of texts, each with its length: no two lists of texts are hashed as the same bytes.
func digest(key []byte, texts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	for _, text := range texts {
		_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text)))) // a hash.Hash never returns an error
		_, _ = mac.Write([]byte(text))
	}
	return mac.Sum(nil)
}

type keptAnswer struct {
	Claim   uuid.UUID
	Request []byte
	Answer  []byte
}

// claim takes the row of an attempt where it is new, has expired, or was left by a process that died over the same request;
// otherwise it reads the row as it is.
func (s *store) claim(ctx context.Context, c Claim, request []byte, now time.Time) (keptAnswer, error) {
	args := pgx.NamedArgs{
		"id": c.id, "request": request, "claim": c.claim, "now": now,
		"claimed_until": now.Add(claimLifetime), "expires_at": now.Add(answerLifetime),
	}
	taken, err := one[keptAnswer](ctx, s, "claim a retry's key", `
		INSERT INTO kept_answers AS kept (id, request, claim, claimed_until, expires_at)
		VALUES (@id, @request, @claim, @claimed_until, @expires_at)
		ON CONFLICT (id) DO UPDATE
		SET request = excluded.request, claim = excluded.claim, claimed_until = excluded.claimed_until,
			expires_at = excluded.expires_at, answer = NULL
		WHERE kept.expires_at <= @now
			OR kept.answer IS NULL AND kept.claimed_until <= @now AND kept.request = excluded.request
		RETURNING claim, request, answer`, args)
	if !errors.Is(err, ErrNotFound) {
		return taken, err
	}
	kept, err := one[keptAnswer](ctx, s, "read a retry's answer",
		`SELECT claim, request, answer FROM kept_answers WHERE id = @id`, args)
	if errors.Is(err, ErrNotFound) { // given up in between
		return keptAnswer{}, ErrAttemptUnderWay
	}
	return kept, err
}

func (s *store) keepAnswer(ctx context.Context, c Claim, answer []byte, expires time.Time) error {
	_, err := one[struct{ ID []byte }](ctx, s, "keep an answer for retries", `
		UPDATE kept_answers SET answer = @answer, expires_at = @expires_at WHERE id = @id AND claim = @claim RETURNING id`,
		pgx.NamedArgs{"id": c.id, "claim": c.claim, "answer": answer, "expires_at": expires})
	return err
}

func (s *store) giveUp(ctx context.Context, c Claim) error {
	return s.exec(ctx, "give a retry's key back", `DELETE FROM kept_answers WHERE id = @id AND claim = @claim`,
		pgx.NamedArgs{"id": c.id, "claim": c.claim})
}

func (s *store) removeExpiredAnswers(ctx context.Context, now time.Time) (int, error) {
	removed, err := many[struct{ ID []byte }](ctx, s, "remove answers that have expired", `
		DELETE FROM kept_answers WHERE id IN (
			SELECT id FROM kept_answers WHERE expires_at <= @now LIMIT @batch FOR UPDATE SKIP LOCKED
		) RETURNING id`, pgx.NamedArgs{"now": now, "batch": removalBatch})
	return len(removed), err
}
