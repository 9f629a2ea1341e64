SELECT span_id, version, parent_span_id, start_time, is_run, from_log, kind, operation, counting, response_hash, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, other_tokens, end_time, status, error_type, scope_name, request_model, tool_call_id FROM spans WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND run_id = ?
	AND version > ?;
-- arguments: [1772967600000000000 1772967600000000000 1772974800000000000 1772974799999999999 22222222-2222-4222-8222-222222222222 7]
