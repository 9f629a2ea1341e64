-- +goose Up

CREATE TABLE projects (
    id           uuid        PRIMARY KEY DEFAULT uuidv7(),
    workspace_id uuid        NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name         text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    -- Rate limits that differ from the configuration of ingest, for each key of the project and for the project as a whole: numbers
    -- under the names of internal/ratelimit, such as project_spans_per_second.
    limits       jsonb       NOT NULL DEFAULT '{}'
        CHECK (jsonb_typeof(limits) = 'object' AND NOT jsonb_path_exists(limits, '$.* ? (@.type() != "number")')),
    -- The last revision given to one of the project's price_overrides. Each project counts its own: one sequence for all would tell
    -- each project how often the others changed their prices.
    price_revision bigint    NOT NULL DEFAULT 0,
    UNIQUE (workspace_id, name)
);

-- Processes that cache keys cache the limits with them, so new limits count as a change of every key.
-- +goose StatementBegin
CREATE FUNCTION notify_project_keys() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('looptrace_api_keys', public_id) FROM api_keys WHERE project_id = NEW.id AND revoked_at IS NULL;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER projects_notify_limits
    AFTER UPDATE OF limits ON projects
    FOR EACH ROW WHEN (OLD.limits IS DISTINCT FROM NEW.limits) EXECUTE FUNCTION notify_project_keys();
