SELECT toString(substring(release, 1, 1025)) AS value, min(start_time) AS first,
		argMin(run_id, (start_time, run_id)) AS first_run, argMin(agent_release, (start_time, run_id)) AS first_release FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND agent_name = ?
	AND toString(substring(release, 1, 1025)) != ''
		GROUP BY value ORDER BY first DESC, value LIMIT 10000;
-- arguments: [1765197000000000000 1765197000000000000 1772973000000000000 1772972999999999999 user a]
