-- name: list prompts
SELECT p.id, p.project_id, p.name, p.description, p.tags, p.latest_version, p.created_at, p.updated_at, u.email AS author_email,
	p.created_by_key AS author_key,
	coalesce((
		SELECT json_agg(json_build_object('alias', a.alias, 'version', a.version, 'protected', a.protected, 'changes', a.changes,
			'updated_at', a.updated_at, 'author_email', au.email, 'author_key', a.updated_by_key) ORDER BY a.alias)
		FROM prompt_aliases a LEFT JOIN users au ON au.id = a.updated_by
		WHERE a.prompt_id = p.id), '[]') AS aliases
FROM prompts p LEFT JOIN users u ON u.id = p.created_by
WHERE p.project_id = ANY(@projects)
	AND (@name = '' OR p.name = @name)
	AND (@search = '' OR p.name ILIKE @search OR p.description ILIKE @search)
	AND (@tag = '' OR @tag = ANY(p.tags))
	AND (NOT @in_folder OR starts_with(p.name, @folder) AND strpos(substr(p.name, length(@folder) + 1), '/') = 0)
ORDER BY p.name, p.id LIMIT @limit OFFSET @offset

-- name: list folders
SELECT @folder || split_part(substr(name, length(@folder) + 1), '/', 1) AS name, count(*) AS prompts
FROM prompts
WHERE project_id = ANY(@projects) AND starts_with(name, @folder) AND strpos(substr(name, length(@folder) + 1), '/') > 0
GROUP BY 1 ORDER BY 1 LIMIT 1000

-- name: get prompt
SELECT p.id, p.project_id, p.name, p.description, p.tags, p.latest_version, p.created_at, p.updated_at, u.email AS author_email,
	p.created_by_key AS author_key,
	coalesce((
		SELECT json_agg(json_build_object('alias', a.alias, 'version', a.version, 'protected', a.protected, 'changes', a.changes,
			'updated_at', a.updated_at, 'author_email', au.email, 'author_key', a.updated_by_key) ORDER BY a.alias)
		FROM prompt_aliases a LEFT JOIN users au ON au.id = a.updated_by
		WHERE a.prompt_id = p.id), '[]') AS aliases
FROM prompts p LEFT JOIN users u ON u.id = p.created_by
WHERE p.project_id = ANY(@projects) AND p.id = @prompt

-- name: create prompt
INSERT INTO prompts (id, project_id, name, description, tags, created_by, created_by_key, created_at, updated_at)
VALUES (@id, @project, @name, coalesce(@description, ''), @tags, @author, @author_key, @now, @now)
ON CONFLICT (project_id, name) DO NOTHING

-- name: update prompt
UPDATE prompts SET description = coalesce(@description, description), tags = coalesce(@tags, tags), updated_at = @now
WHERE project_id = ANY(@projects) AND id = @prompt

-- name: lock prompt
UPDATE prompts SET updated_at = @now WHERE project_id = ANY(@projects) AND id = @prompt
RETURNING project_id, latest_version

-- name: delete prompt
DELETE FROM prompts WHERE id = @prompt

-- name: find by name
SELECT id FROM prompts WHERE project_id = @project AND name = @name

-- name: list versions
SELECT v.prompt_id, p.name, v.version, v.content_hash, v.messages, v.tools, v.response_format, v.model_config, v.variables,
	v.template_format, v.missing, v.note, v.created_at, u.email AS author_email, v.created_by_key AS author_key,
	ARRAY(SELECT a.alias FROM prompt_aliases a WHERE a.prompt_id = v.prompt_id AND a.version = v.version ORDER BY a.alias) AS aliases
FROM prompt_versions v JOIN prompts p ON p.id = v.prompt_id LEFT JOIN users u ON u.id = v.created_by
WHERE p.project_id = ANY(@projects) AND p.id = @prompt
ORDER BY v.version DESC LIMIT @limit OFFSET @offset

-- name: get version
SELECT v.prompt_id, p.name, v.version, v.content_hash, v.messages, v.tools, v.response_format, v.model_config, v.variables,
	v.template_format, v.missing, v.note, v.created_at, u.email AS author_email, v.created_by_key AS author_key,
	ARRAY(SELECT a.alias FROM prompt_aliases a WHERE a.prompt_id = v.prompt_id AND a.version = v.version ORDER BY a.alias) AS aliases
FROM prompt_versions v JOIN prompts p ON p.id = v.prompt_id LEFT JOIN users u ON u.id = v.created_by
WHERE p.project_id = ANY(@projects) AND p.id = @prompt AND v.version = @version

-- name: find by content
SELECT version FROM prompt_versions WHERE prompt_id = @prompt AND content_hash = @hash

-- name: add version
INSERT INTO prompt_versions (prompt_id, version, content_hash, messages, tools, response_format, model_config, variables,
	template_format, missing, note, system_text_id, created_by, created_by_key, created_at)
VALUES (@prompt, @version, @hash, @messages, @tools, @response_format, @model_config, @variables,
	@template_format, @missing, @note, @system_text_id, @author, @author_key, @now)

-- name: set latest version
UPDATE prompts SET latest_version = @version WHERE id = @prompt

-- name: resolve
SELECT v.prompt_id, p.name, v.version, v.content_hash, v.messages, v.tools, v.response_format, v.model_config, v.variables,
	v.template_format, v.missing, v.note, v.created_at, u.email AS author_email, v.created_by_key AS author_key,
	NULL::text[] AS aliases
FROM prompts p
	JOIN prompt_versions v ON v.prompt_id = p.id
	LEFT JOIN users u ON u.id = v.created_by
WHERE p.project_id = @project AND p.name = @name AND v.version = CASE
	WHEN @version > 0 THEN @version
	WHEN @alias = 'latest' THEN p.latest_version
	ELSE (SELECT a.version FROM prompt_aliases a WHERE a.prompt_id = p.id AND a.alias = @alias) END

-- name: list aliases
SELECT a.alias, a.version, a.protected, a.changes, a.updated_at, u.email AS author_email, a.updated_by_key AS author_key
FROM prompt_aliases a LEFT JOIN users u ON u.id = a.updated_by
WHERE a.prompt_id = @prompt ORDER BY a.alias

-- name: get alias
SELECT a.alias, a.version, a.protected, a.changes, a.updated_at, u.email AS author_email, a.updated_by_key AS author_key
FROM prompt_aliases a LEFT JOIN users u ON u.id = a.updated_by
WHERE a.prompt_id = @prompt AND a.alias = @alias

-- name: count changes
SELECT coalesce(max(number), 0) AS changes FROM prompt_alias_changes WHERE prompt_id = @prompt AND alias = @alias

-- name: set alias
INSERT INTO prompt_aliases (prompt_id, alias, version, protected, changes, updated_by, updated_by_key, updated_at)
VALUES (@prompt, @alias, @version, @protected, @number, @author, @author_key, @now)
ON CONFLICT (prompt_id, alias) DO UPDATE SET version = excluded.version, protected = excluded.protected, changes = excluded.changes,
	updated_by = excluded.updated_by, updated_by_key = excluded.updated_by_key, updated_at = excluded.updated_at

-- name: delete alias
DELETE FROM prompt_aliases WHERE prompt_id = @prompt AND alias = @alias

-- name: add change
INSERT INTO prompt_alias_changes (prompt_id, alias, number, change, from_version, to_version, created_by, created_by_key, created_at)
VALUES (@prompt, @alias, @number, @change, @from_version, @to_version, @author, @author_key, @now)

-- name: list changes
SELECT c.change, c.from_version, c.to_version, c.created_at, u.email AS author_email, c.created_by_key AS author_key
FROM prompt_alias_changes c LEFT JOIN users u ON u.id = c.created_by
WHERE c.prompt_id = @prompt AND c.alias = @alias
ORDER BY c.number DESC LIMIT @limit OFFSET @offset

-- name: list published
SELECT v.prompt_id, p.name, v.version, v.content_hash, v.messages, v.tools, v.response_format, v.model_config, v.variables,
	v.template_format, v.missing, v.note, v.created_at, NULL::text AS author_email, NULL::text AS author_key, NULL::text[] AS aliases, p.description
FROM prompts p
	LEFT JOIN prompt_aliases a ON a.prompt_id = p.id AND a.alias = @alias
	JOIN prompt_versions v ON v.prompt_id = p.id AND v.version = coalesce(a.version, p.latest_version)
WHERE p.project_id = ANY(@projects) AND (@name = '' OR p.name = @name)
ORDER BY p.name, p.id LIMIT @limit OFFSET @offset

-- name: find texts
SELECT v.version, v.system_text_id
FROM prompts p JOIN prompt_versions v ON v.prompt_id = p.id
WHERE p.project_id = ANY(@projects) AND (@id = '' OR p.id::text = @id) AND (@name = '' OR p.name = @name)
	AND (@version = '' OR v.version::text = @version) AND v.system_text_id IS NOT NULL
	AND NOT EXISTS (
		SELECT FROM prompt_versions v2 JOIN prompts p2 ON p2.id = v2.prompt_id
		WHERE v2.system_text_id = v.system_text_id AND p2.project_id = p.project_id AND (v2.prompt_id, v2.version) <> (v.prompt_id, v.version))
ORDER BY v.version DESC LIMIT @limit

-- name: find by texts
SELECT (array_agg(p.id))[1] AS id, min(p.name) AS name, min(v.version) AS version
FROM prompt_versions v JOIN prompts p ON p.id = v.prompt_id
WHERE p.project_id = @project AND v.system_text_id = ANY(@ids)
GROUP BY v.system_text_id HAVING count(*) = 1
ORDER BY 2, 3
