-- name: claim a retry key
-- Claims the row if it is new or expired, or if the process that claimed it for the same request died.
INSERT INTO kept_answers AS kept (id, request, claim, claimed_until, expires_at)
VALUES (@id, @request, @claim, @claimed_until, @expires_at)
ON CONFLICT (id) DO UPDATE
SET request = excluded.request, claim = excluded.claim, claimed_until = excluded.claimed_until,
	expires_at = excluded.expires_at, answer = NULL
WHERE kept.expires_at <= @now
	OR kept.answer IS NULL AND kept.claimed_until <= @now AND kept.request = excluded.request
RETURNING claim, request, answer

-- name: read the answer to a retry
SELECT claim, request, answer FROM kept_answers WHERE id = @id

-- name: keep an answer for retries
UPDATE kept_answers SET answer = @answer, expires_at = @expires_at WHERE id = @id AND claim = @claim

-- name: release a retry key
DELETE FROM kept_answers WHERE id = @id AND claim = @claim

-- name: remove expired answers
DELETE FROM kept_answers WHERE id IN (
	SELECT id FROM kept_answers WHERE expires_at <= @now LIMIT @batch FOR UPDATE SKIP LOCKED)
