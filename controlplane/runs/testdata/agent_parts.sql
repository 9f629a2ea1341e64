SELECT agent_release, CAST(any(agent_parts) AS Map(String, String)) AS parts
		FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND if(agent_name != '', toString(agent_name), name) = ?
	AND agent_release IN (?) GROUP BY agent_release;
-- arguments: [1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user a [r s]]
