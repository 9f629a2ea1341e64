-- +goose Up

-- Identity: who exists, who may do what where, and what proves it.
--
-- Ids are UUIDv7: they sort by creation, so primary keys stay append-mostly and
-- a list by id is a list by age. Every tenant's data hangs from a project, and
-- every foreign key below it cascades: deleting an organization leaves nothing.

CREATE TABLE users (
    id            uuid        PRIMARY KEY DEFAULT uuidv7(),
    email         text        NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
    -- argon2id in PHC format, parameters included, so they can be raised later.
    password_hash text        NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now()
);
-- Ann@example.com and ann@example.com are one account; the spelling is kept.
CREATE UNIQUE INDEX users_email_key ON users (lower(email));

CREATE TABLE organizations (
    id         uuid        PRIMARY KEY DEFAULT uuidv7(),
    name       text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE workspaces (
    id              uuid        PRIMARY KEY DEFAULT uuidv7(),
    organization_id uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name            text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organization_id, name)
);

CREATE TABLE projects (
    id           uuid        PRIMARY KEY DEFAULT uuidv7(),
    workspace_id uuid        NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name         text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (workspace_id, name)
);

-- The role is text with a CHECK, not an enum: a value of an enum can be added
-- but never removed.
CREATE TABLE organization_members (
    organization_id uuid        NOT NULL REFERENCES organizations ON DELETE CASCADE,
    user_id         uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    role            text        NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, user_id)
);
-- The primary key answers "who is in it"; this one "where is this user".
CREATE INDEX organization_members_user_id_idx ON organization_members (user_id);

CREATE TABLE workspace_members (
    workspace_id uuid        NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    user_id      uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    role         text        NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX workspace_members_user_id_idx ON workspace_members (user_id);

-- The cookie's token is stored hashed: a read of this table opens no session.
CREATE TABLE sessions (
    token_sha256 bytea       PRIMARY KEY CHECK (octet_length(token_sha256) = 32),
    user_id      uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    user_agent   text        NOT NULL DEFAULT '',
    ip           inet,
    CHECK (expires_at > created_at)
);
CREATE INDEX sessions_user_id_idx ON sessions (user_id);
-- For the removal of what has expired.
CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);

CREATE TABLE api_keys (
    id            uuid        PRIMARY KEY DEFAULT uuidv7(),
    project_id    uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    name          text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    public_id     text        NOT NULL UNIQUE CHECK (public_id ~ '^[0-9A-Za-z]{16}$'),
    -- A plain hash is right for 256 random bits: nothing can be guessed, and a
    -- slow hash would only slow every request.
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

-- Whoever caches keys listens to this channel and forgets the key that is named.
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
-- Only columns that decide whether and for what a key is accepted: last_used_at
-- changes all the time and must not empty anybody's cache.
CREATE TRIGGER api_keys_notify_update
    AFTER UPDATE OF project_id, public_id, secret_sha256, scopes, expires_at, revoked_at ON api_keys
    FOR EACH ROW EXECUTE FUNCTION notify_api_key();

-- Failed logins by subject ('account:<lower-case email>' or 'address:<ip>'). The
-- account's row exists whether or not the account does, so that throttling tells
-- nobody which accounts exist. A success deletes the account's row.
CREATE TABLE login_attempts (
    key             text        PRIMARY KEY CHECK (length(key) <= 300),
    failures        integer     NOT NULL CHECK (failures > 0),
    first_failed_at timestamptz NOT NULL DEFAULT now(),
    last_failed_at  timestamptz NOT NULL DEFAULT now()
);
-- For the removal of what is too old to count.
CREATE INDEX login_attempts_last_failed_at_idx ON login_attempts (last_failed_at);

-- At most one row, ever. Setup inserts it in the transaction that makes the first
-- user: of two setups at once the second waits for the first here, and then fails
-- on the primary key.
CREATE TABLE bootstrap (
    only_row     boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    -- No foreign key: deleting the first user does not open setup again.
    user_id      uuid        NOT NULL,
    completed_at timestamptz NOT NULL DEFAULT now()
);
