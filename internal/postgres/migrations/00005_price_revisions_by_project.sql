-- +goose Up

-- Price revisions are counted by project: one sequence for all told each project how often the others changed their prices.
ALTER TABLE projects ADD COLUMN price_revision bigint NOT NULL DEFAULT 0;

-- Stored spans name revisions, also of prices that are gone. What a project counts goes on behind all that it may have used.
UPDATE projects SET price_revision = (SELECT last_value FROM price_revisions) WHERE (SELECT is_called FROM price_revisions);

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION revise_price_override() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE projects SET price_revision = price_revision + 1 WHERE id = NEW.project_id RETURNING price_revision INTO NEW.revision;
    NEW.updated_at := now();
    RETURN NEW;
END
$$;
-- +goose StatementEnd

ALTER TABLE price_overrides ALTER COLUMN revision DROP DEFAULT;
DROP TRIGGER price_overrides_revise ON price_overrides;
CREATE TRIGGER price_overrides_revise
    BEFORE INSERT OR UPDATE ON price_overrides
    FOR EACH ROW EXECUTE FUNCTION revise_price_override();

DROP SEQUENCE price_revisions;
