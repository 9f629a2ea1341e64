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
SELECT id, email, password_hash, created_at, deactivated_at FROM users WHERE lower(email) = lower(@email)

-- name: lock user with password
-- Finds no row if the password was changed or the account deactivated in the meantime.
SELECT id FROM users WHERE id = @user AND password_hash = @password_hash AND deactivated_at IS NULL FOR SHARE

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
WHERE s.token_sha256 = @hash AND s.expires_at > @now AND s.last_seen_at > @idle AND u.deactivated_at IS NULL

-- name: note use of session
UPDATE sessions SET last_seen_at = @now WHERE token_sha256 = @hash AND last_seen_at < @now

-- name: end session
DELETE FROM sessions WHERE token_sha256 = @hash

-- name: list sessions
SELECT id, token_sha256 = @hash AS current, created_at, last_seen_at, expires_at, user_agent, host(ip) AS ip
FROM sessions WHERE user_id = @user AND expires_at > @now AND last_seen_at > @idle
ORDER BY last_seen_at DESC, id DESC

-- name: end session of user
DELETE FROM sessions WHERE id = @id AND user_id = @user

-- name: end other sessions
DELETE FROM sessions WHERE user_id = @user AND token_sha256 <> @hash

-- name: end all sessions
DELETE FROM sessions WHERE user_id = @user

-- name: read access of user
SELECT o.id AS organization_id, o.name AS organization_name, coalesce(om.role, '') AS organization_role,
	w.id AS workspace_id, w.name AS workspace_name, coalesce(wm.role, '') AS workspace_role,
	p.id AS project_id, p.name AS project_name, p.sample
FROM organizations o
LEFT JOIN organization_members om ON om.organization_id = o.id AND om.user_id = @user
LEFT JOIN (workspaces w LEFT JOIN workspace_members wm ON wm.workspace_id = w.id AND wm.user_id = @user)
	ON w.organization_id = o.id AND (om.role IS NOT NULL OR wm.role IS NOT NULL)
LEFT JOIN projects p ON p.workspace_id = w.id
WHERE o.id IN (
	SELECT organization_id FROM organization_members WHERE user_id = @user
	UNION SELECT w.organization_id FROM workspace_members m JOIN workspaces w ON w.id = m.workspace_id WHERE m.user_id = @user)
ORDER BY o.name, o.id, w.name, w.id, p.name

-- name: read key by public id
SELECT k.id, k.project_id, k.name, k.public_id, k.scopes, k.created_at, u.email AS created_by, k.last_used_at,
	host(k.last_used_ip) AS last_used_ip, k.expires_at, k.revoked_at, k.secret_sha256, p.name AS project_name, p.sample, w.id AS workspace_id, w.name AS workspace_name, o.id AS organization_id, o.name AS organization_name
FROM api_keys k
JOIN projects p ON p.id = k.project_id
JOIN workspaces w ON w.id = p.workspace_id
JOIN organizations o ON o.id = w.organization_id
LEFT JOIN users u ON u.id = k.created_by
WHERE k.public_id = @public_id

-- name: note use of key
UPDATE api_keys SET last_used_at = @now, last_used_ip = @ip WHERE id = @id AND (last_used_at IS NULL OR last_used_at <= @before)

-- name: read key
SELECT k.id, k.project_id, k.name, k.public_id, k.scopes, k.created_at, u.email AS created_by, k.last_used_at,
	host(k.last_used_ip) AS last_used_ip, k.expires_at, k.revoked_at
FROM api_keys k LEFT JOIN users u ON u.id = k.created_by
WHERE k.id = @id AND k.project_id = ANY(@projects) AND NOT k.internal

-- name: list keys
SELECT k.id, k.project_id, k.name, k.public_id, k.scopes, k.created_at, u.email AS created_by, k.last_used_at,
	host(k.last_used_ip) AS last_used_ip, k.expires_at, k.revoked_at
FROM api_keys k LEFT JOIN users u ON u.id = k.created_by
WHERE k.project_id = @project AND NOT k.internal
ORDER BY k.created_at DESC, k.id DESC LIMIT @limit OFFSET @offset

-- name: list keys of member
-- Those that work, in the projects of the organization, or with @workspace in its projects.
SELECT k.id, k.project_id, k.name, k.public_id, k.scopes, k.created_at, u.email AS created_by, k.last_used_at,
	host(k.last_used_ip) AS last_used_ip, k.expires_at, k.revoked_at
FROM api_keys k JOIN users u ON u.id = k.created_by
JOIN projects p ON p.id = k.project_id
JOIN workspaces w ON w.id = p.workspace_id
WHERE k.created_by = @user AND w.organization_id = @organization AND (@workspace::uuid IS NULL OR w.id = @workspace)
	AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > @now)
ORDER BY k.created_at DESC, k.id DESC LIMIT @limit OFFSET @offset

-- name: revoke keys of member
UPDATE api_keys k SET revoked_at = @now FROM projects p JOIN workspaces w ON w.id = p.workspace_id
WHERE p.id = k.project_id AND k.created_by = @user AND w.organization_id = @organization
	AND (@workspace::uuid IS NULL OR w.id = @workspace) AND k.revoked_at IS NULL

-- name: create key
INSERT INTO api_keys (id, project_id, name, public_id, secret_sha256, scopes, created_by, created_at, expires_at)
VALUES (@id, @project, @name, @public_id, @secret_sha256, @scopes, @created_by, @created_at, @expires_at)

-- name: create internal key
INSERT INTO api_keys (id, project_id, name, public_id, secret_sha256, scopes, created_at, internal)
VALUES (@id, @project, 'Looptrace', @public_id, @secret_sha256, @scopes, @now, true) ON CONFLICT (public_id) DO NOTHING

-- name: delete other internal keys
DELETE FROM api_keys WHERE project_id = @project AND internal AND public_id <> @public_id

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

-- name: list members
-- Those of an organization, or with @workspace those who have access to it, and with @user that one.
SELECT u.id AS user_id, u.email, u.deactivated_at, coalesce(om.role, '') AS organization_role,
	least(om.created_at, min(wm.created_at)) AS joined_at,
	coalesce(array_agg(w.id ORDER BY w.name, w.id) FILTER (WHERE w.id IS NOT NULL), '{}') AS workspace_ids,
	coalesce(array_agg(w.name ORDER BY w.name, w.id) FILTER (WHERE w.id IS NOT NULL), '{}') AS workspace_names,
	coalesce(array_agg(wm.role ORDER BY w.name, w.id) FILTER (WHERE w.id IS NOT NULL), '{}') AS workspace_roles
FROM users u
LEFT JOIN organization_members om ON om.user_id = u.id AND om.organization_id = @organization
LEFT JOIN (workspace_members wm JOIN workspaces w ON w.id = wm.workspace_id)
	ON wm.user_id = u.id AND w.organization_id = @organization AND (@workspace::uuid IS NULL OR w.id = @workspace)
WHERE (om.role IS NOT NULL OR wm.role IS NOT NULL) AND (@user::uuid IS NULL OR u.id = @user)
GROUP BY u.id, om.role, om.created_at
ORDER BY lower(u.email), u.id LIMIT @limit OFFSET @offset

-- name: lock organization
SELECT id FROM organizations WHERE id = @organization FOR UPDATE

-- name: lock workspace
SELECT id FROM workspaces WHERE id = @workspace FOR KEY SHARE

-- name: set role in organization
INSERT INTO organization_members (organization_id, user_id, role, created_at) VALUES (@organization, @user, @role, @now)
ON CONFLICT (organization_id, user_id) DO UPDATE SET role = excluded.role

-- name: set role in workspace
INSERT INTO workspace_members (workspace_id, user_id, role, created_at) VALUES (@workspace, @user, @role, @now)
ON CONFLICT (workspace_id, user_id) DO UPDATE SET role = excluded.role

-- name: remove from organization
WITH workspaces_too AS (
	DELETE FROM workspace_members m USING workspaces w
	WHERE w.id = m.workspace_id AND w.organization_id = @organization AND m.user_id = @user)
DELETE FROM organization_members WHERE organization_id = @organization AND user_id = @user

-- name: remove from workspace
DELETE FROM workspace_members WHERE workspace_id = @workspace AND user_id = @user

-- name: list active owners
SELECT m.user_id FROM organization_members m JOIN users u ON u.id = m.user_id
WHERE m.organization_id = @organization AND m.role = 'owner' AND u.deactivated_at IS NULL

-- name: lock organizations of user
-- In a fixed order, which prevents deadlocks.
SELECT id FROM organizations WHERE id IN (
	SELECT organization_id FROM organization_members WHERE user_id = @user
	UNION SELECT w.organization_id FROM workspace_members m JOIN workspaces w ON w.id = m.workspace_id WHERE m.user_id = @user)
ORDER BY id FOR UPDATE

-- name: deactivate user
UPDATE users SET deactivated_at = @now, updated_at = @now WHERE id = @user AND deactivated_at IS NULL

-- name: reactivate user
UPDATE users SET deactivated_at = NULL, updated_at = @now WHERE id = @user AND deactivated_at IS NOT NULL

-- name: replace password reset
INSERT INTO password_resets (user_id, token_sha256, created_by, created_at, expires_at) VALUES (@user, @hash, @created_by, @now, @expires)
ON CONFLICT (user_id) DO UPDATE SET token_sha256 = excluded.token_sha256, created_by = excluded.created_by,
	created_at = excluded.created_at, expires_at = excluded.expires_at

-- name: read password reset
SELECT u.id AS user_id, u.email, u.created_at, u.deactivated_at, r.created_by, r.expires_at
FROM password_resets r JOIN users u ON u.id = r.user_id
WHERE r.token_sha256 = @hash AND r.expires_at > @now

-- name: use password reset
DELETE FROM password_resets WHERE token_sha256 = @hash AND expires_at > @now

-- name: remove password reset
DELETE FROM password_resets WHERE user_id = @user

-- name: set password
UPDATE users SET password_hash = @password_hash, updated_at = @now WHERE id = @user

-- name: list invitations
-- Of organizations with all their workspaces, or of workspaces. With @id that one. Ended ones from @since.
SELECT i.id, i.organization_id, o.name AS organization_name, i.workspace_id, w.name AS workspace_name, i.role, i.email,
	CASE WHEN i.accepted_at IS NOT NULL THEN 'accepted' WHEN i.revoked_at IS NOT NULL THEN 'revoked'
		WHEN i.expires_at <= @now THEN 'expired' ELSE 'pending' END AS state,
	i.created_at, c.email AS created_by, i.expires_at, i.accepted_at, a.email AS accepted_by
FROM invitations i
JOIN organizations o ON o.id = i.organization_id
LEFT JOIN workspaces w ON w.id = i.workspace_id
LEFT JOIN users c ON c.id = i.created_by
LEFT JOIN users a ON a.id = i.accepted_by
WHERE (i.organization_id = ANY(@organizations) OR i.workspace_id = ANY(@workspaces)) AND (@id::uuid IS NULL OR i.id = @id)
	AND coalesce(i.accepted_at, i.revoked_at, i.expires_at) > @since
ORDER BY i.id DESC LIMIT @limit OFFSET @offset

-- name: read invitation by token
SELECT i.id, i.organization_id, o.name AS organization_name, i.workspace_id, w.name AS workspace_name, i.role, i.email,
	CASE WHEN i.accepted_at IS NOT NULL THEN 'accepted' WHEN i.revoked_at IS NOT NULL THEN 'revoked'
		WHEN i.expires_at <= @now THEN 'expired' ELSE 'pending' END AS state,
	i.created_at, c.email AS created_by, i.expires_at, i.accepted_at, a.email AS accepted_by
FROM invitations i
JOIN organizations o ON o.id = i.organization_id
LEFT JOIN workspaces w ON w.id = i.workspace_id
LEFT JOIN users c ON c.id = i.created_by
LEFT JOIN users a ON a.id = i.accepted_by
WHERE i.token_sha256 = @hash

-- name: create invitation
INSERT INTO invitations (id, organization_id, workspace_id, role, email, token_sha256, created_by, created_at, expires_at)
VALUES (@id, @organization, @workspace, @role, @email, @hash, @created_by, @now, @expires)

-- name: remove old invitations
DELETE FROM invitations WHERE organization_id = @organization AND coalesce(accepted_at, revoked_at, expires_at) <= @since

-- name: revoke invitation
UPDATE invitations SET revoked_at = @now WHERE id = @id AND revoked_at IS NULL AND accepted_at IS NULL

-- name: revoke invitations beyond role
-- Revokes those that the user created in the organization and could not create now.
UPDATE invitations i SET revoked_at = @now
WHERE i.created_by = @user AND i.organization_id = @organization
	AND i.revoked_at IS NULL AND i.accepted_at IS NULL AND i.expires_at > @now
	AND NOT EXISTS (
		SELECT FROM organization_members m WHERE m.user_id = @user AND m.organization_id = i.organization_id
			AND (m.role = 'owner' OR m.role = 'admin' AND i.role <> 'owner'))
	AND NOT EXISTS (
		SELECT FROM workspace_members m WHERE m.user_id = @user AND m.workspace_id = i.workspace_id
			AND (m.role = 'owner' OR m.role = 'admin' AND i.role <> 'owner'))

-- name: revoke invitations of user
UPDATE invitations SET revoked_at = @now
WHERE created_by = @user AND revoked_at IS NULL AND accepted_at IS NULL AND expires_at > @now

-- name: accept invitation
UPDATE invitations SET accepted_at = @now
WHERE token_sha256 = @hash AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > @now

-- name: note who accepted invitation
UPDATE invitations SET accepted_by = @user WHERE token_sha256 = @hash

-- name: read roles
-- All roles of a user: in organizations, and in workspaces with their organization. With @active none if the account is
-- deactivated.
SELECT r.organization_id, r.workspace_id, r.role FROM (
	SELECT organization_id, NULL::uuid AS workspace_id, role FROM organization_members WHERE user_id = @user
	UNION ALL
	SELECT w.organization_id, m.workspace_id, m.role FROM workspace_members m JOIN workspaces w ON w.id = m.workspace_id
	WHERE m.user_id = @user) AS r
WHERE NOT @active::boolean OR EXISTS (SELECT FROM users WHERE id = @user AND deactivated_at IS NULL)
