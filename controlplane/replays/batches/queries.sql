-- name: list batches
SELECT b.id, b.project_id, b.name, b.config, b.controls, b.treatments, b.looks, b.max_cost_nanousd, b.allow_unpriced, b.status, b.stop_reason, b.error_code, b.error_detail,
	b.job_id, b.result, b.created_at, b.started_at, b.finished_at, u.email AS author_email, b.created_by_key AS author_key, b.created_by AS created_by_id,
	n.chosen, n.good, n.planned, n.not_replayable, a.total, a.done, a.failed
FROM replay_batches b LEFT JOIN users u ON u.id = b.created_by
CROSS JOIN LATERAL (
	SELECT count(*) FILTER (WHERE part = 'chosen') AS chosen, count(*) FILTER (WHERE part = 'good') AS good,
		count(*) FILTER (WHERE replay_id IS NOT NULL OR code IS NOT NULL) AS planned, count(*) FILTER (WHERE code IS NOT NULL) AS not_replayable
	FROM replay_batch_runs WHERE batch_id = b.id) n
CROSS JOIN LATERAL (
	SELECT count(*) AS total, count(*) FILTER (WHERE a.status NOT IN ('queued', 'running')) AS done, count(*) FILTER (WHERE a.status = 'failed') AS failed
	FROM replays r JOIN replay_attempts a ON a.replay_id = r.id WHERE r.batch_id = b.id) a
WHERE b.project_id = ANY(@projects) AND (@id::uuid IS NULL OR b.id = @id) AND (@status = '' OR b.status = @status)
ORDER BY b.created_at DESC, b.id DESC LIMIT @limit OFFSET @offset

-- name: get batches
SELECT id, name, config, status, result FROM replay_batches WHERE project_id = ANY(@projects) AND id = ANY(@ids)

-- name: list failed runs of batch
SELECT n.run_id FROM replay_batch_runs n JOIN replay_batches b ON b.id = n.batch_id
WHERE b.project_id = ANY(@projects) AND b.id = @id AND n.part = 'chosen' ORDER BY n.number

-- name: list runs of batch
SELECT n.number, n.run_id, coalesce(r.run_name, '') AS run_name, n.part, n.replay_id, n.code, n.detail, n.outcome, r.status, a.total, a.done
FROM replay_batch_runs n LEFT JOIN replays r ON r.id = n.replay_id
CROSS JOIN LATERAL (
	SELECT count(*) AS total, count(*) FILTER (WHERE status NOT IN ('queued', 'running')) AS done FROM replay_attempts WHERE replay_id = n.replay_id) a
WHERE n.batch_id = @id AND (@outcome = '' OR n.outcome = @outcome)
ORDER BY n.number LIMIT @limit OFFSET @offset

-- name: list replays of batch
SELECT id, config, controls, treatments FROM replays WHERE batch_id = @id ORDER BY id

-- name: list ids of replays of batch
SELECT id FROM replays WHERE batch_id = @id

-- name: create batch
INSERT INTO replay_batches (id, project_id, name, config, controls, treatments, max_cost_nanousd, allow_unpriced, status, job_id, created_by, created_by_key, created_at)
VALUES (@id, @project, @name, @config, @controls, @treatments, @max_cost, @allow_unpriced, 'queued', @job, @author, @author_key, @now)

-- name: add runs of batch
INSERT INTO replay_batch_runs (batch_id, number, run_id, part)
SELECT @id, r.number, r.run_id, r.part FROM unnest(@runs::uuid[], @parts::text[]) WITH ORDINALITY AS r(run_id, part, number)

-- name: lock batch
SELECT id FROM replay_batches WHERE project_id = ANY(@projects) AND id = @id FOR NO KEY UPDATE

-- name: rename batch
UPDATE replay_batches SET name = @name WHERE id = @id

-- name: delete batch
DELETE FROM replay_batches WHERE project_id = ANY(@projects) AND id = @id AND status NOT IN ('queued', 'running')

-- name: cancel batch
UPDATE replay_batches SET status = 'cancelled', job_id = @job, try = NULL, finished_at = @now WHERE id = @id AND status IN ('queued', 'running')

-- name: cancel attempts of batch
UPDATE replay_attempts a SET status = 'cancelled', stop_reason = @stop, detail = @detail, remedy = @remedy, finished_at = @now
FROM (SELECT id FROM replays WHERE batch_id = @id FOR UPDATE) r
WHERE a.replay_id = r.id AND a.status IN ('queued', 'running')

-- name: remove steps of batch
WITH votes AS (DELETE FROM replay_votes v USING replays r WHERE r.batch_id = @id AND v.replay_id = r.id)
DELETE FROM replay_steps s USING replays r WHERE r.batch_id = @id AND s.replay_id = r.id

-- name: end replays of batch
UPDATE replays SET status = @status, try = NULL, finished_at = @now WHERE batch_id = @id AND status IN ('queued', 'running')

-- name: open attempts of batch again
UPDATE replay_attempts a SET status = 'queued', run_id = gen_random_uuid(), stop_reason = NULL, detail = NULL, remedy = NULL, result = NULL, details = NULL,
	started_at = NULL, finished_at = NULL
FROM replays r WHERE r.batch_id = @id AND a.replay_id = r.id AND a.status IN ('failed', 'cancelled')

-- name: extend replay of batch
UPDATE replays r SET status = 'queued', try = NULL, stop_reason = NULL, error_code = NULL, error_detail = NULL, cost = NULL, verdict = NULL, finished_at = NULL,
	looks = CASE WHEN verdict IS NULL THEN looks ELSE coalesce((verdict::json ->> 'looks')::integer, looks + 1) END,
	controls = @controls, treatments = @treatments
WHERE id = @id AND EXISTS (SELECT FROM replay_attempts a WHERE a.replay_id = r.id AND a.status = 'queued')

-- name: extend batch
UPDATE replay_batches SET status = 'queued', job_id = @job, try = NULL, stop_reason = NULL, error_code = NULL, error_detail = NULL, result = NULL, finished_at = NULL,
	looks = CASE WHEN result IS NULL THEN looks ELSE coalesce((result::json ->> 'looks')::integer, looks + 1) END,
	controls = @controls, treatments = @treatments, max_cost_nanousd = coalesce(@max_cost::bigint, max_cost_nanousd)
WHERE id = @id AND status NOT IN ('queued', 'running')

-- name: list lost batches
SELECT id, project_id, status NOT IN ('queued', 'running') AS ended FROM replay_batches b
WHERE (status IN ('queued', 'running') OR (status <> 'failed' AND result IS NULL)) AND coalesce(started_at, created_at) < @before
	AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = b.job_id AND j.state NOT IN ('completed', 'cancelled', 'discarded'))

-- name: set job of batch
UPDATE replay_batches SET job_id = @job
WHERE id = @id AND (status IN ('queued', 'running') OR (status <> 'failed' AND result IS NULL))
	AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = job_id AND j.state NOT IN ('completed', 'cancelled', 'discarded'))

-- name: begin batch
UPDATE replay_batches SET status = CASE WHEN status = 'queued' THEN 'running' ELSE status END, try = @try, started_at = coalesce(started_at, @now)
WHERE id = @id AND (status IN ('queued', 'running') OR (status <> 'failed' AND result IS NULL)) AND coalesce(job_id = @job, true)

-- name: get batch of job
SELECT project_id FROM replay_batches WHERE id = @id AND try = @try

-- name: set replay of run
-- Runs are planned several at once. A new replay has a key share lock on its batch, which FOR UPDATE would wait for, here and in all that
-- locks a batch.
UPDATE replay_batch_runs n SET replay_id = @replay, code = @code, detail = @detail
FROM (SELECT id FROM replay_batches WHERE id = @id AND try = @try FOR NO KEY UPDATE) b
WHERE n.batch_id = b.id AND n.number = @number AND n.replay_id IS NULL

-- name: list members
SELECT n.number, n.run_id, n.part, n.replay_id, n.code, coalesce(r.status, '') AS status
FROM replay_batch_runs n LEFT JOIN replays r ON r.id = n.replay_id WHERE n.batch_id = @id ORDER BY n.number

-- name: set outcomes of runs
UPDATE replay_batch_runs n SET outcome = o.outcome
FROM (SELECT id FROM replay_batches WHERE id = @id AND try = @try FOR NO KEY UPDATE) b, unnest(@numbers::integer[], @outcomes::text[]) AS o(number, outcome)
WHERE n.batch_id = b.id AND n.number = o.number

-- name: end batch
UPDATE replay_batches SET status = @status, stop_reason = @stop, error_code = @code, error_detail = @detail, result = @result, finished_at = coalesce(finished_at, @now), try = NULL
WHERE id = @id AND try = @try

-- name: begin replay of batch
UPDATE replays r SET status = 'running', try = @try, started_at = coalesce(r.started_at, @now)
FROM (SELECT id FROM replay_batches WHERE id = @batch AND try = @batch_try AND status = 'running' FOR NO KEY UPDATE) b
WHERE r.id = @id AND r.batch_id = b.id AND r.status IN ('queued', 'running')
