WITH now64(3, 'UTC') - toIntervalMillisecond(?) AS until
		SELECT project_id, run_id FROM runs
		WHERE NOT deleted
	AND written_at >= until - toIntervalMillisecond(?)
		GROUP BY project_id, run_id HAVING NOT max(genai)
	AND max(written_at) < until
		ORDER BY project_id, min(start_time);
-- arguments: [3600000 86400000]
SELECT project_id, run_id,
				min(first_start) AS first_start, max(last_start) AS last_start,
				min(first_batch) AS first_batch, max(last_batch) AS last_batch, max(deleted_at) AS deleted_at
			FROM run_bounds
			WHERE project_id IN (?)
	AND run_id IN (?)
			GROUP BY project_id, run_id;
-- arguments: [[11111111-1111-4111-8111-111111111111] [22222222-2222-4222-8222-222222222222]]
SELECT run_id AS id FROM spans WHERE project_id = ?
	AND run_id IN (?)
			AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?)
	AND (is_run OR kind NOT IN ('', 'span') OR operation != ''
	OR input_tokens IS NOT NULL OR output_tokens IS NOT NULL OR cache_read_tokens IS NOT NULL
	OR cache_write_tokens IS NOT NULL OR reasoning_tokens IS NOT NULL OR other_tokens IS NOT NULL
	OR notEmpty(input_message_ids) OR notEmpty(output_message_ids) OR instructions_id != 0 OR tool_definitions_id != 0)
		UNION DISTINCT SELECT run_id AS id FROM scores FINAL WHERE project_id = ?
	AND run_id IN (?);
-- arguments: [11111111-1111-4111-8111-111111111111 [22222222-2222-4222-8222-222222222222] 1772967600 1772971200 11111111-1111-4111-8111-111111111111 [22222222-2222-4222-8222-222222222222]]
DELETE FROM spans WHERE project_id = ?
	AND run_id IN (?)
	AND NOT (is_run OR kind NOT IN ('', 'span') OR operation != ''
	OR input_tokens IS NOT NULL OR output_tokens IS NOT NULL OR cache_read_tokens IS NOT NULL
	OR cache_write_tokens IS NOT NULL OR reasoning_tokens IS NOT NULL OR other_tokens IS NOT NULL
	OR notEmpty(input_message_ids) OR notEmpty(output_message_ids) OR instructions_id != 0 OR tool_definitions_id != 0)
			AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?);
-- arguments: [11111111-1111-4111-8111-111111111111 [22222222-2222-4222-8222-222222222222] 1772967600 1772971200]
DELETE FROM runs WHERE project_id = ?
	AND run_id IN (?)
	AND NOT genai
			AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?);
-- arguments: [11111111-1111-4111-8111-111111111111 [22222222-2222-4222-8222-222222222222] 1772967600 1772971200]
