SELECT project_id, run_id, span_id, version, parent_span_id, start_time, end_time, is_run, from_log, name, kind, operation, status, error_type, error_message, scope_name, request_model, response_model, tool_name, tool_call_id, agent_name, session_id, conversation_id, user_id, environment, release, prompt_id, prompt_name, prompt_version, source, tags, metadata, finish_reasons, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, other_tokens, cost_usd, cost_source, counting, response_hash, input_preview, output_preview, output_calls, arraySlice(input_message_ids, 1, 1) AS input_message_ids, arraySlice(output_message_ids, 1, 1) AS output_message_ids, if(empty(spans.input_message_ids), [], arrayConcat([length(spans.input_message_ids), arraySum(spans.input_message_ids),
	arrayDotProduct(spans.input_message_ids, arrayEnumerate(spans.input_message_ids)), spans.input_message_ids[1], spans.input_message_ids[2]],
	arraySlice(spans.input_message_ids, -32))) AS input_digest, if(has_tool_result, '-', '') AS tool_result, call_hash, result_hash, said, side_effects, instructions_id, tool_definitions_id, instructions_text_id, system_message_text_id, agent_parts FROM spans
	WHERE project_id IN (?)
	AND run_id IN (?)
		AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?)
		AND toYYYYMMDD(start_time) BETWEEN ?
	AND ? LIMIT ?;
-- arguments: [[11111111-1111-4111-8111-111111111111] [22222222-2222-4222-8222-222222222222] 1772967600 1772971200 20260308 20260308 100]
