-- +goose Up

-- Views that people of a project save and share: a page with the query of its address.
CREATE TABLE saved_views (
    id         uuid        PRIMARY KEY DEFAULT uuidv7(),
    project_id uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    page       text        NOT NULL CHECK (page IN ('runs', 'dashboards', 'failures', 'threads')),
    name       text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    -- What follows the "?" in the page's address.
    query      text        NOT NULL CHECK (octet_length(query) <= 8192),
    -- Null: a key created it, or a user who was deleted.
    created_by uuid        REFERENCES users ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
-- Nobody could tell "Slow runs" from "slow runs" on one page.
CREATE UNIQUE INDEX saved_views_name_key ON saved_views (project_id, page, lower(name));
