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
-- Where a project without a place waits and none is free, the job that has had its place longest leaves, of the project that has most.
WITH queues AS (
	SELECT q.queue, q.places * greatest(1, (SELECT count(*) FROM job_workers WHERE seen_at >= now() - @gone::interval)) AS places
	FROM unnest(@queues::text[], @places::integer[]) AS q(queue, places)
), jobs AS (
	SELECT j.id, j.queue, j.state, j.metadata ->> 'project_id' AS project, j.attempted_at, q.places,
		count(*) FILTER (WHERE j.state IN ('available', 'running')) OVER (PARTITION BY j.queue) AS taken,
		count(*) FILTER (WHERE j.state IN ('available', 'running')) OVER (PARTITION BY j.queue, j.metadata ->> 'project_id') AS has
	FROM river_job j
	JOIN queues q USING (queue)
	WHERE j.state IN ('pending', 'available', 'running')
), leaving AS (
	SELECT DISTINCT ON (r.queue) r.id
	FROM jobs r
	WHERE r.state = 'running' AND r.project IS NOT NULL AND r.taken >= r.places AND r.attempted_at < now() - @turn::interval
		AND EXISTS (SELECT FROM jobs w WHERE w.queue = r.queue AND w.state = 'pending' AND w.has = 0)
	ORDER BY r.queue, r.has DESC, r.attempted_at
)
SELECT pg_notify('looptrace_work', id::text) FROM leaving
