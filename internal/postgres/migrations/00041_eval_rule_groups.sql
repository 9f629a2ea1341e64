-- +goose Up

-- By what runs of a rule belong together: session, user, or the path of a member of the metadata.
ALTER TABLE eval_rules ADD COLUMN group_by text NOT NULL DEFAULT 'session' CHECK (group_by <> '');
-- A hash of the value by which the run belongs to others, null for one that belongs to no other.
ALTER TABLE eval_rule_scores ADD COLUMN group_key bigint;
DROP INDEX eval_rule_scores_day_idx;
CREATE INDEX eval_rule_scores_day_idx ON eval_rule_scores (rule_id, day, version, name) INCLUDE (value, pass, label, group_key);
