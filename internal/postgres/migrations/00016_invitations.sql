-- +goose Up

-- Links that give a role in an organization, or in one of its workspaces.
CREATE TABLE invitations (
    id              uuid        PRIMARY KEY DEFAULT uuidv7(),
    organization_id uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    -- Null: the role is in the organization.
    workspace_id    uuid        REFERENCES workspaces ON DELETE CASCADE,
    role            text        NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    -- If not null, only this address can accept it.
    email           text        CHECK (length(email) BETWEEN 3 AND 254),
    token_sha256    bytea       NOT NULL UNIQUE CHECK (octet_length(token_sha256) = 32),
    created_by      uuid        REFERENCES users ON DELETE SET NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    expires_at      timestamptz NOT NULL,
    revoked_at      timestamptz,
    accepted_at     timestamptz,
    accepted_by     uuid        REFERENCES users ON DELETE SET NULL,
    CHECK (revoked_at IS NULL OR accepted_at IS NULL)
);
CREATE INDEX invitations_organization_id_idx ON invitations (organization_id, id DESC);
CREATE INDEX invitations_workspace_id_idx ON invitations (workspace_id, id DESC);
CREATE INDEX invitations_created_by_idx ON invitations (created_by);
CREATE INDEX invitations_accepted_by_idx ON invitations (accepted_by);
