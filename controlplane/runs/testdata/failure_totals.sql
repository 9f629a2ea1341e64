SELECT if(agent_name != '', concat('agent ', substring(agent_name, 1, 1025)), concat('run ', substring(name, 1, 1025))) AS peers, count() AS runs, countIf(fingerprint != '') AS failed, sum(cost_usd) AS cost, countIf(user_id != '') AS with_user,
			countIf(sample_share IS NOT NULL) AS sampled, min(sample_share) AS share FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND agent_name = ? GROUP BY peers ORDER BY runs DESC, peers LIMIT 10000;
-- arguments: [1772886600000000000 1772886600000000000 1772973000000000000 1772972999999999999 user a]
