-- name: list prices
SELECT id, provider, model, valid_from, input, output, cache_read, cache_write, cache_write_1h, reasoning, revision
FROM price_overrides WHERE project_id = @project
ORDER BY model, provider, valid_from NULLS FIRST

-- name: lock project
SELECT id FROM projects WHERE id = @project FOR NO KEY UPDATE

-- name: count prices
SELECT count(*) AS prices FROM price_overrides WHERE project_id = @project

-- name: create price
INSERT INTO price_overrides (id, project_id, provider, model, valid_from, input, output, cache_read, cache_write, cache_write_1h, reasoning)
VALUES (@id, @project, @provider, @model, @valid_from, @input, @output, @cache_read, @cache_write, @cache_write_1h, @reasoning)
RETURNING id, provider, model, valid_from, input, output, cache_read, cache_write, cache_write_1h, reasoning, revision

-- name: set price
UPDATE price_overrides SET provider = @provider, model = @model, valid_from = @valid_from, input = @input, output = @output,
	cache_read = @cache_read, cache_write = @cache_write, cache_write_1h = @cache_write_1h, reasoning = @reasoning
WHERE project_id = @project AND id = @id
RETURNING id, provider, model, valid_from, input, output, cache_read, cache_write, cache_write_1h, reasoning, revision

-- name: delete price
DELETE FROM price_overrides WHERE project_id = @project AND id = @id
