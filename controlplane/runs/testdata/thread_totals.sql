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
-- arguments: [user [a b]]
