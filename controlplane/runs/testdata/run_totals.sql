SELECT project_id, run_id, min(first_start) AS first_start, max(last_start) AS last_start, max(deleted_at) AS deleted_at
		FROM run_bounds WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND run_id IN (?) GROUP BY project_id, run_id;
-- arguments: [[22222222-2222-4222-8222-222222222222]]
SELECT project_id, run_id, version, start_time, end_time, status, source, span_count, llm_call_count, tool_call_count,
	input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, other_tokens, cost_usd, cost_source, unpriced_call_count FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND run_id IN (?);
-- arguments: [1772967600000000000 1772967600000000000 1772974800000000000 1772974799999999999 [22222222-2222-4222-8222-222222222222]]
