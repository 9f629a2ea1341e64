WITH toUnixTimestamp64Nano(start_time) AS started, started >= ? AS inside, (start_time, run_id) AS newest
		SELECT fingerprint, argMax(failure_class, newest) AS class, argMax(substring(agent_name, 1, 1025), newest) AS agent, argMax(if(agent_name != '', concat('agent ', substring(agent_name, 1, 1025)), concat('run ', substring(name, 1, 1025))), newest) AS peers,
			argMax(failing_kind, newest) AS step_kind, argMax(substring(failing_name, 1, 1025), newest) AS step_name,
			argMax(substring(failing_type, 1, 1025), newest) AS type, argMax(failing_template, newest) AS template,
			countIf(inside) AS runs, minIf(start_time, inside) AS first, maxIf(start_time, inside) AS last,
			uniqExactIf(user_id, inside
	AND user_id != '') AS users, sumIf(cost_usd, inside) AS cost,
			arraySort(groupUniqArrayIf(10)(toString(substring(release, 1, 1025)), inside)) AS releases,
			countIf(started >= ?) AS n_now, countIf(started >= ?
	AND started < ?) AS n_before,
			count() OVER () AS groups FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND fingerprint != '' GROUP BY fingerprint HAVING runs > 0 ORDER BY runs DESC, fingerprint LIMIT ?;
-- arguments: [1772886600000000000 1772951400000000000 1772346600000000000 1772951400000000000 1772346600000000000 1772346600000000000 1772973000000000000 1772972999999999999 user 1000]
