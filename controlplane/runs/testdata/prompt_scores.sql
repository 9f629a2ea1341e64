SELECT version, score, count() AS n, countIf(value_kind = 'boolean') AS booleans, avg(assumeNotNull(number)) AS mean
		FROM (SELECT run_id, substring(name, 1, 800) AS score, value_kind, number FROM scores FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND isNotNull(number)
	AND isFinite(number)) AS judged
		INNER JOIN (
			WITH arrayFilter((v, i, n) -> (i = ? OR i = ''
	AND n = ?), CAST(prompt_versions AS Array(String)), prompt_ids, CAST(prompt_names AS Array(String))) AS named, arrayDistinct(arrayConcat(named, arrayFilter(v -> v != '',
			arrayMap(t -> transform(t, CAST(? AS Array(UInt64)), ?, ''), system_text_ids)))) AS versions  SELECT run_id, arrayJoin(versions) AS version FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND run_id IN (SELECT run_id FROM scores WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND isNotNull(number)
	AND isFinite(number))
		) AS used USING (run_id)
		GROUP BY version, score ORDER BY n DESC, score LIMIT 50 BY version LIMIT 5000;
-- arguments: [p triage [7 8 9223372036854775808] [1 2 2] 1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user]
