SELECT NULL::Nullable(Int64) AS value, {runColumns} FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND name = ?
	AND agent_name = ?
	AND session_id = ?
	AND conversation_id = ?
	AND user_id = ?
	AND environment = ?
	AND release = ?
	AND error_type = ?
	AND fingerprint = ?
	AND mapContains(metadata, ?)
	AND metadata[?] = ?
	AND mapContains(metadata, ?)
	AND metadata[?] = ?
	AND status IN (?)
	AND kind IN (?)
	AND (arrayExists((i, n, v) -> (i = ? OR i = ''
	AND n = ?)
	AND v = ?, prompt_ids, prompt_names, prompt_versions) OR arrayExists(t -> t IN (?), system_text_ids) OR has(prompt_names, ?))
	AND has(models, ?)
	AND has(tags, ?)
	AND toUnixTimestamp64Nano(end_time) != 0
	AND toUnixTimestamp64Nano(end_time) - toUnixTimestamp64Nano(start_time) >= ?
	AND cost_usd >= ?
	AND coalesce(input_tokens, 0) + coalesce(output_tokens, 0) + coalesce(other_tokens, 0) >= ?
	AND run_id NOT IN (SELECT run_id FROM scores FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111') ORDER BY start_time DESC, run_id DESC LIMIT ? OFFSET ? SETTINGS max_result_bytes = 16777216;
-- arguments: [1772969400000000000 1772969400000000000 user a'b a s c u e r E f plan plan x tier tier free [error ok] [agent] p n 1 [7 9223372036854775808] n m t 1000000000 0.5 1000 51 0]
