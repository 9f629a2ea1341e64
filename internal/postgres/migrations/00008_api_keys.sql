-- +goose Up

CREATE TABLE api_keys (
    id            uuid        PRIMARY KEY DEFAULT uuidv7(),
    project_id    uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    name          text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    public_id     text        NOT NULL UNIQUE CHECK (public_id ~ '^[0-9A-Za-z]{16}$'),
    -- A plain hash is right for 256 random bits: they cannot be guessed, and a slow hash would only slow every request.
    secret_sha256 bytea       NOT NULL CHECK (octet_length(secret_sha256) = 32),
    scopes        text[]      NOT NULL CHECK (cardinality(scopes) > 0),
    -- A key outlives the user who made it.
    created_by    uuid        REFERENCES users ON DELETE SET NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    last_used_at  timestamptz,
    expires_at    timestamptz,
    revoked_at    timestamptz
);
CREATE INDEX api_keys_project_id_idx ON api_keys (project_id, created_at DESC);
CREATE INDEX api_keys_created_by_idx ON api_keys (created_by);

-- Processes that cache keys listen to this channel and drop the key that is named.
-- +goose StatementBegin
CREATE FUNCTION notify_api_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Equal payloads of one transaction are sent once.
    IF TG_OP <> 'INSERT' THEN
        PERFORM pg_notify('looptrace_api_keys', OLD.public_id);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM pg_notify('looptrace_api_keys', NEW.public_id);
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER api_keys_notify_insert_delete
    AFTER INSERT OR DELETE ON api_keys
    FOR EACH ROW EXECUTE FUNCTION notify_api_key();
-- Only columns that decide whether and for what a key is accepted: last_used_at changes all the time and must not empty the caches.
CREATE TRIGGER api_keys_notify_update
    AFTER UPDATE OF project_id, public_id, secret_sha256, scopes, expires_at, revoked_at ON api_keys
    FOR EACH ROW EXECUTE FUNCTION notify_api_key();
