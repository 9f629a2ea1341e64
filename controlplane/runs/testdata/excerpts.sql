SELECT project_id, run_id, span_id, version, parent_span_id, start_time, end_time, is_run, from_log,
	substring(name, 1, 200) AS name, kind, operation, status, substring(error_type, 1, 200) AS error_type,
	substring(request_model, 1, 200) AS request_model, substring(response_model, 1, 200) AS response_model,
	substring(tool_name, 1, 200) AS tool_name, substring(agent_name, 1, 200) AS agent_name,
	tool_call_id, scope_name, counting, response_hash, input_tokens, output_tokens, other_tokens, output_message_ids,
	arraySlice(input_message_ids, -4) AS input_message_ids,
	substring(error_message, 1, 16385) AS error_message, substring(error_stack, 1, 16385) AS error_stack, substring(inputs, 1, 16385) AS inputs, substring(outputs, 1, 16385) AS outputs,
	substring(tool_arguments, 1, 16385) AS tool_arguments, substring(tool_result, 1, 16385) AS tool_result FROM spans WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND run_id = ?
	AND version > ?
	AND span_id IN (?);
-- arguments: [1772967600000000000 1772967600000000000 1772974800000000000 1772974799999999999 22222222-2222-4222-8222-222222222222 7 [1]]
