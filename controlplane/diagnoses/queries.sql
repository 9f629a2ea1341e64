-- name: list diagnoses
SELECT d.id, d.project_id, d.name, d.fingerprint, d.config, d.max_cost_nanousd, d.allow_unpriced, d.status, d.error_code, d.error_detail, d.job_id, d.answer, d.result,
	d.created_at, d.started_at, d.finished_at, u.email AS author_email, d.created_by_key AS author_key, d.created_by AS created_by_id
FROM diagnoses d LEFT JOIN users u ON u.id = d.created_by
WHERE d.project_id = ANY(@projects) AND (@id::uuid IS NULL OR d.id = @id) AND (@fingerprint = '' OR d.fingerprint = @fingerprint) AND (@status = '' OR d.status = @status)
ORDER BY d.created_at DESC, d.id DESC LIMIT @limit OFFSET @offset

-- name: create diagnosis
INSERT INTO diagnoses (id, project_id, name, fingerprint, config, max_cost_nanousd, allow_unpriced, status, job_id, created_by, created_by_key, created_at)
VALUES (@id, @project, @name, @fingerprint, @config, @max_cost, @allow_unpriced, 'queued', @job, @author, @author_key, @now)

-- name: cancel diagnosis
UPDATE diagnoses SET status = 'cancelled', try = NULL, answer = NULL, finished_at = @now
WHERE project_id = ANY(@projects) AND id = @id AND status IN ('queued', 'running')

-- name: delete diagnosis
DELETE FROM diagnoses WHERE project_id = ANY(@projects) AND id = @id AND status NOT IN ('queued', 'running')

-- name: list lost diagnoses
SELECT id, project_id, false AS ended FROM diagnoses d
WHERE status IN ('queued', 'running') AND coalesce(started_at, created_at) < @before
	AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = d.job_id AND j.state NOT IN ('completed', 'cancelled', 'discarded'))

-- name: set job of diagnosis
UPDATE diagnoses SET job_id = @job
WHERE id = @id AND status IN ('queued', 'running')
	AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = job_id AND j.state NOT IN ('completed', 'cancelled', 'discarded'))

-- name: begin diagnosis
UPDATE diagnoses SET status = 'running', try = @try, started_at = coalesce(started_at, @now)
WHERE id = @id AND status IN ('queued', 'running') AND coalesce(job_id = @job, true)

-- name: get diagnosis of job
SELECT project_id FROM diagnoses WHERE id = @id AND try = @try

-- name: store answer
UPDATE diagnoses SET answer = @answer WHERE id = @id AND try = @try

-- name: end diagnosis
UPDATE diagnoses SET status = @status, error_code = @code, error_detail = @detail, result = @result, try = NULL, finished_at = @now
WHERE id = @id AND try = @try
