-- +goose Up

CREATE TABLE workspace_members (
    workspace_id uuid        NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    user_id      uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    role         text        NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX workspace_members_user_id_idx ON workspace_members (user_id);
