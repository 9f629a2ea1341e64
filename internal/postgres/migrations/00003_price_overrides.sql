-- +goose Up

-- What tokens of a model cost a project, where that differs from the price table of the program: US dollars for a million.
-- A revision is never used twice in an installation: it names the state of a price that a cost was computed by.
CREATE SEQUENCE price_revisions;

CREATE TABLE price_overrides (
    id             uuid             PRIMARY KEY DEFAULT uuidv7(),
    project_id     uuid             NOT NULL REFERENCES projects ON DELETE CASCADE,
    -- As spans name it, in lower case; empty: every provider.
    provider       text             NOT NULL DEFAULT '' CHECK (octet_length(provider) <= 256 AND provider = lower(provider)),
    -- A name in lower case, in which * stands for any text.
    model          text             NOT NULL CHECK (octet_length(model) BETWEEN 1 AND 256 AND model = lower(model)),
    -- Null: from the beginning.
    valid_from     timestamptz,
    -- NaN is greater than every number.
    input          double precision NOT NULL CHECK (input BETWEEN 0 AND 1000000),
    output         double precision NOT NULL CHECK (output BETWEEN 0 AND 1000000),
    cache_read     double precision CHECK (cache_read BETWEEN 0 AND 1000000),
    cache_write    double precision CHECK (cache_write BETWEEN 0 AND 1000000),
    cache_write_1h double precision CHECK (cache_write_1h BETWEEN 0 AND 1000000),
    reasoning      double precision CHECK (reasoning BETWEEN 0 AND 1000000),
    revision       bigint           NOT NULL DEFAULT nextval('price_revisions'),
    created_at     timestamptz      NOT NULL DEFAULT now(),
    updated_at     timestamptz      NOT NULL DEFAULT now(),
    UNIQUE NULLS NOT DISTINCT (project_id, provider, model, valid_from)
);

-- +goose StatementBegin
CREATE FUNCTION revise_price_override() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := nextval('price_revisions');
    NEW.updated_at := now();
    RETURN NEW;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER price_overrides_revise
    BEFORE UPDATE ON price_overrides
    FOR EACH ROW EXECUTE FUNCTION revise_price_override();

-- Whoever keeps prices in memory listens to this channel and reads them again.
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
