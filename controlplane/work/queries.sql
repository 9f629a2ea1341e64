-- name: see worker
INSERT INTO job_workers (id, seen_at) VALUES (@id, now()) ON CONFLICT (id) DO UPDATE SET seen_at = now()

-- name: remove worker
DELETE FROM job_workers WHERE id = @id

-- name: rescue jobs
WITH gone AS (
	DELETE FROM job_workers WHERE seen_at < now() - @gone::interval)
UPDATE river_job SET state = 'available', scheduled_at = now()
WHERE state = 'running' AND NOT EXISTS (
	SELECT FROM job_workers w WHERE w.id = attempted_by[array_length(attempted_by, 1)] AND w.seen_at >= now() - @gone::interval)

-- name: tell of work
SELECT pg_notify('looptrace_work', '')

-- name: lock places
SELECT pg_advisory_xact_lock(hashtextextended('looptrace_work', 0))

-- name: share out places
-- A project has at most half of the places of a queue, so that the first job of another one finds one. Free places go to organizations, to
-- their projects and then to the job that waits longest, each time to the one that has the fewest.
WITH queues AS (
	SELECT q.queue, q.places * greatest(1, (SELECT count(*) FROM job_workers WHERE seen_at >= now() - @gone::interval)) AS places
	FROM unnest(@queues::text[], @places::integer[]) AS q(queue, places)
), jobs AS (
	SELECT j.id, j.queue, j.state, j.metadata ->> 'project_id' AS project, w.organization_id AS organization, j.scheduled_at, q.places
	FROM river_job j
	JOIN queues q USING (queue)
	LEFT JOIN projects p ON p.id::text = j.metadata ->> 'project_id'
	LEFT JOIN workspaces w ON w.id = p.workspace_id
	WHERE j.state IN ('pending', 'available', 'running')
), of_project AS (
	SELECT *, count(*) FILTER (WHERE state = 'running') OVER (PARTITION BY queue, project) AS running,
		row_number() OVER (PARTITION BY queue, project, state = 'running' ORDER BY scheduled_at, id) AS nth
	FROM jobs
), of_organization AS (
	SELECT *, count(*) FILTER (WHERE state = 'running') OVER (PARTITION BY queue, organization)
		+ row_number() OVER (PARTITION BY queue, organization, state = 'running' ORDER BY running + nth, scheduled_at, id) AS share
	FROM of_project
), waiting AS (
	SELECT *, row_number() OVER (PARTITION BY queue, state = 'running' ORDER BY share, running + nth, scheduled_at, id)
		+ count(*) FILTER (WHERE state = 'running') OVER (PARTITION BY queue) AS place
	FROM of_organization
	WHERE state = 'running' OR project IS NULL OR running + nth <= greatest(1, places / 2)
), moved AS (
	UPDATE river_job j SET state = 'available', scheduled_at = least(j.scheduled_at, now())
	FROM waiting w WHERE w.id = j.id AND w.state = 'pending' AND w.place <= w.places AND j.state = 'pending'
	RETURNING j.queue
), returned AS (
	UPDATE river_job j SET state = 'pending'
	FROM jobs o WHERE o.id = j.id AND o.state = 'available' AND j.state = 'available' AND o.project IS NOT NULL
		AND NOT EXISTS (SELECT FROM waiting w WHERE w.id = j.id AND w.place <= w.places)
)
SELECT pg_notify(current_schema() || '.river_insert', json_build_object('queue', queue)::text) FROM (SELECT DISTINCT queue FROM moved) m

-- name: tell jobs to leave
-- Where a project without a place waits and none is free, the job that has had its place longest leaves, of the project that has most. One that
-- was told may be in the middle of a long step, so the next time another one is told.
WITH queues AS (
	SELECT q.queue, q.places * greatest(1, (SELECT count(*) FROM job_workers WHERE seen_at >= now() - @gone::interval)) AS places
	FROM unnest(@queues::text[], @places::integer[]) AS q(queue, places)
), jobs AS (
	SELECT j.id, j.queue, j.state, j.metadata ->> 'project_id' AS project, j.attempted_at, q.places,
		j.metadata ->> 'told' = extract(epoch FROM j.attempted_at)::text AS told,
		count(*) FILTER (WHERE j.state IN ('available', 'running')) OVER (PARTITION BY j.queue) AS taken,
		count(*) FILTER (WHERE j.state IN ('available', 'running')) OVER (PARTITION BY j.queue, j.metadata ->> 'project_id') AS has
	FROM river_job j
	JOIN queues q USING (queue)
	WHERE j.state IN ('pending', 'available', 'running')
), leaving AS (
	SELECT DISTINCT ON (r.queue) r.id
	FROM jobs r
	WHERE r.state = 'running' AND r.project IS NOT NULL AND r.told IS NOT TRUE AND r.taken >= r.places AND r.attempted_at < now() - @turn::interval
		AND EXISTS (SELECT FROM jobs w WHERE w.queue = r.queue AND w.state = 'pending' AND w.has = 0)
	ORDER BY r.queue, r.has DESC, r.attempted_at
), told AS (
	UPDATE river_job j SET metadata = j.metadata || jsonb_build_object('told', extract(epoch FROM j.attempted_at)::text)
	FROM leaving l WHERE l.id = j.id AND j.state = 'running'
	RETURNING j.id
)
SELECT pg_notify('looptrace_work', id::text) FROM told

-- name: list work
WITH listed AS (
	SELECT 'import' AS kind, i.id, i.project_id, i.dataset_id, coalesce(i.file_name, '') AS name, i.status, 'rows' AS unit, i.processed AS done, i.total,
		i.error_code, i.error_detail, i.created_by, i.created_by_key, i.created_at, i.started_at, i.finished_at, i.job_id
	FROM imports i WHERE i.project_id = ANY (@projects)
	UNION ALL
	SELECT 'near_duplicate_check', c.id, d.project_id, c.dataset_id, d.name, c.status, 'items', c.processed, c.total,
		c.error_code, c.error_detail, c.created_by, c.created_by_key, c.created_at, c.started_at, c.finished_at, c.job_id
	FROM near_duplicate_checks c JOIN datasets d ON d.id = c.dataset_id WHERE d.project_id = ANY (@projects)
	UNION ALL
	SELECT e.kind, e.id, e.project_id, e.dataset_id, e.name, e.status, CASE WHEN e.votes_total > 0 THEN 'outputs_and_votes' ELSE 'outputs' END,
		e.outputs_done + e.votes_done, e.outputs_total + e.votes_total,
		e.error_code, e.error_detail, e.created_by, e.created_by_key, e.created_at, e.started_at, e.finished_at, e.job_id
	FROM evaluations e WHERE e.project_id = ANY (@projects)
	UNION ALL
	SELECT 'replay', r.id, r.project_id, NULL, r.name, r.status, 'attempts',
		(SELECT count(*) FROM replay_attempts a WHERE a.replay_id = r.id AND a.status NOT IN ('queued', 'running')),
		(SELECT count(*) FROM replay_attempts a WHERE a.replay_id = r.id),
		r.error_code, r.error_detail, r.created_by, r.created_by_key, r.created_at, r.started_at, r.finished_at, r.job_id
	FROM replays r WHERE r.project_id = ANY (@projects) AND r.batch_id IS NULL
	UNION ALL
	SELECT 'replay_batch', b.id, b.project_id, NULL, b.name, b.status, 'attempts',
		(SELECT count(*) FROM replays r JOIN replay_attempts a ON a.replay_id = r.id WHERE r.batch_id = b.id AND a.status NOT IN ('queued', 'running')),
		(SELECT count(*) FROM replays r JOIN replay_attempts a ON a.replay_id = r.id WHERE r.batch_id = b.id)
			+ (b.controls + b.treatments) * (SELECT count(*) FROM replay_batch_runs n WHERE n.batch_id = b.id AND n.replay_id IS NULL AND n.code IS NULL),
		b.error_code, b.error_detail, b.created_by, b.created_by_key, b.created_at, b.started_at, b.finished_at, b.job_id
	FROM replay_batches b WHERE b.project_id = ANY (@projects)
	UNION ALL
	SELECT 'diagnosis', d.id, d.project_id, NULL, d.name, d.status, 'calls', CASE WHEN d.answer IS NULL THEN 0 ELSE 1 END, 1,
		d.error_code, d.error_detail, d.created_by, d.created_by_key, d.created_at, d.started_at, d.finished_at, d.job_id
	FROM diagnoses d WHERE d.project_id = ANY (@projects)
), page AS (
	SELECT *, status IN ('uploading', 'queued', 'running') AS open, array(SELECT id UNION ALL SELECT r.id FROM replays r WHERE r.batch_id = listed.id) AS callers FROM listed
	WHERE (@kind::text = '' OR kind = @kind) AND (@state::text = '' OR (status IN ('uploading', 'queued', 'running')) = (@state = 'open'))
	ORDER BY created_at DESC, id DESC LIMIT @limit OFFSET @offset
)
SELECT p.kind, p.id, p.project_id, p.dataset_id, p.name, p.status, p.unit, p.done::bigint AS done, p.total::bigint AS total, p.error_code, p.error_detail,
	u.email AS author_email, p.created_by_key AS author_key, p.created_at, p.started_at, p.finished_at,
	CASE WHEN NOT p.open THEN NULL
		WHEN j.state = 'pending' THEN 'turn'
		WHEN j.state = 'retryable' THEN 'retry'
		WHEN j.state IN ('scheduled', 'available') AND j.scheduled_at > now() THEN 'later'
		WHEN paused.until IS NOT NULL THEN 'provider' END AS waits_for,
	CASE WHEN p.open AND (j.state = 'retryable' OR j.state IN ('scheduled', 'available') AND j.scheduled_at > now()) THEN j.scheduled_at
		WHEN p.open THEN paused.until END AS waits_until,
	CASE WHEN p.open AND j.state = 'pending' THEN (
		SELECT count(*) FROM river_job o WHERE o.queue = j.queue AND o.state = 'running' AND o.metadata ->> 'project_id' = p.project_id::text) ELSE 0 END AS running,
	CASE WHEN p.open AND j.state = 'pending' THEN (
		SELECT count(*) FROM river_job o WHERE o.queue = j.queue AND o.state = 'pending' AND o.metadata ->> 'project_id' = p.project_id::text
			AND (o.scheduled_at, o.id) < (j.scheduled_at, j.id)) ELSE 0 END AS ahead
FROM page p LEFT JOIN users u ON u.id = p.created_by LEFT JOIN river_job j ON j.id = p.job_id
LEFT JOIN LATERAL ( -- the end of the pause of a provider that it has called, if it calls nothing now
	SELECT min(s.paused_until) AS until
	FROM provider_states s
	WHERE j.state = 'running' AND s.paused_until > now()
		AND EXISTS (SELECT FROM provider_calls c WHERE c.evaluation_id = ANY(p.callers) AND c.provider_id = s.provider_id)
		AND NOT EXISTS (SELECT FROM provider_calls c WHERE c.evaluation_id = ANY(p.callers) AND c.status = 'running')) paused ON true
ORDER BY p.created_at DESC, p.id DESC
