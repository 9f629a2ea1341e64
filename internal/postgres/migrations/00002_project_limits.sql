-- +goose Up

-- What each key of a project and the project as a whole may send, where it differs from the configuration of ingest:
-- numbers by the names of internal/ratelimit, such as project_spans_per_second.
ALTER TABLE projects ADD COLUMN limits jsonb NOT NULL DEFAULT '{}'
    CHECK (jsonb_typeof(limits) = 'object' AND NOT jsonb_path_exists(limits, '$.* ? (@.type() != "number")'));

-- Whoever caches keys remembers the limits with them: each of the project's keys has changed.
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
