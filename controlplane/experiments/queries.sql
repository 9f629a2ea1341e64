-- name: list projects
SELECT id FROM projects ORDER BY id

-- name: get mark
SELECT written_at, project_id, run_id FROM experiment_marks

-- name: create mark
INSERT INTO experiment_marks (written_at, project_id, run_id) VALUES (@now, @nowhere, @nowhere) ON CONFLICT DO NOTHING

-- name: move mark
UPDATE experiment_marks SET written_at = @written, project_id = @project, run_id = @run
WHERE written_at = @old_written AND project_id = @old_project AND run_id = @old_run

-- name: note runs
INSERT INTO experiment_runs (project_id, run_id, written_at, next_attempt)
SELECT n.project, n.run, max(n.written), @now FROM unnest(@projects::uuid[], @runs::uuid[], @written::timestamptz[]) AS n (project, run, written)
WHERE EXISTS (SELECT FROM projects p WHERE p.id = n.project)
GROUP BY n.project, n.run
ON CONFLICT (project_id, run_id) DO UPDATE SET written_at = greatest(experiment_runs.written_at, excluded.written_at), attempts = 0, next_attempt = @now
	WHERE experiment_runs.written_at < excluded.written_at

-- name: list due runs
SELECT r.project_id, r.run_id, r.written_at
FROM (SELECT DISTINCT project_id FROM experiment_runs WHERE next_attempt <= @now) p
CROSS JOIN LATERAL (SELECT * FROM experiment_runs d WHERE d.project_id = p.project_id AND d.next_attempt <= @now ORDER BY d.next_attempt, d.run_id LIMIT @limit) r
ORDER BY r.project_id, r.next_attempt, r.run_id

-- name: remove runs
DELETE FROM experiment_runs r USING unnest(@runs::uuid[], @written::timestamptz[]) AS n (run, written)
WHERE r.project_id = @project AND r.run_id = n.run AND r.written_at = n.written

-- name: postpone runs
UPDATE experiment_runs SET attempts = least(attempts + 1, 20), next_attempt = @now::timestamptz + least(interval '10 minutes', interval '5 seconds' * 2 ^ least(attempts, 10))
WHERE project_id = @project AND run_id = ANY(@runs)

-- name: get experiment
SELECT id, project_id, external_id, name, metadata, begun, finished_at FROM experiments WHERE project_id = @project AND external_id = @external

-- name: create experiment
INSERT INTO experiments (id, project_id, external_id, name, metadata, created_at, last_result_at)
SELECT @id, @project, @external, @name, @metadata, @now, @now
WHERE (SELECT count(*) FROM experiments WHERE project_id = @project AND created_at > @since) < @limit
ON CONFLICT (project_id, external_id) DO NOTHING

-- name: lock experiment
SELECT id FROM experiments WHERE id = @id FOR UPDATE

-- name: find results
SELECT run_id, span_id, item_key, unused FROM experiment_results
WHERE experiment_id = @id AND (run_id = ANY(@runs) OR (unused IS NULL AND item_key = ANY(@keys)))

-- name: count used results
SELECT count(*) AS results FROM experiment_results WHERE experiment_id = @id AND unused IS NULL

-- name: add results
INSERT INTO experiment_results (experiment_id, run_id, span_id, item_key, unused)
SELECT @id, * FROM unnest(@runs::uuid[], @spans::bigint[], @keys::text[], @unused::text[])

-- name: refuse results
UPDATE experiment_results SET unused = @unused WHERE experiment_id = @id AND unused IS NULL AND item_key = ANY(@keys)

-- name: count unused results
SELECT unused, count(*) AS results FROM experiment_results WHERE experiment_id = @id AND unused IS NOT NULL GROUP BY unused ORDER BY results DESC, unused

-- name: note growth
UPDATE experiments SET begun = true, last_result_at = @now, finished_at = NULL WHERE id = @id

-- name: list quiet experiments
SELECT e.id, e.project_id, e.external_id, e.name, e.metadata, e.begun, e.finished_at FROM evaluations v JOIN experiments e ON e.id = v.id
WHERE v.status = 'running' AND e.last_result_at < @before
	AND NOT EXISTS (SELECT FROM experiment_runs r WHERE r.project_id = e.project_id AND r.attempts < @max_reads)
ORDER BY e.last_result_at LIMIT @limit

-- name: finish experiment
UPDATE experiments SET finished_at = @now WHERE id = @id AND last_result_at < @before

-- name: get dataset
SELECT dataset_id FROM experiment_datasets WHERE project_id = @project AND source = @source

-- name: keep dataset
INSERT INTO experiment_datasets (project_id, source, dataset_id) VALUES (@project, @source, @dataset) ON CONFLICT DO NOTHING
