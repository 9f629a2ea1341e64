-- +goose Up

-- Deleted projects whose data is still to be deleted from ClickHouse. Data that was queued at the deletion is written later, so it is
-- deleted several times.
CREATE TABLE deleted_projects (
    project_id uuid        PRIMARY KEY,
    deleted_at timestamptz NOT NULL DEFAULT now(),
    purges     integer     NOT NULL DEFAULT 0,
    next_purge timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX deleted_projects_next_purge_idx ON deleted_projects (next_purge);

-- A trigger also sees the projects that go with their workspace or organization.
-- +goose StatementBegin
CREATE FUNCTION note_deleted_project() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO deleted_projects (project_id) VALUES (OLD.id);
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER projects_note_deletion
    AFTER DELETE ON projects
    FOR EACH ROW EXECUTE FUNCTION note_deleted_project();
