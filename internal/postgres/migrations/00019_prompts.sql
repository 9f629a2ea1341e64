-- +goose Up

CREATE TABLE prompts (
    id             uuid        PRIMARY KEY DEFAULT uuidv7(),
    project_id     uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    -- Programs and their traces refer to it, so it does not change. "/" makes folders.
    name           text        COLLATE "C" NOT NULL CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$'),
    description    text        NOT NULL DEFAULT '',
    tags           text[]      NOT NULL DEFAULT '{}',
    -- Null: there is no version yet.
    latest_version integer,
    -- Null: a key created it, or a user who was deleted.
    created_by     uuid        REFERENCES users ON DELETE SET NULL,
    -- The name of the key that created it.
    created_by_key text,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL
);
CREATE UNIQUE INDEX prompts_name_key ON prompts (project_id, name);
CREATE INDEX prompts_created_by_idx ON prompts (created_by);

-- Versions never change. Their contents are JSON as text, which keeps the order of members.
CREATE TABLE prompt_versions (
    prompt_id       uuid        NOT NULL REFERENCES prompts ON DELETE CASCADE,
    version         integer     NOT NULL CHECK (version > 0),
    content_hash    bytea       NOT NULL CHECK (octet_length(content_hash) = 32),
    messages        text        NOT NULL CHECK (messages IS JSON ARRAY),
    tools           text        NOT NULL CHECK (tools IS JSON ARRAY),
    response_format text        CHECK (response_format IS JSON OBJECT),
    model_config    text        NOT NULL CHECK (model_config IS JSON OBJECT),
    variables       text        NOT NULL CHECK (variables IS JSON OBJECT),
    template_format text        NOT NULL CHECK (template_format IN ('mustache', 'none')),
    missing         text        NOT NULL CHECK (missing IN ('error', 'keep', 'empty')),
    note            text        NOT NULL DEFAULT '',
    -- The id of the system message (runmodel.SystemTextID), null if it has variables: runs that name no prompt are linked by it.
    system_text_id  bigint,
    created_by      uuid        REFERENCES users ON DELETE SET NULL,
    created_by_key  text,
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (prompt_id, version)
);
CREATE UNIQUE INDEX prompt_versions_content_hash_key ON prompt_versions (prompt_id, content_hash);
CREATE INDEX prompt_versions_system_text_id_idx ON prompt_versions (system_text_id);
CREATE INDEX prompt_versions_created_by_idx ON prompt_versions (created_by);

CREATE TABLE prompt_aliases (
    prompt_id      uuid        NOT NULL REFERENCES prompts ON DELETE CASCADE,
    alias          text        COLLATE "C" NOT NULL CHECK (alias ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' AND alias <> 'latest'),
    version        integer     NOT NULL,
    protected      boolean     NOT NULL DEFAULT false,
    -- The number of its last change. The ETag.
    changes        integer     NOT NULL,
    updated_by     uuid        REFERENCES users ON DELETE SET NULL,
    updated_by_key text,
    updated_at     timestamptz NOT NULL,
    PRIMARY KEY (prompt_id, alias),
    FOREIGN KEY (prompt_id, version) REFERENCES prompt_versions ON DELETE CASCADE
);
CREATE INDEX prompt_aliases_version_idx ON prompt_aliases (prompt_id, version);
CREATE INDEX prompt_aliases_updated_by_idx ON prompt_aliases (updated_by);

-- The history of aliases. It outlives a deleted alias, so that numbers are never used twice.
CREATE TABLE prompt_alias_changes (
    prompt_id      uuid        NOT NULL REFERENCES prompts ON DELETE CASCADE,
    alias          text        COLLATE "C" NOT NULL,
    number         integer     NOT NULL,
    change         text        NOT NULL CHECK (change IN ('created', 'moved', 'protected', 'unprotected', 'deleted')),
    from_version   integer,
    to_version     integer,
    created_by     uuid        REFERENCES users ON DELETE SET NULL,
    created_by_key text,
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (prompt_id, alias, number)
);
CREATE INDEX prompt_alias_changes_created_by_idx ON prompt_alias_changes (created_by);

-- Rows of versions and of the history only go with their prompt, and only lose their author.
-- +goose StatementBegin
CREATE FUNCTION refuse_prompt_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT FROM prompts WHERE id = OLD.prompt_id) THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' AND OLD.created_by IS NOT NULL AND NEW.created_by IS NULL THEN
        OLD.created_by := NULL;
        IF NEW::text = OLD::text THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'rows of % never change', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;
-- +goose StatementEnd

CREATE TRIGGER prompt_versions_never_change
    BEFORE UPDATE OR DELETE ON prompt_versions
    FOR EACH ROW EXECUTE FUNCTION refuse_prompt_change();
CREATE TRIGGER prompt_alias_changes_never_change
    BEFORE UPDATE OR DELETE ON prompt_alias_changes
    FOR EACH ROW EXECUTE FUNCTION refuse_prompt_change();

-- Programs that hold a prompt hear what its aliases stand for.
-- +goose StatementBegin
CREATE FUNCTION notify_prompt_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed prompts;
    named   text;
    stands  integer;
BEGIN
    IF TG_TABLE_NAME = 'prompts' THEN
        changed := OLD;
    ELSE
        SELECT * INTO changed FROM prompts WHERE id = NEW.prompt_id;
        IF TG_TABLE_NAME = 'prompt_versions' THEN
            named := 'latest';
            stands := NEW.version;
        ELSE
            named := NEW.alias;
            stands := NEW.to_version;
        END IF;
    END IF;
    PERFORM pg_notify('looptrace_prompts', json_build_object('project_id', changed.project_id, 'prompt_id', changed.id,
        'name', changed.name, 'alias', named, 'version', stands)::text);
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER prompts_notify
    AFTER DELETE ON prompts
    FOR EACH ROW EXECUTE FUNCTION notify_prompt_change();
CREATE TRIGGER prompt_versions_notify
    AFTER INSERT ON prompt_versions
    FOR EACH ROW EXECUTE FUNCTION notify_prompt_change();
CREATE TRIGGER prompt_alias_changes_notify
    AFTER INSERT ON prompt_alias_changes
    FOR EACH ROW EXECUTE FUNCTION notify_prompt_change();
