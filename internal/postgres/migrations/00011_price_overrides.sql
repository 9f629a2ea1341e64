-- +goose Up

-- What a model's tokens cost a project, where that differs from the built-in price table: US dollars per million tokens.
CREATE TABLE price_overrides (
    id             uuid             PRIMARY KEY DEFAULT uuidv7(),
    project_id     uuid             NOT NULL REFERENCES projects ON DELETE CASCADE,
    -- As spans name it, in lower case; empty: every provider.
    provider       text             NOT NULL DEFAULT '' CHECK (octet_length(provider) <= 256 AND provider = lower(provider)),
    -- A name in lower case, in which * stands for any text.
    model          text             NOT NULL CHECK (octet_length(model) BETWEEN 1 AND 256 AND model = lower(model)),
    -- Null: from the beginning.
    valid_from     timestamptz,
    -- The upper bound also rejects NaN, which is greater than every number.
    input          double precision NOT NULL CHECK (input BETWEEN 0 AND 1000000),
    output         double precision NOT NULL CHECK (output BETWEEN 0 AND 1000000),
    cache_read     double precision CHECK (cache_read BETWEEN 0 AND 1000000),
    cache_write    double precision CHECK (cache_write BETWEEN 0 AND 1000000),
    cache_write_1h double precision CHECK (cache_write_1h BETWEEN 0 AND 1000000),
    reasoning      double precision CHECK (reasoning BETWEEN 0 AND 1000000),
    -- Names this state of the price: stored spans refer to it, also when the price is gone. It is never used twice in a project.
    revision       bigint           NOT NULL,
    created_at     timestamptz      NOT NULL DEFAULT now(),
    updated_at     timestamptz      NOT NULL DEFAULT now(),
    UNIQUE NULLS NOT DISTINCT (project_id, provider, model, valid_from)
);

-- +goose StatementBegin
CREATE FUNCTION revise_price_override() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE projects SET price_revision = price_revision + 1 WHERE id = NEW.project_id RETURNING price_revision INTO NEW.revision;
    NEW.updated_at := now();
    RETURN NEW;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER price_overrides_revise
    BEFORE INSERT OR UPDATE ON price_overrides
    FOR EACH ROW EXECUTE FUNCTION revise_price_override();

-- Processes that cache prices listen to this channel and read them again.
-- +goose StatementBegin
CREATE FUNCTION notify_price_overrides() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Equal payloads of one transaction are sent once.
    PERFORM pg_notify('looptrace_price_overrides', coalesce(NEW.project_id, OLD.project_id)::text);
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER price_overrides_notify
    AFTER INSERT OR UPDATE OR DELETE ON price_overrides
    FOR EACH ROW EXECUTE FUNCTION notify_price_overrides();
