-- name: list projects
SELECT id, workspace_id, name, sample, created_at, updated_at FROM projects WHERE id = ANY(@projects)
ORDER BY name, id LIMIT @limit OFFSET @offset

-- name: read project
SELECT id, workspace_id, name, sample, created_at, updated_at FROM projects WHERE id = @project

-- name: create project
INSERT INTO projects (id, workspace_id, name, sample, created_at, updated_at) VALUES (@id, @workspace, @name, @sample, @now, @now)

-- name: has sample project
SELECT EXISTS (SELECT FROM projects WHERE workspace_id = @workspace AND sample)

-- name: rename project
UPDATE projects SET name = @name, updated_at = CASE WHEN name = @name THEN updated_at ELSE @now END
WHERE id = @project
RETURNING id, workspace_id, name, sample, created_at, updated_at

-- name: read limits
SELECT limits FROM projects WHERE id = @project

-- name: set limits
UPDATE projects SET limits = @limits, updated_at = CASE WHEN limits = @limits THEN updated_at ELSE @now END
WHERE id = @project
RETURNING limits

-- name: delete project
DELETE FROM projects WHERE id = @project

-- name: list due purges
SELECT project_id, purges FROM deleted_projects WHERE next_purge <= @now ORDER BY next_purge LIMIT 100

-- name: note purge
UPDATE deleted_projects SET purges = purges + 1, next_purge = @next WHERE project_id = @project AND purges = @purges

-- name: end purges
DELETE FROM deleted_projects WHERE project_id = @project AND purges = @purges

-- name: read failure rules
SELECT score_failures, signals_off FROM projects WHERE id = @project

-- name: set score failures
UPDATE projects SET score_failures = @list, updated_at = CASE WHEN score_failures = @list THEN updated_at ELSE @now END
WHERE id = @project
RETURNING score_failures, signals_off

-- name: set signals
UPDATE projects SET signals_off = @off, updated_at = CASE WHEN signals_off = @off THEN updated_at ELSE @now END
WHERE id = @project
RETURNING score_failures, signals_off
