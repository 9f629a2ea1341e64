SELECT if(session_id != '', session_id, conversation_id) AS thread_id, max(session_id != '') AS by_session,
	min(start_time) AS first_time, max(start_time) AS last_time, last_time AS matched,
	count() AS run_count, countIf((fingerprint != '')) AS errors,
	groupUniqArrayIf(10)(substring(user_id, 1, 1025), user_id != '') AS users, uniqIf(user_id, user_id != '') AS user_count,
	groupUniqArrayIf(10)(toString(substring(agent_name, 1, 1025)), agent_name != '') AS agents, uniqIf(agent_name, agent_name != '') AS agent_count,
	sum(input_tokens) AS input, sum(output_tokens) AS output, sum(cache_read_tokens) AS cache_read,
	sum(cache_write_tokens) AS cache_write, sum(reasoning_tokens) AS reasoning, sum(other_tokens) AS other_sum, sum(cost_usd) AS cost,
	countIf(sample_share IS NOT NULL) AS sampled, min(sample_share) AS share,
	argMinIf(input_preview, start_time, input_preview != '') AS first_input,
	argMaxIf(output_preview, start_time, output_preview != '') AS last_output,
	argMax(status = 'running', start_time) AS last_running FROM runs FINAL
		WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND genai
	AND source = ?
	AND (session_id IN (? AS thread_ids) OR session_id = ''
	AND conversation_id IN thread_ids) GROUP BY thread_id;
-- arguments: [user [a]]
SELECT if(session_id != '', session_id, conversation_id) AS thread_id, count() AS errors FROM runs FINAL
		WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND genai
	AND source = ?
	AND (session_id IN (? AS thread_ids) OR session_id = ''
	AND conversation_id IN thread_ids)
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
		) WHERE scored_value.4)) GROUP BY thread_id;
-- arguments: [user [a] 1772883000000000000 1772883000000000000]
SELECT {runColumns} FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND (session_id IN (? AS thread_ids) OR session_id = ''
	AND conversation_id IN thread_ids)
	AND (start_time, run_id) > (fromUnixTimestamp64Nano(?), toUUID(?)) ORDER BY start_time, run_id LIMIT ? SETTINGS max_result_bytes = 16777216;
-- arguments: [1772969400000000000 1772969400000000000 1772973000000000001 1772973000000000000 user [a] 1772972940000000000 22222222-2222-4222-8222-222222222222 21]
