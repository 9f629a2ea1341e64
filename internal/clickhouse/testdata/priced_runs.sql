SELECT DISTINCT run_id AS id FROM spans
		WHERE project_id = ?
	AND toYYYYMMDD(start_time) BETWEEN ?
	AND ?
			AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?)
			AND start_time >= fromUnixTimestamp64Nano(?)
	AND start_time < fromUnixTimestamp64Nano(?)
			AND (input_tokens IS NOT NULL OR output_tokens IS NOT NULL OR cache_read_tokens IS NOT NULL
	OR cache_write_tokens IS NOT NULL OR reasoning_tokens IS NOT NULL OR other_tokens IS NOT NULL OR cost_usd IS NOT NULL) ORDER BY id;
-- arguments: [11111111-1111-4111-8111-111111111111 20260308 20260308 1772967600 1772971200 1772969400000000000 1772973000000000000]
