-- +goose Up

-- Imports of files into datasets.
CREATE TABLE imports (
    id              uuid        PRIMARY KEY DEFAULT uuidv7(),
    project_id      uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    dataset_id      uuid        NOT NULL REFERENCES datasets ON DELETE CASCADE,
    status          text        NOT NULL CHECK (status IN ('uploading', 'queued', 'running', 'succeeded', 'failed', 'cancelled')),
    phase           text        CHECK (phase IN ('reading', 'writing')),
    file_name       text,
    format          text,
    encoding        text,
    delimiter       text,
    header          boolean,
    sheet           text,
    size_bytes      bigint      NOT NULL DEFAULT 0,
    mode            text        NOT NULL CHECK (mode IN ('append', 'upsert', 'replace')),
    on_error        text        NOT NULL CHECK (on_error IN ('reject', 'skip')),
    dedupe          boolean     NOT NULL,
    max_removed     bigint,
    base_revision   integer,
    note            text        NOT NULL DEFAULT '',
    mapping         text        CHECK (mapping IS JSON OBJECT),
    -- Whether it was found in the file, not given.
    mapping_found   boolean     NOT NULL DEFAULT false,
    -- How far the file was read. A worker that goes on skips as many rows.
    bytes_read      bigint      NOT NULL DEFAULT 0,
    processed       bigint      NOT NULL DEFAULT 0,
    rejected        bigint      NOT NULL DEFAULT 0,
    errors_kept     bigint      NOT NULL DEFAULT 0,
    -- Null until the file was read to its end.
    total           bigint,
    -- The hash of the schemas that the rows were checked against.
    schema_hash     bytea,
    -- Null until the revision is written.
    added           bigint,
    updated         bigint,
    removed         bigint,
    unchanged       bigint,
    revision        integer,
    error_code      text,
    error_detail    text,
    job_id          bigint,
    -- The attempt that may write. Another one that still runs cannot.
    attempt_id      uuid,
    created_by      uuid        REFERENCES users ON DELETE SET NULL,
    created_by_key  text,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    started_at      timestamptz,
    finished_at     timestamptz
);
CREATE INDEX imports_dataset_id_idx ON imports (dataset_id, id);
CREATE INDEX imports_project_id_idx ON imports (project_id) WHERE status IN ('uploading', 'queued', 'running');
CREATE INDEX imports_created_by_idx ON imports (created_by);

-- The file of an import, until it is finished.
CREATE TABLE import_chunks (
    import_id uuid    NOT NULL REFERENCES imports ON DELETE CASCADE,
    number    integer NOT NULL,
    content   bytea   NOT NULL,
    PRIMARY KEY (import_id, number)
);
ALTER TABLE import_chunks ALTER COLUMN content SET STORAGE EXTERNAL;

-- The rows of the file as items, until the revision is written.
CREATE TABLE import_rows (
    import_id        uuid    NOT NULL REFERENCES imports ON DELETE CASCADE,
    number           bigint  NOT NULL,
    line             bigint  NOT NULL,
    -- Another row has its key.
    rejected         boolean NOT NULL DEFAULT false,
    key              text,
    input            text    NOT NULL,
    reference_output text    NOT NULL,
    metadata         text    NOT NULL,
    split            text,
    tags             text[]  NOT NULL,
    source_run_id    uuid,
    source_span_id   text,
    content_hash     bytea   NOT NULL,
    item_hash        bytea   NOT NULL,
    PRIMARY KEY (import_id, number)
);

CREATE TABLE import_errors (
    import_id   uuid   NOT NULL REFERENCES imports ON DELETE CASCADE,
    number      bigint NOT NULL,
    line        bigint NOT NULL,
    column_name text,
    reason      text   NOT NULL,
    value       text,
    PRIMARY KEY (import_id, number)
);
