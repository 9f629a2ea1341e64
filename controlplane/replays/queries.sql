-- name: list replays
SELECT r.id, r.project_id, r.name, r.run_id, r.run_name,
	json_build_object('executor', r.config::json -> 'executor', 'provider_id', r.config::json -> 'provider_id', 'provider_name', r.config::json -> 'provider_name')::text AS config,
	r.controls, r.treatments, r.looks, r.max_cost_nanousd, r.allow_unpriced, r.estimate, r.status, r.stop_reason,
	r.error_code, r.error_detail, r.job_id, r.batch_id, r.cost,
	CASE WHEN r.verdict IS NOT NULL THEN json_build_object('verdict', r.verdict::json -> 'verdict', 'sentence', r.verdict::json -> 'sentence')::text END AS verdict, r.created_at, r.started_at, r.finished_at, u.email AS author_email, r.created_by_key AS author_key, r.created_by AS created_by_id,
	a.total, a.done, a.failed,
	(SELECT coalesce(json_agg(json_build_object('target', e -> 'target', 'set', (SELECT min(k) FROM json_object_keys(e -> 'set') k)) ORDER BY n), '[]')::text
		FROM json_array_elements(r.config::json -> 'edits') WITH ORDINALITY AS of (e, n)) AS edits
FROM replays r LEFT JOIN users u ON u.id = r.created_by
CROSS JOIN LATERAL (
	SELECT count(*) AS total, count(*) FILTER (WHERE status NOT IN ('queued', 'running')) AS done, count(*) FILTER (WHERE status = 'failed') AS failed
	FROM replay_attempts WHERE replay_id = r.id) a
WHERE r.project_id = ANY(@projects) AND (@run::uuid IS NULL OR r.run_id = @run) AND (@status = '' OR r.status = @status)
	AND (r.batch_id IS NOT DISTINCT FROM @batch::uuid OR @batch::uuid IS NULL AND @run::uuid IS NOT NULL)
ORDER BY r.created_at DESC, r.id DESC LIMIT @limit OFFSET @offset

-- name: get replay
SELECT r.id, r.project_id, r.name, r.run_id, r.run_name, r.config, r.controls, r.treatments, r.looks, r.max_cost_nanousd, r.allow_unpriced, r.estimate, r.status, r.stop_reason,
	r.error_code, r.error_detail, r.job_id, r.batch_id, r.cost, r.verdict, r.created_at, r.started_at, r.finished_at, u.email AS author_email, r.created_by_key AS author_key, r.created_by AS created_by_id,
	a.total, a.done, a.failed
FROM replays r LEFT JOIN users u ON u.id = r.created_by
CROSS JOIN LATERAL (
	SELECT count(*) AS total, count(*) FILTER (WHERE status NOT IN ('queued', 'running')) AS done, count(*) FILTER (WHERE status = 'failed') AS failed
	FROM replay_attempts WHERE replay_id = r.id) a
WHERE r.project_id = ANY(@projects) AND r.id = @id

-- name: create replay
INSERT INTO replays (id, project_id, name, run_id, run_name, config, controls, treatments, max_cost_nanousd, allow_unpriced, estimate, status, job_id, batch_id, created_by, created_by_key, created_at)
VALUES (@id, @project, @name, @run, @run_name, @config, @controls, @treatments, @max_cost, @allow_unpriced, @estimate, 'queued', @job, @batch, @author, @author_key, @now)

-- name: lock replay
SELECT id FROM replays WHERE project_id = ANY(@projects) AND id = @id FOR UPDATE

-- name: rename replay
UPDATE replays SET name = @name WHERE project_id = ANY(@projects) AND id = @id

-- name: delete replay
DELETE FROM replays WHERE project_id = ANY(@projects) AND id = @id AND status NOT IN ('queued', 'running')

-- name: cancel replay
UPDATE replays SET status = 'cancelled', job_id = @job, try = NULL, finished_at = @now WHERE id = @id AND status IN ('queued', 'running')

-- name: extend replay
UPDATE replays SET status = 'queued', job_id = @job, try = NULL, stop_reason = NULL, error_code = NULL, error_detail = NULL, cost = NULL, verdict = NULL, finished_at = NULL,
	looks = CASE WHEN verdict IS NULL THEN looks ELSE coalesce((verdict::json ->> 'looks')::integer, looks + 1) END,
	controls = @controls, treatments = @treatments, max_cost_nanousd = coalesce(@max_cost::bigint, max_cost_nanousd)
WHERE id = @id AND status NOT IN ('queued', 'running')

-- name: list lost replays
SELECT id, project_id, status NOT IN ('queued', 'running') AS ended FROM replays r
WHERE (status IN ('queued', 'running') OR (status <> 'failed' AND verdict IS NULL)) AND batch_id IS NULL AND coalesce(started_at, created_at) < @before
	AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = r.job_id AND j.state NOT IN ('completed', 'cancelled', 'discarded'))

-- name: set job of replay
UPDATE replays SET job_id = @job
WHERE id = @id AND (status IN ('queued', 'running') OR (status <> 'failed' AND verdict IS NULL))
	AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = job_id AND j.state NOT IN ('completed', 'cancelled', 'discarded'))

-- name: begin replay
UPDATE replays SET status = CASE WHEN status = 'queued' THEN 'running' ELSE status END, try = @try, started_at = coalesce(started_at, @now)
WHERE id = @id AND (status IN ('queued', 'running') OR (status <> 'failed' AND verdict IS NULL)) AND coalesce(job_id = @job, true)

-- name: get replay of job
SELECT project_id FROM replays WHERE id = @id AND try = @try

-- name: end replay
UPDATE replays SET status = @status, stop_reason = @stop, error_code = @code, error_detail = @detail, cost = @cost, verdict = @verdict, finished_at = coalesce(finished_at, @now), try = NULL
WHERE id = @id AND try = @try

-- name: add attempts
INSERT INTO replay_attempts (replay_id, number, role, index, status, run_id, reused, control_key, stop_reason, result, details, started_at, finished_at)
SELECT @id, a.number, a.role, a.index, CASE WHEN c.number IS NULL THEN 'queued' ELSE 'succeeded' END, coalesce(c.run_id, a.run_id), c.number IS NOT NULL,
	decode(a.control_key, 'hex'), c.stop_reason, c.result, c.details, c.started_at, c.finished_at
FROM json_to_recordset(@rows) AS a(number integer, role text, index integer, run_id uuid, control_key text, of uuid, of_number integer)
LEFT JOIN replay_attempts c ON c.replay_id = a.of AND c.number = a.of_number AND c.status = 'succeeded'

-- name: find controls
SELECT a.replay_id, a.number, a.run_id
FROM replay_attempts a JOIN replays r ON r.id = a.replay_id
WHERE a.control_key = @key AND a.status = 'succeeded' AND a.stop_reason = 'completed' AND NOT a.reused AND r.project_id = @project AND a.finished_at > @since
	AND a.result::json -> 'fingerprints' ->> 0 IS NOT NULL
ORDER BY a.finished_at DESC LIMIT @limit

-- name: list attempts
SELECT number, role, index, status, run_id, reused, stop_reason, detail, remedy, result, started_at, finished_at
FROM replay_attempts WHERE replay_id = @id ORDER BY number

-- name: get details
SELECT details FROM replay_attempts WHERE replay_id = @id AND number = @number

-- name: open attempts again
UPDATE replay_attempts SET status = 'queued', run_id = gen_random_uuid(), stop_reason = NULL, detail = NULL, remedy = NULL, result = NULL, details = NULL,
	started_at = NULL, finished_at = NULL
WHERE replay_id = @id AND status IN ('failed', 'cancelled')

-- name: open reused controls
UPDATE replay_attempts a SET status = 'queued', reused = false, run_id = gen_random_uuid(), stop_reason = NULL, result = NULL, details = NULL,
	started_at = NULL, finished_at = NULL
FROM (SELECT id FROM replays WHERE id = @id AND try = @try FOR UPDATE) r
WHERE a.replay_id = r.id AND reused

-- name: begin attempt
UPDATE replay_attempts a SET status = 'running', started_at = coalesce(a.started_at, @now)
FROM (SELECT id FROM replays WHERE id = @id AND try = @try FOR UPDATE) r
WHERE a.replay_id = r.id AND a.number = @number

-- name: list steps
SELECT content FROM replay_steps WHERE replay_id = @id AND number = @number ORDER BY step

-- name: store step
INSERT INTO replay_steps (replay_id, number, step, content)
SELECT r.id, @number, @step, @content FROM (SELECT id FROM replays WHERE id = @id AND try = @try AND status = 'running' FOR UPDATE) r
ON CONFLICT (replay_id, number, step) DO NOTHING

-- name: end attempt
UPDATE replay_attempts a SET status = @status, stop_reason = @stop, detail = @detail, remedy = @remedy, result = @result, details = @details, finished_at = @now
FROM (SELECT id FROM replays WHERE id = @id AND try = @try FOR UPDATE) r
WHERE a.replay_id = r.id AND a.number = @number

-- name: list votes
SELECT content FROM replay_votes WHERE replay_id = @id AND number = @number ORDER BY vote

-- name: store vote
INSERT INTO replay_votes (replay_id, number, vote, content)
SELECT r.id, @number, @vote, @content FROM (SELECT id FROM replays WHERE id = @id AND try = @try AND status = 'running' FOR UPDATE) r
ON CONFLICT (replay_id, number, vote) DO UPDATE SET content = excluded.content

-- name: remove steps
WITH votes AS (DELETE FROM replay_votes WHERE replay_id = @id AND (@number::integer IS NULL OR number = @number))
DELETE FROM replay_steps WHERE replay_id = @id AND (@number::integer IS NULL OR number = @number)

-- name: cancel attempts
UPDATE replay_attempts a SET status = 'cancelled', stop_reason = @stop, detail = @detail, remedy = @remedy, finished_at = @now
FROM (SELECT id FROM replays WHERE id = @id AND try IS NOT DISTINCT FROM @try FOR UPDATE) r
WHERE a.replay_id = r.id AND a.status IN ('queued', 'running')
