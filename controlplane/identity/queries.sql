-- name: read whether setup was done
SELECT EXISTS (SELECT FROM bootstrap) AS done

-- name: note that setup was done
INSERT INTO bootstrap (user_id, completed_at) VALUES (@user, @now)

-- name: create user
INSERT INTO users (id, email, password_hash, created_at, updated_at) VALUES (@user, @email, @password_hash, @now, @now)

-- name: create organization
INSERT INTO organizations (id, name) VALUES (@organization, @organization_name)

-- name: make user the owner of the organization
INSERT INTO organization_members (organization_id, user_id, role) VALUES (@organization, @user, 'owner')

-- name: create workspace
INSERT INTO workspaces (id, organization_id, name) VALUES (@workspace, @organization, 'Default')

-- name: create project
INSERT INTO projects (id, workspace_id, name, created_at, updated_at) VALUES (@project, @workspace, 'Default', @now, @now)

-- name: read user
SELECT id, email, password_hash, created_at FROM users WHERE lower(email) = lower(@email)

-- name: replace password hash
UPDATE users SET password_hash = @new, updated_at = @now WHERE id = @user AND password_hash = @old

-- name: open session
INSERT INTO sessions (token_sha256, user_id, created_at, last_seen_at, expires_at, user_agent, ip)
VALUES (@hash, @user, @now, @now, @expires, @user_agent, @ip)

-- name: remove ended sessions
DELETE FROM sessions
WHERE token_sha256 = @replaced OR expires_at <= @now OR user_id = @user AND last_seen_at <= @idle

-- name: read session
SELECT u.id AS user_id, u.email, u.created_at, s.last_seen_at
FROM sessions s JOIN users u ON u.id = s.user_id
WHERE s.token_sha256 = @hash AND s.expires_at > @now AND s.last_seen_at > @idle

-- name: note use of session
UPDATE sessions SET last_seen_at = @now WHERE token_sha256 = @hash AND last_seen_at < @now

-- name: end session
DELETE FROM sessions WHERE token_sha256 = @hash

-- name: read access of user
SELECT w.id AS workspace_id, w.name AS workspace_name, o.id AS organization_id, o.name AS organization_name,
	coalesce(om.role, '') AS organization_role, coalesce(wm.role, '') AS workspace_role,
	p.id AS project_id, p.name AS project_name
FROM workspaces w
JOIN organizations o ON o.id = w.organization_id
LEFT JOIN organization_members om ON om.organization_id = o.id AND om.user_id = @user
LEFT JOIN workspace_members wm ON wm.workspace_id = w.id AND wm.user_id = @user
LEFT JOIN projects p ON p.workspace_id = w.id
WHERE om.role IS NOT NULL OR wm.role IS NOT NULL
ORDER BY o.name, o.id, w.name, w.id, p.name

-- name: read key by public id
SELECT k.id, k.project_id, k.name, k.public_id, k.scopes, k.created_at, k.last_used_at, k.expires_at, k.revoked_at, k.secret_sha256,
	p.name AS project_name, w.id AS workspace_id, w.name AS workspace_name, o.id AS organization_id, o.name AS organization_name
FROM api_keys k
JOIN projects p ON p.id = k.project_id
JOIN workspaces w ON w.id = p.workspace_id
JOIN organizations o ON o.id = w.organization_id
WHERE k.public_id = @public_id

-- name: note use of key
UPDATE api_keys SET last_used_at = @now WHERE id = @id AND (last_used_at IS NULL OR last_used_at <= @before)

-- name: read key
SELECT id, project_id, name, public_id, scopes, created_at, last_used_at, expires_at, revoked_at
FROM api_keys WHERE id = @id AND project_id = ANY(@projects)

-- name: list keys
SELECT id, project_id, name, public_id, scopes, created_at, last_used_at, expires_at, revoked_at
FROM api_keys WHERE project_id = @project
ORDER BY created_at DESC, id DESC LIMIT @limit OFFSET @offset

-- name: create key
INSERT INTO api_keys (id, project_id, name, public_id, secret_sha256, scopes, created_by, created_at, expires_at)
VALUES (@id, @project, @name, @public_id, @secret_sha256, @scopes, @created_by, @created_at, @expires_at)

-- name: revoke key
UPDATE api_keys SET revoked_at = @now WHERE id = @id AND revoked_at IS NULL

-- name: lock login attempts
-- A row lock is not enough: before the first attempt there is no row.
SELECT pg_advisory_xact_lock(hashtextextended(@key, 0))

-- name: read login attempts
SELECT coalesce(max(failures), 0) AS attempts, coalesce(max(last_failed_at), @now) AS last
FROM login_attempts WHERE key = @key AND last_failed_at > @forgotten

-- name: count login attempt
INSERT INTO login_attempts AS a (key, failures, first_failed_at, last_failed_at)
VALUES (@key, 1, @now, @now)
ON CONFLICT (key) DO UPDATE SET
	failures = CASE WHEN a.last_failed_at > @forgotten THEN a.failures + 1 ELSE 1 END,
	first_failed_at = CASE WHEN a.last_failed_at > @forgotten THEN a.first_failed_at ELSE @now END,
	last_failed_at = @now

-- name: remove old login attempts
-- Removes the rows of unknown accounts too. Rows that a concurrent attempt has locked are skipped.
DELETE FROM login_attempts WHERE key IN (
	SELECT key FROM login_attempts WHERE last_failed_at <= @forgotten
	ORDER BY last_failed_at LIMIT 100 FOR UPDATE SKIP LOCKED)

-- name: forget login attempts
DELETE FROM login_attempts WHERE key = @key

-- name: take login attempt back
WITH gone AS (DELETE FROM login_attempts WHERE key = @key AND failures <= 1)
UPDATE login_attempts SET failures = failures - 1 WHERE key = @key AND failures > 1
