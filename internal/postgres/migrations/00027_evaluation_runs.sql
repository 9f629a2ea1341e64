-- +goose Up

-- What became of the look at the run of a result from outside, which may have a cost, tokens, a duration and tool calls that the result
-- does not have. Null: there was nothing to look for.
ALTER TABLE evaluation_outputs ADD COLUMN run_lookup text
    CHECK (run_lookup IN ('waiting', 'read', 'not_found', 'unfinished', 'unavailable', 'not_allowed'));

-- The costs of an eval-run's results, of which costed have one. The sum of a million may be more than a bigint has.
ALTER TABLE evaluations
    ADD COLUMN results_cost_nanousd numeric NOT NULL DEFAULT 0,
    ADD COLUMN results_costed       bigint  NOT NULL DEFAULT 0,
    -- The attempt that a cancellation ended, as long as it may store what was answered before.
    ADD COLUMN leaving              uuid;
UPDATE evaluations e SET results_cost_nanousd = s.cost, results_costed = s.costed
FROM (SELECT evaluation_id, coalesce(sum(cost_nanousd), 0) AS cost, count(cost_nanousd) AS costed FROM evaluation_outputs GROUP BY evaluation_id) s
WHERE e.kind = 'eval_run' AND e.id = s.evaluation_id;

-- Those that need a job.
CREATE INDEX evaluations_open_idx ON evaluations (id)
    WHERE (kind = 'comparison' AND status IN ('queued', 'running')) OR (status IN ('cancelled', 'succeeded') AND summary IS NULL);
DROP INDEX evaluations_unfinished_idx;

-- For counts and lists by status.
CREATE INDEX evaluation_items_status_idx ON evaluation_items (evaluation_id, status, number);
