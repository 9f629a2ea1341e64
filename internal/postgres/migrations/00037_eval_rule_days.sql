-- +goose Up

-- What the runs of a rule count in the budget of a day (UTC), the sum of counted_nanousd by counted_day. A sum at each run would read all
-- runs of the day.
CREATE TABLE eval_rule_days (
    rule_id         uuid   NOT NULL REFERENCES eval_rules ON DELETE CASCADE,
    day             date   NOT NULL,
    counted_nanousd bigint NOT NULL,
    -- The part that runs count which a worker has. Some of it may come back.
    held_nanousd    bigint NOT NULL,
    PRIMARY KEY (rule_id, day)
) WITH (fillfactor = 50);

-- A run that is taken counts nothing yet, and runs go with their rule, so only updates change the sums. Days are changed in one order, which
-- prevents deadlocks.
-- +goose StatementBegin
CREATE FUNCTION count_eval_rule_days() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO eval_rule_days AS d (rule_id, day, counted_nanousd, held_nanousd)
    SELECT rule_id, counted_day, sum(counted), coalesce(sum(counted) FILTER (WHERE held), 0)
    FROM (
        SELECT rule_id, counted_day, counted_nanousd AS counted, status = 'pending' AND worker IS NOT NULL AS held FROM after
        UNION ALL
        SELECT rule_id, counted_day, -counted_nanousd, status = 'pending' AND worker IS NOT NULL FROM before) r
    WHERE counted_day IS NOT NULL AND counted <> 0
    GROUP BY rule_id, counted_day
    HAVING sum(counted) <> 0 OR sum(counted) FILTER (WHERE held) <> 0
    ORDER BY rule_id, counted_day
    ON CONFLICT (rule_id, day) DO UPDATE SET counted_nanousd = d.counted_nanousd + excluded.counted_nanousd, held_nanousd = d.held_nanousd + excluded.held_nanousd;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER eval_rule_runs_count_days
    AFTER UPDATE ON eval_rule_runs REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION count_eval_rule_days();

INSERT INTO eval_rule_days (rule_id, day, counted_nanousd, held_nanousd)
SELECT rule_id, counted_day, sum(counted_nanousd), coalesce(sum(counted_nanousd) FILTER (WHERE status = 'pending' AND worker IS NOT NULL), 0)
FROM eval_rule_runs WHERE counted_nanousd > 0 AND counted_day IS NOT NULL
GROUP BY rule_id, counted_day;

-- Nothing sums the runs of a day any more.
DROP INDEX eval_rule_runs_counted_day_idx;
