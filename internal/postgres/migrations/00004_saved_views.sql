-- +goose Up

-- Views that people of a project keep and share: a page with the query of its address.
CREATE TABLE saved_views (
    id         uuid        PRIMARY KEY DEFAULT uuidv7(),
    project_id uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    page       text        NOT NULL CHECK (page IN ('runs', 'dashboards', 'failures', 'threads')),
    name       text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    -- As it stands after the "?" of the page's address.
    query      text        NOT NULL CHECK (octet_length(query) <= 8192),
    -- Null: a key, or somebody who is gone.
    created_by uuid        REFERENCES users ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
-- "Slow runs" and "slow runs" of one page would be told apart by nobody.
CREATE UNIQUE INDEX saved_views_name_key ON saved_views (project_id, page, lower(name));
