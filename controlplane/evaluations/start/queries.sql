-- name: create evaluation
INSERT INTO evaluations (id, project_id, kind, name, dataset_id, revision, split, item_count, repeats, seed, config, primary_metric, max_cost_nanousd,
	allow_unpriced, status, job_id, outputs_total, outputs_done, outputs_skipped, votes_total, votes_done, votes_skipped, estimate, a_eval_run_id, b_eval_run_id, source_eval_run_id, branch, commit, metadata,
	created_by, created_by_key, created_at, started_at)
VALUES (@id, @project, @kind, @name, @dataset, @revision, @split, @items, @repeats, @seed, @config, @primary, @max_cost,
	@allow_unpriced, @status, @job, @total, @skipped, @skipped, @votes, @votes_skipped, @votes_skipped, @estimate, @a_eval_run, @b_eval_run, @source_eval_run, @branch, @commit, @metadata,
	@author, @author_key, @now, @started)

-- name: remove failed outputs
WITH removed AS (
	DELETE FROM evaluation_outputs WHERE evaluation_id = @id AND status = 'failed' RETURNING number),
opened AS (
	UPDATE evaluation_items SET status = 'pending' WHERE evaluation_id = @id AND number IN (SELECT number FROM removed)),
counted AS (SELECT count(*) AS n FROM removed)
UPDATE evaluations e SET outputs_done = e.outputs_done - c.n, outputs_failed = e.outputs_failed - c.n FROM counted c WHERE e.id = @id

-- name: forget metrics
UPDATE evaluation_items SET metrics = NULL WHERE evaluation_id = @id AND metrics IS NOT NULL

-- name: resume evaluation
UPDATE evaluations SET status = 'queued', job_id = @job, attempt = NULL, leaving = NULL, stop_reason = NULL, error_code = NULL, error_detail = NULL,
	accounting = NULL, cost = NULL, summary = NULL, finished_at = NULL, votes_skipped = 0, votes_done = (
		SELECT count(*) FROM evaluation_votes v WHERE v.evaluation_id = @id AND v.number > 0), max_cost_nanousd = coalesce(@max_cost::bigint, max_cost_nanousd)
WHERE id = @id AND status NOT IN ('queued', 'running')

-- name: remove failed votes
WITH removed AS (
	DELETE FROM evaluation_votes WHERE evaluation_id = @id AND status <> 'ok' RETURNING number),
counted AS (SELECT count(*) FILTER (WHERE number > 0) AS n FROM removed)
UPDATE evaluations e SET votes_done = e.votes_done - c.n, votes_failed = e.votes_failed - c.n FROM counted c WHERE e.id = @id

-- name: finish evaluation
UPDATE evaluations SET status = 'succeeded', job_id = @job, finished_at = @now WHERE id = @id AND status = 'running'

-- name: judge evaluation
UPDATE evaluations SET status = 'queued', job_id = @job, finished_at = @now WHERE id = @id AND status = 'running' AND job_id IS NULL

-- name: list item ids
SELECT item_id FROM evaluation_items WHERE evaluation_id = @id ORDER BY ordinal

-- name: list labelled items
SELECT DISTINCT i.item_id
FROM evaluation_labels l
JOIN evaluation_items i ON i.evaluation_id = @id AND i.content_hash = l.item_hash
JOIN evaluation_outputs o ON o.evaluation_id = i.evaluation_id AND o.number = i.number AND sha256(convert_to(o.output, 'UTF8')) = l.output_hash
WHERE l.project_id = @project

-- name: find items by id
SELECT number, item_id, ordinal FROM evaluation_items WHERE evaluation_id = @id AND item_id = ANY(@items)

-- name: find results
SELECT o.number, o.repeat, o.status, o.result_hash, o.cost_nanousd FROM evaluation_outputs o
WHERE o.evaluation_id = @id AND (o.number, o.repeat) IN (SELECT * FROM unnest(@numbers::integer[], @repeats::smallint[]))

-- name: add results
INSERT INTO evaluation_outputs (evaluation_id, number, side, repeat, status, error_code, error_detail, output, message, run_id, model, fingerprint,
	finish_reason, duration_ms, input_tokens, output_tokens, cost_nanousd, requests, scores, result_hash, run_lookup, created_at, run_failed)
SELECT @id, r.number, r.side, r.repeat, r.status, r.error_code, r.error_detail, r.output, r.message, r.run_id, r.model, NULL,
	NULL, r.duration_ms, r.input_tokens, r.output_tokens, r.cost_nanousd, r.requests, r.scores, decode(r.result_hash, 'hex'), r.run_lookup, r.created_at, r.run_failed
FROM json_to_recordset(@rows) AS r(number integer, side smallint, repeat smallint, status text, error_code text, error_detail text, output text, message text,
	run_id uuid, model text, duration_ms double precision, input_tokens bigint, output_tokens bigint, cost_nanousd bigint, requests integer, scores text,
	result_hash text, run_lookup text, created_at timestamptz, run_failed boolean)
ON CONFLICT (evaluation_id, number, side, repeat) DO UPDATE SET status = excluded.status, error_code = excluded.error_code, error_detail = excluded.error_detail,
	output = excluded.output, message = excluded.message, run_id = excluded.run_id, model = excluded.model, duration_ms = excluded.duration_ms,
	input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, cost_nanousd = excluded.cost_nanousd, scores = excluded.scores,
	result_hash = excluded.result_hash, run_lookup = excluded.run_lookup, created_at = excluded.created_at,
	run_failed = excluded.run_failed

-- name: count results
UPDATE evaluations SET outputs_done = outputs_done + @added, outputs_failed = outputs_failed + @failed,
	results_cost_nanousd = results_cost_nanousd + @cost, results_costed = results_costed + @costed
WHERE id = @id

-- name: list missing results
SELECT i.item_id, i.key, array_agg(r.repeat ORDER BY r.repeat) AS repeats
FROM evaluation_items i, generate_series(1, @repeats::integer) AS r(repeat)
WHERE i.evaluation_id = @id AND NOT EXISTS (
	SELECT FROM evaluation_outputs o WHERE o.evaluation_id = i.evaluation_id AND o.number = i.number AND o.side = 0 AND o.repeat = r.repeat)
GROUP BY i.number, i.item_id, i.key ORDER BY i.number LIMIT @limit

-- name: create growing evaluation
INSERT INTO evaluations (id, project_id, kind, name, dataset_id, revision, item_count, repeats, seed, config, allow_unpriced, status, outputs_total, estimate,
	metadata, created_by, created_by_key, created_at, started_at)
VALUES (@id, @project, @kind, @name, @dataset, @revision, @items, 1, 0, @config, true, @status, @items, '{}', @metadata, @author, @author_key, @now, @now)
ON CONFLICT (id) DO NOTHING

-- name: reopen evaluation
UPDATE evaluations SET status = 'running', job_id = NULL, attempt = NULL, stop_reason = NULL, error_code = NULL, error_detail = NULL,
	accounting = NULL, cost = NULL, summary = NULL, finished_at = NULL
WHERE id = @id AND status = 'succeeded'

-- name: list contents
SELECT ordinal, content_hash FROM evaluation_items WHERE evaluation_id = @id

-- name: add items
INSERT INTO evaluation_items (evaluation_id, number, item_id, ordinal, key, content_hash)
SELECT @id, (SELECT coalesce(max(number), 0) FROM evaluation_items WHERE evaluation_id = @id) + row_number() OVER (ORDER BY n.place), n.item, n.ordinal, n.key, n.hash
FROM unnest(@items::uuid[], @ordinals::bigint[], @keys::text[], @hashes::bytea[]) WITH ORDINALITY AS n (item, ordinal, key, hash, place)
WHERE NOT EXISTS (SELECT FROM evaluation_items i WHERE i.evaluation_id = @id AND i.item_id = n.item)

-- name: count items
UPDATE evaluations e SET revision = @revision, item_count = c.items, outputs_total = c.items * e.repeats
FROM (SELECT count(*) AS items FROM evaluation_items WHERE evaluation_id = @id) c WHERE e.id = @id

-- name: find items by key
SELECT i.key, i.item_id FROM evaluation_items i JOIN evaluations e ON e.id = i.evaluation_id
WHERE e.project_id = ANY(@projects) AND e.kind = @kind AND e.id = @id AND i.key = ANY(@keys)

-- name: describe evaluation
UPDATE evaluations SET metadata = @metadata WHERE project_id = ANY(@projects) AND kind = @kind AND id = @id
