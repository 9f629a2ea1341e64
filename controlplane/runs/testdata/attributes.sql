WITH arrayFilter(a -> a.2 != ''
	AND length(a.1) <= 300
	AND length(a.2) <= 200, arrayConcat(
	[('release', toString(release)), ('agent_release', toString(agent_release)), ('environment', toString(environment)), ('name', name)],
	arrayMap(p -> ('prompt_version', p), arrayDistinct(arrayMap((n, v) -> if(v = '', '', if(n = '', v, concat(n, ' ', v))),
		CAST(prompt_names AS Array(String)), CAST(prompt_versions AS Array(String))))),
	arrayMap(m -> ('model', toString(m)), models), arrayMap(t -> ('tool', toString(t)), tools), arrayMap(t -> ('tag', toString(t)), tags),
	arrayMap((k, v) -> (concat('metadata.', k), v), mapKeys(metadata), mapValues(metadata)))) AS attributes
		SELECT run_id, start_time, name, substring(agent_name, 1, 1025) AS agent_name, failing_span_id,
			arrayMap(a -> a.1, attributes) AS names, arrayMap(a -> a.2, attributes) AS values
		FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND run_id IN (?) ORDER BY start_time DESC, run_id DESC;
-- arguments: [1772967600000000000 1772967600000000000 1772974800000000000 1772974799999999999 [22222222-2222-4222-8222-222222222222]]
