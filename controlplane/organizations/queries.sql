-- name: list organizations
SELECT id, name, created_at, updated_at FROM organizations WHERE id = ANY(@organizations)
ORDER BY name, id LIMIT @limit OFFSET @offset

-- name: read organization
SELECT id, name, created_at, updated_at FROM organizations WHERE id = @organization

-- name: create organization
INSERT INTO organizations (id, name, created_at, updated_at) VALUES (@organization, @name, @now, @now)

-- name: make user the owner
INSERT INTO organization_members (organization_id, user_id, role, created_at) VALUES (@organization, @user, 'owner', @now)

-- name: create default workspace
INSERT INTO workspaces (id, organization_id, name, created_at, updated_at) VALUES (@workspace, @organization, 'Default', @now, @now)

-- name: create default project
INSERT INTO projects (id, workspace_id, name, created_at, updated_at) VALUES (@project, @workspace, 'Default', @now, @now)

-- name: rename organization
UPDATE organizations SET name = @name, updated_at = CASE WHEN name = @name THEN updated_at ELSE @now END
WHERE id = @organization
RETURNING id, name, created_at, updated_at

-- name: lock organizations
LOCK TABLE organizations IN SHARE ROW EXCLUSIVE MODE

-- name: count other organizations
SELECT count(*) AS count FROM organizations WHERE id <> @organization

-- name: delete organization
DELETE FROM organizations WHERE id = @organization

-- name: list workspaces
SELECT id, organization_id, name, created_at, updated_at FROM workspaces WHERE id = ANY(@workspaces)
ORDER BY name, id LIMIT @limit OFFSET @offset

-- name: read workspace
SELECT id, organization_id, name, created_at, updated_at FROM workspaces WHERE id = @workspace

-- name: create workspace
INSERT INTO workspaces (id, organization_id, name, created_at, updated_at) VALUES (@workspace, @organization, @name, @now, @now)

-- name: rename workspace
UPDATE workspaces SET name = @name, updated_at = CASE WHEN name = @name THEN updated_at ELSE @now END
WHERE id = @workspace
RETURNING id, organization_id, name, created_at, updated_at

-- name: delete workspace
DELETE FROM workspaces WHERE id = @workspace

-- name: count contents
SELECT
	coalesce((SELECT name FROM organizations WHERE id = @organization::uuid
		UNION ALL SELECT name FROM workspaces WHERE id = @workspace::uuid
		UNION ALL SELECT name FROM projects WHERE id = @project::uuid), '') AS name,
	(SELECT count(*) FROM workspaces WHERE organization_id = @organization OR id = @workspace) AS workspaces,
	(SELECT count(*) FROM api_keys
		WHERE project_id = ANY(@projects) AND NOT internal AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > @now)) AS keys,
	(SELECT count(DISTINCT user_id) FROM (
		SELECT user_id FROM organization_members WHERE organization_id = @organization
		UNION ALL
		SELECT m.user_id FROM workspace_members m JOIN workspaces w ON w.id = m.workspace_id
		WHERE w.organization_id = @organization OR w.id = @workspace) AS roles) AS members
