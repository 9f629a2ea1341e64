-- name: lock check
SELECT id, status, threshold FROM near_duplicate_checks WHERE dataset_id = @dataset AND revision = @revision FOR UPDATE

-- name: remove check
DELETE FROM near_duplicate_checks WHERE id = @check

-- name: create check
INSERT INTO near_duplicate_checks (id, dataset_id, revision, threshold, status, total, job_id, created_by, created_by_key, created_at, updated_at)
SELECT @id, @dataset, @revision, @threshold, 'queued',
	coalesce((SELECT r.item_count FROM dataset_revisions r WHERE r.dataset_id = @dataset AND r.revision = @revision), 0), @job, @author, @author_key, @now, @now
ON CONFLICT DO NOTHING

-- name: remove old checks
DELETE FROM near_duplicate_checks c WHERE c.dataset_id = @dataset AND c.finished_at IS NOT NULL AND c.id NOT IN (
	SELECT n.id FROM near_duplicate_checks n WHERE n.dataset_id = @dataset ORDER BY n.id DESC LIMIT @kept)

-- name: get check
SELECT c.id, c.dataset_id, c.revision, c.threshold, c.status, c.phase, c.total, c.processed, c.without_text, c.pairs, c.pairs_across, c.pairs_listed,
	c.partly_compared, c.shared, c.error_code, c.error_detail, c.job_id, c.created_at, c.started_at, c.finished_at,
	u.email AS author_email, c.created_by_key AS author_key
FROM near_duplicate_checks c LEFT JOIN users u ON u.id = c.created_by
WHERE c.id = @check

-- name: find check
SELECT c.id, c.dataset_id, c.revision, c.threshold, c.status, c.phase, c.total, c.processed, c.without_text, c.pairs, c.pairs_across, c.pairs_listed,
	c.partly_compared, c.shared, c.error_code, c.error_detail, c.job_id, c.created_at, c.started_at, c.finished_at,
	u.email AS author_email, c.created_by_key AS author_key
FROM near_duplicate_checks c LEFT JOIN users u ON u.id = c.created_by
WHERE c.dataset_id = @dataset AND (@revision::integer IS NULL OR c.revision = @revision)
ORDER BY c.id DESC LIMIT 1

-- name: list pairs
SELECT a_item_id, b_item_id, similarity, across FROM near_duplicate_pairs
WHERE check_id = @check AND (@across::boolean IS NULL OR across = @across)
ORDER BY number LIMIT @limit OFFSET @offset

-- name: preview items
SELECT item_id, key, split, left(input, @length) AS preview, length(input) > @length AS truncated
FROM dataset_items
WHERE dataset_id = @dataset AND item_id = ANY(@items) AND added_in <= @revision AND (removed_in IS NULL OR removed_in > @revision)

-- name: cancel check
UPDATE near_duplicate_checks SET status = 'cancelled', phase = NULL, finished_at = @now, updated_at = @now
WHERE id = @check AND status IN ('queued', 'running')

-- name: begin check
UPDATE near_duplicate_checks SET status = 'running', phase = 'reading', processed = 0, attempt_id = @attempt, started_at = coalesce(started_at, @now), updated_at = @now
WHERE id = @check AND status IN ('queued', 'running') AND coalesce(job_id = @job, true)

-- name: keep progress of check
UPDATE near_duplicate_checks SET phase = @phase, processed = @processed, updated_at = @now
WHERE id = @check AND attempt_id = @attempt AND status = 'running'

-- name: end check
UPDATE near_duplicate_checks SET status = 'failed', phase = NULL, error_code = @code, error_detail = @detail, finished_at = @now, updated_at = @now
WHERE id = @check AND attempt_id = @attempt AND status = 'running'

-- name: complete check
UPDATE near_duplicate_checks SET status = 'succeeded', phase = NULL, processed = @processed, without_text = @without_text, pairs = @pairs,
	pairs_across = @pairs_across, pairs_listed = @pairs_listed, partly_compared = @partly_compared, shared = @shared, finished_at = @now, updated_at = @now
WHERE id = @check AND attempt_id = @attempt AND status = 'running'

-- name: list lost checks
SELECT c.id, d.project_id, false AS ended FROM near_duplicate_checks c JOIN datasets d ON d.id = c.dataset_id LEFT JOIN river_job j ON j.id = c.job_id
WHERE c.status IN ('queued', 'running') AND c.updated_at < @before AND (j.id IS NULL OR j.state IN ('completed', 'cancelled', 'discarded'))

-- name: set job of check
UPDATE near_duplicate_checks SET job_id = @job, updated_at = @now
WHERE id = @id AND status IN ('queued', 'running') AND job_id IS NOT DISTINCT FROM (
	SELECT c.job_id FROM near_duplicate_checks c LEFT JOIN river_job j ON j.id = c.job_id
	WHERE c.id = @id AND (j.id IS NULL OR j.state IN ('completed', 'cancelled', 'discarded')))

-- name: sample inputs
SELECT i.input FROM generate_series(0, @size::bigint - 1) AS n
	CROSS JOIN LATERAL (
		SELECT e.input FROM dataset_items e
		WHERE e.dataset_id = @dataset AND e.ordinal > n * (SELECT d.last_ordinal FROM datasets d WHERE d.id = @dataset) / @size::bigint
			AND e.added_in <= @revision AND (e.removed_in IS NULL OR e.removed_in > @revision)
		ORDER BY e.ordinal LIMIT 1) AS i

-- name: read inputs after
SELECT ordinal, input, coalesce(split, '') FROM dataset_items
WHERE dataset_id = @dataset AND ordinal > @after AND added_in <= @revision AND (removed_in IS NULL OR removed_in > @revision)
ORDER BY ordinal LIMIT @limit

-- name: read inputs
SELECT ordinal, input FROM dataset_items
WHERE dataset_id = @dataset AND ordinal = ANY(@ordinals) AND added_in <= @revision AND (removed_in IS NULL OR removed_in > @revision)
ORDER BY ordinal

-- name: find item ids
SELECT ordinal, item_id FROM dataset_items
WHERE dataset_id = @dataset AND ordinal = ANY(@ordinals) AND added_in <= @revision AND (removed_in IS NULL OR removed_in > @revision)
