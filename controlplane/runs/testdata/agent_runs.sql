SELECT run_id, start_time, agent_release, multiIf(status = 'running', 'running', (fingerprint != '') OR run_id IN (SELECT run_id FROM (SELECT run_id, score, scored_value.1 AS value_kind, scored_value.2 AS number, substringUTF8(scored_value.3, 1, 200) AS label FROM (
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
		) WHERE scored_value.4)), 'failed', error_count > 0, 'recovered', 'succeeded') AS outcome, if(toUnixTimestamp64Nano(end_time) != 0, (toUnixTimestamp64Nano(end_time) - toUnixTimestamp64Nano(start_time)) / 1e6, NULL) AS duration_ms, cost_usd
		FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND if(agent_name != '', toString(agent_name), name) = ? ORDER BY start_time DESC, run_id DESC LIMIT ?;
-- arguments: [1772884800000000000 1772884800000000000 1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user a 1000]
