-- name: read votes
SELECT number, side, repeat, panel, judge, vote, swapped, status, value, label, cached, cost_nanousd, duration_ms, requests
FROM evaluation_votes WHERE evaluation_id = @id AND number BETWEEN 0 AND @last ORDER BY number, side, repeat, panel, judge, vote, swapped

-- name: list stopped judges
SELECT panel, judge, error_code, error_detail FROM evaluation_stopped_judges WHERE evaluation_id = @id

-- name: list labels for statistics
SELECT i.number, o.side::integer AS side, o.repeat::integer AS repeat, l.author, l.value
FROM evaluation_labels l
JOIN evaluation_items i ON i.evaluation_id = @id AND i.content_hash = l.item_hash
JOIN evaluation_outputs o ON o.evaluation_id = i.evaluation_id AND o.number = i.number AND o.status = 'ok' AND sha256(convert_to(o.output, 'UTF8')) = l.output_hash
WHERE l.project_id = @project AND l.score = @score AND l.scale = @scale::jsonb
ORDER BY i.number, o.side, o.repeat, l.author

-- name: count labels on other scales
SELECT count(*) AS labels
FROM evaluation_labels l
WHERE l.project_id = @project AND l.score = @score AND l.scale IS DISTINCT FROM @scale::jsonb AND EXISTS (
	SELECT FROM evaluation_items i JOIN evaluation_outputs o ON o.evaluation_id = i.evaluation_id AND o.number = i.number AND o.status = 'ok'
	WHERE i.evaluation_id = @id AND i.content_hash = l.item_hash AND sha256(convert_to(o.output, 'UTF8')) = l.output_hash)

-- name: list scores before
SELECT i.number, o.repeat::integer AS repeat, (s -> 'evidence' ->> 'value')::float8 AS value
FROM evaluation_items i
JOIN evaluation_items b ON b.evaluation_id = @source AND b.item_id = i.item_id AND b.content_hash = i.content_hash
JOIN evaluation_outputs o ON o.evaluation_id = b.evaluation_id AND o.number = b.number AND o.side = 0
CROSS JOIN LATERAL jsonb_array_elements(o.scores::jsonb) s
WHERE i.evaluation_id = @id AND i.number = ANY(@numbers) AND s ->> 'name' = @score AND jsonb_typeof(s -> 'evidence' -> 'value') = 'number'
	AND EXISTS (
		SELECT FROM evaluations e, jsonb_path_query(e.config::jsonb, '$.panels[*]') AS p
		WHERE e.id = @source AND p ->> 'name' = @score AND p #> '{judges,0,definition,scale}' = @scale::jsonb)

-- name: read results
SELECT o.number, o.side, o.repeat, o.status, o.error_code, o.scores, o.cost_nanousd, o.duration_ms, o.input_tokens, o.output_tokens,
	o.cache_read_tokens, o.model, o.fingerprint, o.run_lookup, o.run_failed, length(o.output) AS length
FROM evaluation_outputs o WHERE o.evaluation_id = @id AND o.number <= @last ORDER BY o.number, o.side, o.repeat

-- name: read item statuses
SELECT number, ordinal, item_id, content_hash, status, reason FROM evaluation_items WHERE evaluation_id = @id ORDER BY number
