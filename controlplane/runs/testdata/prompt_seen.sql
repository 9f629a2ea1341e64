SELECT *, count() OVER () AS versions_found FROM (WITH arrayFilter((v, i, n) -> (i = ? OR i = ''
	AND n = ?), CAST(prompt_versions AS Array(String)), prompt_ids, CAST(prompt_names AS Array(String))) AS named, arrayDistinct(arrayConcat(named, arrayFilter(v -> v != '',
			arrayMap(t -> transform(t, CAST(? AS Array(UInt64)), ?, ''), system_text_ids)))) AS versions 
			SELECT arrayJoin(versions) AS version, count() AS runs, min(start_time) AS first, max(start_time) AS last,
				countIf(NOT has(named, version)) AS by_text, sum(unpriced_call_count) AS unpriced_calls, countIf(unpriced_call_count > 0) AS unpriced_runs
			FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND (arrayExists((i, n, v) -> (i = ? OR i = ''
	AND n = ?), prompt_ids, prompt_names, prompt_versions) OR arrayExists(t -> t IN (?), system_text_ids)) GROUP BY version
		) WHERE length(version) <= ? ORDER BY runs DESC, version LIMIT ?;
-- arguments: [p triage [7 8 9223372036854775808] [1 2 2] 1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user p triage [7 8 9223372036854775808] 4000 2000]
