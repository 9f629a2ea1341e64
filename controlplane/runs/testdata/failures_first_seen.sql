SELECT member.1 AS value, min(start_time) AS first,
		argMin(run_id, (start_time, run_id)) AS first_run, argMin(agent_release, (start_time, run_id)) AS first_release FROM runs FINAL LEFT JOIN (SELECT run_id, min(score) AS score FROM (SELECT run_id, score, scored_value.1 AS value_kind, scored_value.2 AS number, substringUTF8(scored_value.3, 1, 200) AS label FROM (
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
		) WHERE scored_value.4) GROUP BY run_id) AS scored USING (run_id) ARRAY JOIN arrayConcat(if(multiIf((fingerprint != ''), toString(fingerprint), score != ''
	AND status != 'running'
	AND NOT (fingerprint != ''),
	concat('fp:s1:', lower(hex(substring(SHA256(score), 1, 8))), lower(hex(substring(SHA256(if(agent_name != '', concat('agent ', substring(agent_name, 1, 200)), concat('run ', substring(name, 1, 200)))), 1, 8)))), '') = '', [], [(multiIf((fingerprint != ''), toString(fingerprint), score != ''
	AND status != 'running'
	AND NOT (fingerprint != ''),
	concat('fp:s1:', lower(hex(substring(SHA256(score), 1, 8))), lower(hex(substring(SHA256(if(agent_name != '', concat('agent ', substring(agent_name, 1, 200)), concat('run ', substring(name, 1, 200)))), 1, 8)))), ''), if((fingerprint != ''), toString(failure_class), 'scored'),
		if((fingerprint != ''), toString(failing_kind), 'score'), if((fingerprint != ''), toString(failing_name), toString(score)),
		toString(failing_effects), toString(failing_type), if((fingerprint != ''), failing_template, 'scored as failed'))]), arrayMap((f, s, k, n, e) -> (f, s, k, n, e, '', ''), CAST(signal_fingerprints AS Array(String)), CAST(signals AS Array(String)), CAST(signal_kinds AS Array(String)), CAST(signal_names AS Array(String)), CAST(signal_effects AS Array(String)))) AS member WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND agent_name = ?
	AND member.1 != ''
		GROUP BY value ORDER BY first DESC, value LIMIT 10000;
-- arguments: [1765110600000000000 1765110600000000000 1765197000000000000 1765197000000000000 1772973000000000000 1772972999999999999 user a]
