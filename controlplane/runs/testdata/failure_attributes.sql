SELECT * FROM (SELECT fingerprint AS of, attribute.1 AS name, attribute.2 AS value, count() AS runs
		FROM (SELECT fingerprint, arrayJoin(arrayFilter(a -> a.2 != ''
	AND length(a.1) <= 300
	AND length(a.2) <= 200, arrayConcat(
	[('release', toString(release)), ('environment', toString(environment)), ('name', name)],
	arrayMap(p -> ('prompt_version', p), arrayDistinct(arrayMap((n, v) -> if(v = '', '', if(n = '', v, concat(n, ' ', v))),
		CAST(prompt_names AS Array(String)), CAST(prompt_versions AS Array(String))))),
	arrayMap(m -> ('model', toString(m)), models), arrayMap(t -> ('tool', toString(t)), tools), arrayMap(t -> ('tag', toString(t)), tags),
	arrayMap((k, v) -> (concat('metadata.', k), v), mapKeys(metadata), mapValues(metadata))))) AS attribute FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND agent_name = ?
	AND fingerprint IN (?) )
		GROUP BY of, name, value HAVING runs > 1
		ORDER BY runs DESC, of, name, value LIMIT ? BY of, name)
		ORDER BY runs DESC, of, name, value LIMIT ? BY of;
-- arguments: [1772886600000000000 1772886600000000000 1772973000000000000 1772972999999999999 user a [f g] 3 60]
SELECT peers AS of, attribute.1 AS name, attribute.2 AS value, count() AS runs
		FROM (SELECT if(agent_name != '', concat('agent ', substring(agent_name, 1, 1025)), concat('run ', substring(name, 1, 1025))) AS peers, arrayJoin(arrayFilter(a -> a.2 != ''
	AND length(a.1) <= 300
	AND length(a.2) <= 200, arrayConcat(
	[('release', toString(release)), ('environment', toString(environment)), ('name', name)],
	arrayMap(p -> ('prompt_version', p), arrayDistinct(arrayMap((n, v) -> if(v = '', '', if(n = '', v, concat(n, ' ', v))),
		CAST(prompt_names AS Array(String)), CAST(prompt_versions AS Array(String))))),
	arrayMap(m -> ('model', toString(m)), models), arrayMap(t -> ('tool', toString(t)), tools), arrayMap(t -> ('tag', toString(t)), tags),
	arrayMap((k, v) -> (concat('metadata.', k), v), mapKeys(metadata), mapValues(metadata))))) AS attribute FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND agent_name = ? )
		WHERE (attribute.1, attribute.2) IN ((?, ?))
		GROUP BY of, name, value ORDER BY of, name, value;
-- arguments: [1772886600000000000 1772886600000000000 1772973000000000000 1772972999999999999 user a release 1.2]
