-- +goose Up

-- A tenant. All its data belongs to projects of its workspaces, and every foreign key below it cascades: deleting an organization
-- leaves nothing behind.
CREATE TABLE organizations (
    id         uuid        PRIMARY KEY DEFAULT uuidv7(),
    name       text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
