SELECT project_id, run_id, span_id, version, parent_span_id, start_time, end_time, from_log, is_run, name, status, error_type,
	substring(error_message, 1, 2000) AS error_message, substring(inputs, 1, ?) AS inputs, substring(outputs, 1, ?) AS outputs,
	mapApply((k, v) -> (k, substring(v, 1, ?)), mapFilter((k, v) -> startsWith(k, ?) OR k IN (?), attributes)) AS attributes FROM spans AS s WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND run_id IN (?)
	AND source = ?
	AND s.attributes[?] != ''
	AND (s.attributes[?] = ?
	AND s.attributes[?] != '' OR lower(s.attributes[?]) = lower(leftPad(hex(span_id), 16, '0'))) ORDER BY run_id, start_time, span_id LIMIT ? BY run_id;
-- arguments: [262145 262145 262145 langfuse.experiment. [langfuse.observation.type langfuse.observation.metadata.experiment_name langfuse.observation.metadata.evaluator_kind] 1772967600000000000 1772967600000000000 1772974800000000000 1772974799999999999 [22222222-2222-4222-8222-222222222222] evaluation langfuse.experiment.id langfuse.observation.type evaluator langfuse.observation.metadata.evaluator_kind langfuse.experiment.item.root_observation_id 20000]
