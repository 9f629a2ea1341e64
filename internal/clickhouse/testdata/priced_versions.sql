SELECT project_id, run_id, span_id, version, from_log, start_time, provider, request_model, response_model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, other_tokens, cost_usd, cost_source, price_version, counting,
			mapFilter((key, value) -> key IN (?), attributes_json) AS attributes_json
		FROM spans
		WHERE project_id = ?
	AND run_id IN (?)
			AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?)
			AND toYYYYMMDD(start_time) BETWEEN ?
	AND ?;
-- arguments: [[gen_ai.usage.cache_creation.ephemeral_1h_input_tokens] 11111111-1111-4111-8111-111111111111 [22222222-2222-4222-8222-222222222222] 1772967600 1772971200 20260308 20260308]
