-- name: list views
SELECT v.id, v.page, v.name, v.query, u.email AS created_by, v.created_at, v.updated_at
FROM saved_views v LEFT JOIN users u ON u.id = v.created_by
WHERE v.project_id = @project ORDER BY v.page, lower(v.name)

-- name: lock project
SELECT id FROM projects WHERE id = @project FOR NO KEY UPDATE

-- name: count views
SELECT count(*) AS views FROM saved_views WHERE project_id = @project

-- name: create view
WITH v AS (
	INSERT INTO saved_views (id, project_id, page, name, query, created_by, created_at, updated_at)
	VALUES (@id, @project, @page, @name, @query, @author, @now, @now)
	RETURNING *)
SELECT v.id, v.page, v.name, v.query, u.email AS created_by, v.created_at, v.updated_at
FROM v LEFT JOIN users u ON u.id = v.created_by

-- name: update view
WITH v AS (
	UPDATE saved_views SET name = coalesce(@name, name), query = coalesce(@query, query), updated_at = @now
	WHERE project_id = @project AND id = @id
	RETURNING *)
SELECT v.id, v.page, v.name, v.query, u.email AS created_by, v.created_at, v.updated_at
FROM v LEFT JOIN users u ON u.id = v.created_by

-- name: delete view
DELETE FROM saved_views WHERE project_id = @project AND id = @id
