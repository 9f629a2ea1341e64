SELECT run_id, substring(toString(name), 1, 200) AS score, value_kind = 'boolean' AS is_boolean, assumeNotNull(number) AS value FROM scores FINAL
		WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND span_id = 0
	AND value_kind != ''
	AND (value_kind = 'category' OR isFinite(ifNull(number, nan)))
	AND value_kind != 'category'
	AND run_id IN (
			SELECT run_id FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND if(agent_name != '', toString(agent_name), name) = ? ORDER BY start_time DESC, run_id DESC LIMIT ?)
		ORDER BY version DESC, score_id LIMIT 1 BY run_id, score LIMIT ?;
-- arguments: [1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user a 1000 5000]
