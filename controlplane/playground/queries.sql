-- name: list scenarios
SELECT s.id, s.project_id, s.name, '' AS content, s.created_at, s.updated_at, u.email AS author_email, s.created_by_key AS author_key
FROM scenarios s LEFT JOIN users u ON u.id = s.created_by
WHERE s.project_id = ANY(@projects)
ORDER BY lower(s.name), s.id LIMIT @limit OFFSET @offset

-- name: get scenario
SELECT s.id, s.project_id, s.name, s.content, s.created_at, s.updated_at, u.email AS author_email, s.created_by_key AS author_key
FROM scenarios s LEFT JOIN users u ON u.id = s.created_by
WHERE s.project_id = ANY(@projects) AND s.id = @scenario

-- name: lock project
SELECT FROM projects WHERE id = @project FOR UPDATE

-- name: count scenarios
SELECT count(*) AS scenarios FROM scenarios WHERE project_id = @project

-- name: create scenario
INSERT INTO scenarios (id, project_id, name, content, created_by, created_by_key, created_at, updated_at)
VALUES (@scenario, @project, @name, @content, @author, @author_key, @now, @now)

-- name: update scenario
UPDATE scenarios SET name = coalesce(@name, name), content = coalesce(@content, content), updated_at = @now
WHERE project_id = ANY(@projects) AND id = @scenario

-- name: delete scenario
DELETE FROM scenarios WHERE project_id = ANY(@projects) AND id = @scenario
