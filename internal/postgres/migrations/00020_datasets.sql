-- +goose Up

CREATE TABLE datasets (
    id                      uuid        PRIMARY KEY DEFAULT uuidv7(),
    project_id              uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    name                    text        NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
    description             text        NOT NULL DEFAULT '',
    -- JSON Schemas that items must fit, null for none.
    input_schema            text        CHECK (input_schema IS JSON OBJECT),
    reference_output_schema text        CHECK (reference_output_schema IS JSON OBJECT),
    -- The newest revision, 0 for none.
    revision                integer     NOT NULL DEFAULT 0,
    item_count              bigint      NOT NULL DEFAULT 0,
    -- The ordinal of the item that was added last.
    last_ordinal            bigint      NOT NULL DEFAULT 0,
    created_by              uuid        REFERENCES users ON DELETE SET NULL,
    created_by_key          text,
    created_at              timestamptz NOT NULL,
    updated_at              timestamptz NOT NULL
);
CREATE UNIQUE INDEX datasets_name_key ON datasets (project_id, name);
CREATE INDEX datasets_created_by_idx ON datasets (created_by);

CREATE TABLE dataset_revisions (
    dataset_id     uuid        NOT NULL REFERENCES datasets ON DELETE CASCADE,
    revision       integer     NOT NULL CHECK (revision > 0),
    kind           text        NOT NULL CHECK (kind IN ('append', 'upsert', 'replace', 'edit', 'delete', 'runs', 'import')),
    added          bigint      NOT NULL,
    updated        bigint      NOT NULL,
    removed        bigint      NOT NULL,
    item_count     bigint      NOT NULL,
    note           text        NOT NULL DEFAULT '',
    created_by     uuid        REFERENCES users ON DELETE SET NULL,
    created_by_key text,
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (dataset_id, revision)
);
CREATE INDEX dataset_revisions_created_by_idx ON dataset_revisions (created_by);

-- Items as a revision wrote them. An item is in the revisions from added_in to before removed_in, so a revision costs what it changes.
CREATE TABLE dataset_items (
    dataset_id       uuid        NOT NULL REFERENCES datasets ON DELETE CASCADE,
    -- The place in the list. An update keeps it.
    ordinal          bigint      NOT NULL,
    added_in         integer     NOT NULL,
    -- Null: it is in the newest revision.
    removed_in       integer     CHECK (removed_in > added_in),
    item_id          uuid        NOT NULL,
    -- The caller's own name.
    key              text,
    -- JSON as text, which keeps numbers and the order of members.
    input            text        NOT NULL CHECK (input IS JSON),
    reference_output text        NOT NULL DEFAULT 'null' CHECK (reference_output IS JSON),
    metadata         text        NOT NULL DEFAULT '{}' CHECK (metadata IS JSON OBJECT),
    split            text,
    tags             text[]      NOT NULL DEFAULT '{}',
    source_run_id    uuid,
    source_span_id   text,
    -- Of input and reference output, and of all members.
    content_hash     bytea       NOT NULL CHECK (octet_length(content_hash) = 32),
    item_hash        bytea       NOT NULL CHECK (octet_length(item_hash) = 32),
    created_at       timestamptz NOT NULL,
    PRIMARY KEY (dataset_id, ordinal, added_in)
);
CREATE UNIQUE INDEX dataset_items_key_key ON dataset_items (dataset_id, key) WHERE removed_in IS NULL AND key IS NOT NULL;
CREATE INDEX dataset_items_item_id_idx ON dataset_items (dataset_id, item_id, added_in);
CREATE INDEX dataset_items_content_hash_idx ON dataset_items (dataset_id, content_hash) WHERE removed_in IS NULL;
CREATE INDEX dataset_items_added_in_idx ON dataset_items (dataset_id, added_in);
CREATE INDEX dataset_items_removed_in_idx ON dataset_items (dataset_id, removed_in) WHERE removed_in IS NOT NULL;
CREATE INDEX dataset_items_source_run_id_idx ON dataset_items (source_run_id) WHERE source_run_id IS NOT NULL;

-- What a revision wrote never changes: items only get the revision that removes them, once, and go with their dataset.
-- +goose StatementBegin
CREATE FUNCTION refuse_dataset_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT FROM datasets WHERE id = OLD.dataset_id) THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' AND TG_TABLE_NAME = 'dataset_items' THEN
        IF OLD.removed_in IS NULL AND NEW.removed_in IS NOT NULL THEN
            OLD.removed_in := NEW.removed_in;
            IF NEW = OLD THEN
                RETURN NEW;
            END IF;
        END IF;
    ELSIF TG_OP = 'UPDATE' AND TG_TABLE_NAME = 'dataset_revisions' THEN
        IF OLD.created_by IS NOT NULL AND NEW.created_by IS NULL THEN
            OLD.created_by := NULL;
            IF NEW = OLD THEN
                RETURN NEW;
            END IF;
        END IF;
    END IF;
    RAISE EXCEPTION 'rows of % never change', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;
-- +goose StatementEnd

CREATE TRIGGER dataset_items_never_change
    BEFORE UPDATE OR DELETE ON dataset_items
    FOR EACH ROW EXECUTE FUNCTION refuse_dataset_change();
CREATE TRIGGER dataset_revisions_never_change
    BEFORE UPDATE OR DELETE ON dataset_revisions
    FOR EACH ROW EXECUTE FUNCTION refuse_dataset_change();
