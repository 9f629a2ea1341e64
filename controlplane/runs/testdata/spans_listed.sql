SELECT span_id, version, parent_span_id, start_time, end_time, is_run, from_log, name, kind, operation, status, error_type, error_message, error_stack, service_name, scope_name, dialect, framework, provider, request_model, response_model, tool_name, tool_call_id, agent_name, session_id, conversation_id, user_id, prompt_id, prompt_name, prompt_version, finish_reasons, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, other_tokens, cost_usd, cost_source, price_version, counting, response_hash, time_to_first_token, input_preview, output_preview, substring(inputs, 1, 2049) AS inputs, substring(outputs, 1, 2049) AS outputs, substring(tool_arguments, 1, 2049) AS tool_arguments, substring(tool_result, 1, 2049) AS tool_result FROM spans WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND run_id = ?
	AND version > ? SETTINGS max_result_bytes = 67108864;
-- arguments: [1772967600000000000 1772967600000000000 1772974800000000000 1772974799999999999 22222222-2222-4222-8222-222222222222 7]
