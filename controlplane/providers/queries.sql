-- name: list providers
SELECT p.id, p.project_id, p.name, p.kind, p.base_url, p.secrets, p.secret_id, p.key_hint, p.header_names, p.max_concurrency, p.requests_per_minute,
	p.monthly_budget_nanousd AS monthly_budget, p.allow_unpriced, p.created_at, p.updated_at, u.email AS author_email, p.created_by_key AS author_key,
	s.running, least(s.concurrency_limit, p.max_concurrency) AS concurrency_limit, s.limited_at, s.paused_until, s.month, s.spent_nanousd AS spent, s.reserved_nanousd AS reserved
FROM providers p JOIN provider_states s ON s.provider_id = p.id LEFT JOIN users u ON u.id = p.created_by
WHERE p.project_id = ANY(@projects)
ORDER BY lower(p.name), p.id LIMIT @limit OFFSET @offset

-- name: get provider
SELECT p.id, p.project_id, p.name, p.kind, p.base_url, p.secrets, p.secret_id, p.key_hint, p.header_names, p.max_concurrency, p.requests_per_minute,
	p.monthly_budget_nanousd AS monthly_budget, p.allow_unpriced, p.created_at, p.updated_at, u.email AS author_email, p.created_by_key AS author_key,
	s.running, least(s.concurrency_limit, p.max_concurrency) AS concurrency_limit, s.limited_at, s.paused_until, s.month, s.spent_nanousd AS spent, s.reserved_nanousd AS reserved
FROM providers p JOIN provider_states s ON s.provider_id = p.id LEFT JOIN users u ON u.id = p.created_by
WHERE p.project_id = ANY(@projects) AND p.id = @provider

-- name: get provider with model
SELECT p.id, p.project_id, p.name, p.kind, p.base_url, p.secrets, p.secret_id, p.key_hint, p.header_names, p.max_concurrency, p.requests_per_minute,
	p.monthly_budget_nanousd AS monthly_budget, p.allow_unpriced, p.created_at, p.updated_at, u.email AS author_email, p.created_by_key AS author_key,
	s.running, least(s.concurrency_limit, p.max_concurrency) AS concurrency_limit, s.limited_at, s.paused_until, s.month, s.spent_nanousd AS spent, s.reserved_nanousd AS reserved,
	coalesce(m.adjustments, '{}') AS adjustments, coalesce(m.notes, '{}') AS notes, m.output_strategy,
	EXISTS (SELECT FROM price_overrides o WHERE o.project_id = p.project_id) AS has_prices
FROM providers p JOIN provider_states s ON s.provider_id = p.id LEFT JOIN users u ON u.id = p.created_by
	LEFT JOIN provider_models m ON m.provider_id = p.id AND m.model = @model
WHERE p.project_id = ANY(@projects) AND p.id = @provider

-- name: lock project
SELECT FROM projects WHERE id = @project FOR UPDATE

-- name: count providers
SELECT count(*) AS providers FROM providers WHERE project_id = @project

-- name: create provider
WITH created AS (
	INSERT INTO providers (id, project_id, name, kind, base_url, secrets, secret_id, key_hint, header_names, max_concurrency, requests_per_minute,
		monthly_budget_nanousd, allow_unpriced, created_by, created_by_key, created_at, updated_at)
	VALUES (@provider, @project, @name, @kind, @base_url, @secrets, @secret_id, @key_hint, @header_names, @max_concurrency, @requests_per_minute,
		@monthly_budget, @allow_unpriced, @author, @author_key, @now, @now)
	RETURNING id)
INSERT INTO provider_states (provider_id, concurrency_limit, month) SELECT id, @max_concurrency, @month FROM created

-- name: lock provider
SELECT FROM providers WHERE project_id = ANY(@projects) AND id = @provider FOR UPDATE

-- name: update provider
UPDATE providers SET name = @name, base_url = @base_url, secrets = @secrets, secret_id = @secret_id, key_hint = @key_hint, header_names = @header_names,
	max_concurrency = @max_concurrency, requests_per_minute = @requests_per_minute, monthly_budget_nanousd = @monthly_budget,
	allow_unpriced = @allow_unpriced, updated_at = @now
WHERE id = @provider

-- name: reset limit
UPDATE provider_states SET concurrency_limit = @max_concurrency, successes = 0, next_call_at = NULL, paused_until = NULL WHERE provider_id = @provider

-- name: forget models
DELETE FROM provider_models WHERE provider_id = @provider

-- name: delete provider
DELETE FROM providers WHERE project_id = ANY(@projects) AND id = @provider

-- name: list secrets of other keys
SELECT id, secrets, secret_id FROM providers WHERE secret_id <> @secret_id

-- name: encrypt again
UPDATE providers SET secrets = @secrets, secret_id = @secret_id WHERE id = @provider AND secret_id = @old_secret_id

-- name: list models
SELECT model, adjustments, notes, output_strategy FROM provider_models WHERE provider_id = @provider ORDER BY model LIMIT 1000

-- name: learn
INSERT INTO provider_models (provider_id, model, adjustments, notes, output_strategy, updated_at)
VALUES (@provider, @model, coalesce(@adjustment::jsonb, '{}')::text, coalesce(@note::jsonb, '{}')::text, @output_strategy, @now)
ON CONFLICT (provider_id, model) DO UPDATE SET
	adjustments = (provider_models.adjustments::jsonb || coalesce(@adjustment::jsonb, '{}'))::text,
	notes = (provider_models.notes::jsonb || coalesce(@note::jsonb, '{}'))::text,
	output_strategy = coalesce(@output_strategy, provider_models.output_strategy), updated_at = @now

-- name: list called models
SELECT model FROM provider_calls
WHERE project_id = @project AND provider_id = @provider AND started_at > @since AND status = 'succeeded'
GROUP BY model ORDER BY model LIMIT 200
