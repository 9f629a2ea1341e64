-- name: lock project
SELECT id FROM projects WHERE id = @project FOR UPDATE

-- name: count rules
SELECT count(*) AS rules FROM eval_rules WHERE project_id = @project

-- name: create rule
INSERT INTO eval_rules (id, project_id, name, status, run_filter, sample_rate, group_by, scoring, max_cost_nanousd, allow_unpriced, mark_written_at, mark_run_id, takes_from,
	created_by_id, author_key, created_at, updated_at)
VALUES (@id, @project, @name, 'active', @run_filter, @sample_rate, @group_by, @scoring, @max_cost, @allow_unpriced, @now, @nowhere, @now, @author, @author_key, @now, @now)

-- name: list rules
SELECT r.id, r.project_id, r.name, r.version, r.status, r.stop_code, r.stop_detail, r.stop_remedy, r.stopped_at, r.run_filter, r.sample_rate, r.group_by, r.scoring,
	r.max_cost_nanousd, r.allow_unpriced, r.mark_written_at, r.mark_run_id, r.takes_from, r.created_by_id, u.email AS author_email, r.author_key, r.created_at, r.updated_at
FROM eval_rules r LEFT JOIN users u ON u.id = r.created_by_id
WHERE r.project_id = ANY(@projects) AND (@status = '' OR r.status = @status)
ORDER BY lower(r.name), r.id LIMIT @limit OFFSET @offset

-- name: get rule
SELECT r.id, r.project_id, r.name, r.version, r.status, r.stop_code, r.stop_detail, r.stop_remedy, r.stopped_at, r.run_filter, r.sample_rate, r.group_by, r.scoring,
	r.max_cost_nanousd, r.allow_unpriced, r.mark_written_at, r.mark_run_id, r.takes_from, r.created_by_id, u.email AS author_email, r.author_key, r.created_at, r.updated_at
FROM eval_rules r LEFT JOIN users u ON u.id = r.created_by_id
WHERE r.id = @id AND r.project_id = ANY(@projects)

-- name: lock rule
SELECT id FROM eval_rules WHERE id = @id AND project_id = ANY(@projects) FOR UPDATE

-- name: update rule
UPDATE eval_rules SET name = @name, version = version + @changed::integer, run_filter = @run_filter, sample_rate = @sample_rate, group_by = @group_by, scoring = @scoring, max_cost_nanousd = @max_cost,
	allow_unpriced = @allow_unpriced, updated_at = @now
WHERE id = @id

-- name: move pending runs
UPDATE eval_rule_runs r SET version = e.version FROM eval_rules e WHERE e.id = @id AND r.rule_id = e.id AND r.status = 'pending' AND r.version <> e.version

-- name: pause rule
UPDATE eval_rules SET status = 'paused', updated_at = @now WHERE id = @id AND status = 'active'

-- name: resume rule
UPDATE eval_rules SET status = 'active', stop_code = NULL, stop_detail = NULL, stop_remedy = NULL, stopped_at = NULL, failures = 0, updated_at = @now,
	mark_run_id = CASE WHEN mark_written_at < @from THEN @nowhere ELSE mark_run_id END,
	mark_written_at = greatest(mark_written_at, @from), takes_from = greatest(takes_from, @from)
WHERE id = @id AND status <> 'active'

-- name: delete rule
DELETE FROM eval_rules WHERE id = @id AND project_id = ANY(@projects)

-- name: stop rule
UPDATE eval_rules SET status = 'stopped', stop_code = @code, stop_detail = @detail, stop_remedy = @remedy, stopped_at = @now, updated_at = @now
WHERE id = @id AND status <> 'stopped' AND version = @version

-- name: list active rules
SELECT id, project_id, version, run_filter, sample_rate, mark_written_at, mark_run_id, takes_from FROM eval_rules WHERE status = 'active' ORDER BY project_id, id

-- name: move marks
UPDATE eval_rules SET mark_written_at = @written, mark_run_id = @nowhere WHERE id = ANY(@ids) AND status = 'active' AND mark_written_at < @written

-- name: move mark
UPDATE eval_rules SET mark_written_at = @written, mark_run_id = @run
WHERE id = @id AND status = 'active' AND version = @version AND mark_written_at = @old_written AND mark_run_id = @old_run

-- name: take runs
INSERT INTO eval_rule_runs (rule_id, run_id, run_name, version, status, day, taken_at, next_attempt)
SELECT @id, n.run, n.name, @version, 'pending', @day, @now, @now FROM unnest(@runs::uuid[], @names::text[]) AS n (run, name)
ON CONFLICT DO NOTHING

-- name: list rules with work
SELECT e.id, e.project_id FROM eval_rules e
WHERE e.status <> 'stopped' AND EXISTS (SELECT FROM eval_rule_runs r WHERE r.rule_id = e.id AND r.status = 'pending' AND r.next_attempt <= @now)

-- name: get rule of job
SELECT r.id, r.project_id, r.name, r.version, r.status, r.stop_code, r.stop_detail, r.stop_remedy, r.stopped_at, r.run_filter, r.sample_rate, r.group_by, r.scoring,
	r.max_cost_nanousd, r.allow_unpriced, r.mark_written_at, r.mark_run_id, r.takes_from, r.created_by_id, u.email AS author_email, r.author_key, r.created_at, r.updated_at
FROM eval_rules r LEFT JOIN users u ON u.id = r.created_by_id
WHERE r.id = @id AND r.status <> 'stopped'

-- name: lease runs
UPDATE eval_rule_runs r SET worker = @worker, next_attempt = @lease
FROM (
	SELECT run_id, worker IS NOT NULL AS interrupted FROM eval_rule_runs WHERE rule_id = @id AND version = @version AND status = 'pending' AND next_attempt <= @now
	ORDER BY next_attempt, run_id LIMIT @limit FOR UPDATE SKIP LOCKED) d
WHERE r.rule_id = @id AND r.run_id = d.run_id
RETURNING r.run_id, r.attempts, r.counted_nanousd, r.counted_day, d.interrupted AND r.counted_nanousd > r.cost_nanousd AS lost

-- name: renew leases
UPDATE eval_rule_runs SET next_attempt = @lease WHERE rule_id = @id AND worker = @worker AND status = 'pending'

-- name: read day
-- What other runs count than this one.
WITH own AS (
	SELECT coalesce(sum(counted_nanousd), 0)::bigint AS counted, coalesce(sum(counted_nanousd) FILTER (WHERE status = 'pending' AND worker IS NOT NULL), 0)::bigint AS held
	FROM eval_rule_runs WHERE rule_id = @id AND run_id = @run AND counted_day = @day)
SELECT coalesce(d.counted_nanousd, 0) - own.counted AS counted, coalesce(d.held_nanousd, 0) - own.held AS held
FROM own LEFT JOIN eval_rule_days d ON d.rule_id = @id AND d.day = @day

-- name: reserve
UPDATE eval_rule_runs SET counted_nanousd = @counted, counted_day = @day WHERE rule_id = @id AND run_id = @run AND worker = @worker AND version = @version AND status = 'pending'

-- name: list votes of runs
SELECT run_id AS of_run, version, 1 AS number, 0 AS side, 1 AS repeat, false AS swapped, '' AS "order", false AS cached, panel, judge, vote, panel_name, judge_name, escalated, status, value, score, label, pass, reason, raw, error_code, error_detail, truncated,
	requests, model, judge_run_id AS run_id, duration_ms, input_tokens AS input, output_tokens AS output, cache_read_tokens AS cache_read,
	cache_write_tokens AS cache_write, reasoning_tokens AS reasoning, cost_nanousd, created_at
FROM eval_rule_votes WHERE rule_id = @id AND run_id = ANY(@runs) ORDER BY run_id, panel, judge, vote

-- name: store vote
WITH owned AS (
	UPDATE eval_rule_runs SET cost_nanousd = cost_nanousd + coalesce(@cost_nanousd::bigint, 0), cost_unknown = cost_unknown OR @cost_nanousd::bigint IS NULL
	WHERE rule_id = @id AND run_id = @run AND worker = @worker AND status = 'pending'
	RETURNING rule_id, run_id)
INSERT INTO eval_rule_votes (rule_id, run_id, version, panel, judge, vote, panel_name, judge_name, escalated, status, value, score, label, pass, reason, raw, error_code, error_detail,
	truncated, requests, model, judge_run_id, duration_ms, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nanousd, created_at)
SELECT rule_id, run_id, @version, @panel, @judge, @vote, @panel_name, @judge_name, @escalated, @status, @value, @score, @label, @pass, @reason, @raw, @error_code, @error_detail,
	@truncated, @requests, @model, @judge_run, @duration_ms, @input_tokens, @output_tokens, @cache_read_tokens, @cache_write_tokens, @reasoning_tokens, @cost_nanousd, @created_at
FROM owned
ON CONFLICT (rule_id, run_id, version, panel, judge, vote) DO UPDATE SET status = excluded.status, value = excluded.value, score = excluded.score, label = excluded.label,
	pass = excluded.pass, reason = excluded.reason, raw = excluded.raw, error_code = excluded.error_code, error_detail = excluded.error_detail, truncated = excluded.truncated,
	requests = eval_rule_votes.requests + excluded.requests, model = excluded.model, judge_run_id = excluded.judge_run_id, duration_ms = excluded.duration_ms,
	input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, cache_read_tokens = excluded.cache_read_tokens,
	cache_write_tokens = excluded.cache_write_tokens, reasoning_tokens = excluded.reasoning_tokens, cost_nanousd = eval_rule_votes.cost_nanousd + excluded.cost_nanousd,
	created_at = excluded.created_at

-- name: reset failures
UPDATE eval_rules SET failures = 0 WHERE id = @id AND failures > 0

-- name: count failure
UPDATE eval_rules SET failures = failures + 1 WHERE id = @id AND version = @version RETURNING failures

-- name: list leased runs
SELECT run_id FROM eval_rule_runs WHERE rule_id = @id AND run_id = ANY(@runs) AND worker = @worker AND version = @version AND status = 'pending'

-- name: finish runs
WITH given AS (
	SELECT * FROM jsonb_to_recordset(@rows::jsonb)
		AS g (run_id uuid, status text, next_attempt timestamptz, attempted boolean, error_code text, error_detail text, counted bigint, cost_unknown boolean)),
-- A change of the rule gave them another version, by which they are scored now.
changed AS (
	UPDATE eval_rule_runs r SET next_attempt = @now, worker = NULL, counted_nanousd = g.counted, cost_unknown = r.cost_unknown OR g.cost_unknown
	FROM given g
	WHERE r.rule_id = @id AND r.run_id = g.run_id AND r.worker = @worker AND r.version <> @version AND r.status = 'pending'),
done AS (
	UPDATE eval_rule_runs r SET status = g.status, next_attempt = coalesce(g.next_attempt, r.next_attempt), worker = NULL, attempts = r.attempts + g.attempted::integer,
		error_code = g.error_code, error_detail = g.error_detail, counted_nanousd = g.counted, cost_unknown = r.cost_unknown OR g.cost_unknown, finished_at = CASE WHEN g.status = 'pending' THEN NULL ELSE @now::timestamptz END
	FROM given g
	WHERE r.rule_id = @id AND r.run_id = g.run_id AND r.worker = @worker AND r.version = @version AND r.status = 'pending'
	RETURNING r.run_id, r.day, r.version)
INSERT INTO eval_rule_scores (rule_id, run_id, ordinal, day, version, group_key, name, value, pass, label, reason, error, evidence)
SELECT @id, d.run_id, s.ordinal, d.day, d.version, s.group_key, s.name, s.value, s.pass, s.label, s.reason, s.error, s.evidence
FROM jsonb_to_recordset(@scores::jsonb) AS s (run_id uuid, ordinal smallint, group_key bigint, name text, value double precision, pass boolean, label text, reason text, error text, evidence text)
JOIN done d ON d.run_id = s.run_id

-- name: forget votes
DELETE FROM eval_rule_votes v USING eval_rules e WHERE e.id = v.rule_id AND e.project_id = ANY(@projects) AND v.run_id = ANY(@runs)

-- name: forget scores
DELETE FROM eval_rule_scores s USING eval_rules e WHERE e.id = s.rule_id AND e.project_id = ANY(@projects) AND s.run_id = ANY(@runs)

-- name: forget runs
UPDATE eval_rule_runs r SET status = 'skipped', run_name = '', worker = NULL, error_code = @code, error_detail = @detail, finished_at = coalesce(r.finished_at, @now)
FROM eval_rules e WHERE e.id = r.rule_id AND e.project_id = ANY(@projects) AND r.run_id = ANY(@runs)

-- name: count day
SELECT rule_id, status, count(*) AS runs, sum(cost_nanousd)::bigint AS cost_nanousd, count(*) FILTER (WHERE cost_unknown) AS unknown
FROM eval_rule_runs WHERE rule_id = ANY(@ids) AND day = @day GROUP BY rule_id, status

-- name: count days
SELECT day, version, status, count(*) AS runs, sum(cost_nanousd)::bigint AS cost_nanousd, count(*) FILTER (WHERE cost_unknown) AS unknown
FROM eval_rule_runs
WHERE rule_id = @id AND day IN (SELECT DISTINCT d.day FROM eval_rule_runs d WHERE d.rule_id = @id ORDER BY d.day DESC LIMIT @limit)
GROUP BY day, version, status ORDER BY day DESC, version DESC

-- name: sum scores
-- Of each group of runs that belong together, and then of all groups: n is its size, s its sum.
SELECT day, version, name, min(place) AS place, sum(n)::bigint AS n, sum(s) / nullif(sum(n), 0) AS mean, bool_and(of_two) AS binary,
	sum(judged)::bigint AS judged, sum(passed)::bigint AS passed, count(*) FILTER (WHERE n > 0) AS groups,
	sum(s ^ 2) AS ss, sum(s * n) AS sn, sum(n ^ 2) AS nn, sum(s ^ 3) AS sss, sum(s ^ 2 * n) AS ssn, sum(s * n ^ 2) AS snn, sum(n ^ 3) AS nnn
FROM (
	SELECT day, version, name, min(ordinal) AS place, count(value)::float8 AS n, coalesce(sum(value), 0) AS s, bool_and(value IN (0, 1)) AS of_two,
		count(pass) AS judged, count(*) FILTER (WHERE pass) AS passed
	FROM eval_rule_scores WHERE rule_id = @id AND day >= @day AND (value IS NOT NULL OR pass IS NOT NULL) AND label IS NULL AND group_key IS NOT NULL
	GROUP BY day, version, name, group_key
	UNION ALL
	SELECT day, version, name, ordinal, (value IS NOT NULL)::integer, coalesce(value, 0), value IN (0, 1), (pass IS NOT NULL)::integer, coalesce(pass, false)::integer
	FROM eval_rule_scores WHERE rule_id = @id AND day >= @day AND (value IS NOT NULL OR pass IS NOT NULL) AND label IS NULL AND group_key IS NULL) g
GROUP BY day, version, name

-- name: count labels
SELECT day, version, name, min(ordinal) AS place, label, count(*) AS n, count(pass) AS judged, count(*) FILTER (WHERE pass) AS passed
FROM eval_rule_scores WHERE rule_id = @id AND day >= @day AND label IS NOT NULL
GROUP BY day, version, name, label

-- name: count errors
SELECT error_code AS code, (array_agg(error_detail ORDER BY taken_at DESC))[1] AS detail, count(*) AS runs
FROM eval_rule_runs WHERE rule_id = @id AND day > @day AND status IN ('failed', 'partly_scored', 'pending') AND error_code IS NOT NULL
GROUP BY error_code ORDER BY runs DESC, code LIMIT @limit

-- name: list runs
SELECT r.run_id, r.run_name, r.version, r.status, r.error_code, r.error_detail, r.attempts, r.cost_nanousd, r.cost_unknown, r.taken_at, r.finished_at
FROM eval_rule_runs r JOIN eval_rules e ON e.id = r.rule_id
WHERE r.rule_id = @id AND e.project_id = ANY(@projects) AND (@status = '' OR r.status = @status) AND (@day::date IS NULL OR r.day = @day)
ORDER BY r.taken_at DESC, r.run_id LIMIT @limit OFFSET @offset

-- name: list scores of runs
SELECT run_id, name, value, pass, label, reason, error, evidence FROM eval_rule_scores WHERE rule_id = @id AND run_id = ANY(@runs) ORDER BY run_id, ordinal
