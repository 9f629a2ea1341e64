-- name: claim a retry key
-- Claims the row if it is new or expired, or if the process that claimed it for the same request died.
INSERT INTO kept_answers AS kept (id, caller, request, claim, claimed_until, expires_at)
VALUES (@id, @caller, @request, @claim, @claimed_until, @expires_at)
ON CONFLICT (id) DO UPDATE
SET caller = excluded.caller, request = excluded.request, claim = excluded.claim, claimed_until = excluded.claimed_until,
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

-- name: remove the oldest answers of callers that have too many
DELETE FROM kept_answers WHERE id IN (
	SELECT id FROM (
		SELECT id, sum(octet_length(answer)) OVER (PARTITION BY caller ORDER BY expires_at DESC, id) AS so_far
		FROM kept_answers WHERE (@caller = '' OR caller = @caller) AND answer IS NOT NULL
	) AS kept WHERE so_far > @max_bytes)
