SELECT if(agent_name != '', toString(agent_name), name) AS agent, count() AS runs, uniqExactIf(agent_release, agent_release != '') AS releases,
			countIf(agent_release != '') AS released, min(start_time) AS first, max(start_time) AS last
		FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
		GROUP BY agent HAVING agent != ''
	AND length(agent) <= ? ORDER BY runs DESC, agent LIMIT ? OFFSET ?;
-- arguments: [1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user 1000 50 0]
