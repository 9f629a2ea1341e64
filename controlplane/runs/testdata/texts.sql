SELECT project_id, run_id, span_id, version, parent_span_id, start_time, end_time, is_run, from_log,
	substring(name, 1, 200) AS name, kind, operation, status, substring(error_type, 1, 200) AS error_type,
	substring(request_model, 1, 200) AS request_model, substring(response_model, 1, 200) AS response_model,
	substring(tool_name, 1, 200) AS tool_name, substring(agent_name, 1, 200) AS agent_name,
	tool_call_id, scope_name, counting, response_hash, input_tokens, output_tokens, other_tokens, output_message_ids, arraySlice(input_message_ids, -4) AS input_message_ids,
	instructions_id, tool_definitions_id, if(length(error_message) > 4096, concat(substring(error_message, 1, 4096), '\0', leftPad(hex(sipHash64(error_message)), 16, '0')), error_message) AS error_message, if(length(inputs) > 4096, concat(substring(inputs, 1, 4096), '\0', leftPad(hex(sipHash64(inputs)), 16, '0')), inputs) AS inputs, if(length(outputs) > 4096, concat(substring(outputs, 1, 4096), '\0', leftPad(hex(sipHash64(outputs)), 16, '0')), outputs) AS outputs, if(length(tool_arguments) > 4096, concat(substring(tool_arguments, 1, 4096), '\0', leftPad(hex(sipHash64(tool_arguments)), 16, '0')), tool_arguments) AS tool_arguments, if(length(tool_result) > 4096, concat(substring(tool_result, 1, 4096), '\0', leftPad(hex(sipHash64(tool_result)), 16, '0')), tool_result) AS tool_result FROM spans WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND run_id = ?
	AND version > ?
	AND span_id IN (?);
-- arguments: [1772967600000000000 1772967600000000000 1772974800000000000 1772974799999999999 22222222-2222-4222-8222-222222222222 7 [1]]
