-- +goose Up

CREATE TABLE organization_members (
    organization_id uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    user_id         uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    -- Text with a CHECK instead of an enum: a value of an enum can be added but never removed.
    role            text        NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, user_id)
);
-- The primary key finds the members of an organization, this index the organizations of a user.
CREATE INDEX organization_members_user_id_idx ON organization_members (user_id);
