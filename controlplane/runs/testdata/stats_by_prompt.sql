SELECT value, runs, groups FROM (SELECT CAST(value AS String) AS value, runs, count() OVER () AS groups FROM (SELECT arrayJoin(if(empty(list), [''], list)) AS value, sum(n) AS runs FROM (
			WITH arrayDistinct(arrayMap((i, n, v) -> concat(if(n = '', i, n), if(v = '', '', concat('@', v))),
	prompt_ids, CAST(prompt_names AS Array(String)), CAST(prompt_versions AS Array(String)))) AS prompts SELECT prompts AS list, count() AS n FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ? GROUP BY list) GROUP BY value))
		WHERE length(value) <= ? ORDER BY runs DESC, value LIMIT ?;
-- arguments: [1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user 4000 5]
SELECT slot, other, CAST(arrayDistinct(key) AS Array(String)) AS belongs, sums.* EXCEPT (slot, key, other) FROM (
			WITH arrayDistinct(arrayMap((i, n, v) -> concat(if(n = '', i, n), if(v = '', '', concat('@', v))),
	prompt_ids, CAST(prompt_names AS Array(String)), CAST(prompt_versions AS Array(String)))) AS prompts SELECT intDiv(toUnixTimestamp64Nano(start_time), 1000000000 * ?) * ? AS slot, arrayFilter(v -> v IN (?), if(empty(prompts), [''], prompts)) AS key, length(key) < greatest(length(prompts), 1) AS other, count() AS runs, countIf((fingerprint != '')) AS errors, countIf(status != 'running') AS ended,
	hex(quantileTDigestStateIf((toUnixTimestamp64Nano(end_time) - toUnixTimestamp64Nano(start_time)) / 1e6, toUnixTimestamp64Nano(end_time) != 0)) AS durations,
	sum(input_tokens) AS input, sum(output_tokens) AS output, sum(cache_read_tokens) AS cache_read,
	sum(cache_write_tokens) AS cache_write, sum(reasoning_tokens) AS reasoning, sum(other_tokens) AS other_sum, sum(cost_usd) AS cost,
	countIf(input_tokens IS NULL
	AND output_tokens IS NULL
	AND other_tokens IS NULL) AS no_usage, countIf(cost_usd IS NULL) AS no_cost,
	countIf(sample_share IS NOT NULL) AS sampled, min(sample_share) AS share
			FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ? GROUP BY slot, key, other
		) AS sums;
-- arguments: [30 30 [] 1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user]
SELECT slot, other, CAST(arrayDistinct(key) AS Array(String)) AS belongs, errors FROM (
			WITH arrayDistinct(arrayMap((i, n, v) -> concat(if(n = '', i, n), if(v = '', '', concat('@', v))),
	prompt_ids, CAST(prompt_names AS Array(String)), CAST(prompt_versions AS Array(String)))) AS prompts SELECT intDiv(toUnixTimestamp64Nano(start_time), 1000000000 * ?) * ? AS slot, arrayFilter(v -> v IN (?), if(empty(prompts), [''], prompts)) AS key, length(key) < greatest(length(prompts), 1) AS other, count() AS errors
			FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND status != 'running'
	AND NOT (fingerprint != '')
	AND run_id IN (SELECT run_id FROM (SELECT run_id, score, scored_value.1 AS value_kind, scored_value.2 AS number, substringUTF8(scored_value.3, 1, 200) AS label FROM (
			SELECT run_id, scored_row.2 AS score, argMax((scored_row.3, scored_row.4, scored_row.5, scored_row.6), (scored_at, score_id)) AS scored_value FROM (
				SELECT run_id, score_id, max(version) AS scored_at,
					argMax((deleted, substring(toString(name), 1, 800), toString(value_kind), number, label, value_kind = 'boolean'
	AND ifNull(number = 0, false)), version) AS scored_row
				FROM run_scores WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND version >= ?
	AND run_id IN (SELECT run_id FROM run_scores WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND version >= ?
	AND deleted = 0
	AND value_kind = 'boolean'
	AND ifNull(number = 0, false)) GROUP BY run_id, score_id
			) WHERE scored_row.1 = 0
	AND scored_row.2 != ''
	AND scored_row.3 != '' GROUP BY run_id, score
		) WHERE scored_value.4)) GROUP BY slot, key, other
		) AS sums;
-- arguments: [30 30 [] 1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user 1772884800000000000 1772884800000000000]
