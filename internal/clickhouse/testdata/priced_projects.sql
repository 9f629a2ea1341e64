SELECT DISTINCT project_id AS id FROM spans
		WHERE toYYYYMMDD(start_time) BETWEEN ?
	AND ?
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND start_time < fromUnixTimestamp64Nano(?)
			AND (input_tokens IS NOT NULL OR output_tokens IS NOT NULL OR cache_read_tokens IS NOT NULL
	OR cache_write_tokens IS NOT NULL OR reasoning_tokens IS NOT NULL OR other_tokens IS NOT NULL OR cost_usd IS NOT NULL) ORDER BY id;
-- arguments: [20260308 20260308 1772969400000000000 1772973000000000000]
