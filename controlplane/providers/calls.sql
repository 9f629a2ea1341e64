-- name: reserve
WITH reserved AS (
	UPDATE provider_states s SET running = s.running + 1, reserved_nanousd = s.reserved_nanousd + coalesce(@most::bigint, 0),
		spent_nanousd = CASE WHEN s.month >= @month THEN s.spent_nanousd ELSE 0 END, month = greatest(s.month, @month),
		next_call_at = CASE WHEN p.requests_per_minute IS NULL THEN NULL
			ELSE greatest(coalesce(s.next_call_at, @now), @now - interval '10 seconds') + interval '1 minute' / p.requests_per_minute END
	FROM providers p, set_config('synchronous_commit', 'off', true) AS quick
	WHERE p.id = @provider AND s.provider_id = p.id
		AND s.running < least(s.concurrency_limit, p.max_concurrency)
		AND (s.paused_until IS NULL OR s.paused_until <= @now)
		AND (p.requests_per_minute IS NULL OR s.next_call_at IS NULL OR s.next_call_at <= @now)
		AND (p.monthly_budget_nanousd IS NULL
			OR (@most::bigint IS NULL AND p.allow_unpriced)
			OR (CASE WHEN s.month >= @month THEN s.spent_nanousd ELSE 0 END) + s.reserved_nanousd + @most::bigint <= p.monthly_budget_nanousd)
		AND (@job::bigint IS NULL OR EXISTS (SELECT FROM river_job j WHERE j.id = @job AND j.attempt = @attempt::integer AND j.state = 'running'))
	RETURNING p.id, p.project_id, p.name)
INSERT INTO provider_calls (id, project_id, provider_id, provider_name, feature, evaluation_id, user_id, key_name, model, status, reserved_nanousd, started_at, lease_until)
SELECT @call, project_id, id, name, @feature, @evaluation, @user, @key_name, @model, 'running', @most, @now, @lease FROM reserved

-- name: count a list of models
-- It takes no place among the calls at once and no money.
UPDATE provider_states s SET next_call_at = CASE WHEN p.requests_per_minute IS NULL THEN NULL
	ELSE greatest(coalesce(s.next_call_at, @now), @now - interval '10 seconds') + interval '1 minute' / p.requests_per_minute END
FROM providers p
WHERE p.id = @provider AND s.provider_id = p.id
	AND (s.paused_until IS NULL OR s.paused_until <= @now)
	AND (p.requests_per_minute IS NULL OR s.next_call_at IS NULL OR s.next_call_at <= @now)

-- name: why not
SELECT s.paused_until, s.next_call_at, p.monthly_budget_nanousd, p.allow_unpriced,
	CASE WHEN s.month >= @month THEN s.spent_nanousd ELSE 0 END AS spent_nanousd, s.reserved_nanousd,
	@job::bigint IS NOT NULL AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = @job AND j.attempt = @attempt::integer AND j.state = 'running') AS replaced
FROM providers p JOIN provider_states s ON s.provider_id = p.id WHERE p.id = @provider

-- name: settle
WITH ended AS (
	UPDATE provider_calls SET status = @status, cost_nanousd = @cost, error_code = @error_code, finished_at = @now
	WHERE id = @call AND status = 'running'
	RETURNING provider_id, started_at, coalesce(reserved_nanousd, 0) AS reserved, coalesce(@cost::bigint, reserved_nanousd, 0) AS counted)
UPDATE provider_states s SET running = s.running - 1, reserved_nanousd = s.reserved_nanousd - e.reserved,
	spent_nanousd = CASE WHEN s.month >= @month THEN s.spent_nanousd ELSE 0 END + e.counted, month = greatest(s.month, @month),
	concurrency_limit = CASE
		WHEN @limited AND (s.limited_at IS NULL OR e.started_at > s.limited_at) THEN greatest(1, least(s.concurrency_limit, p.max_concurrency) * 4 / 5)
		WHEN @status = 'succeeded' AND s.successes + 1 >= s.concurrency_limit THEN least(s.concurrency_limit + 1, p.max_concurrency)
		ELSE s.concurrency_limit END,
	successes = CASE WHEN @limited OR (@status = 'succeeded' AND s.successes + 1 >= s.concurrency_limit) THEN 0
		WHEN @status = 'succeeded' THEN s.successes + 1 ELSE s.successes END,
	limited_at = CASE WHEN @limited THEN @now ELSE s.limited_at END,
	paused_until = CASE WHEN @pause::timestamptz IS NULL THEN s.paused_until ELSE greatest(s.paused_until, @pause) END
FROM ended e JOIN providers p ON p.id = e.provider_id, set_config('synchronous_commit', 'off', true) AS quick WHERE s.provider_id = e.provider_id

-- name: renew leases
UPDATE provider_calls SET lease_until = @lease WHERE id = ANY(@calls) AND status = 'running'

-- name: end lost calls
WITH lost AS (
	UPDATE provider_calls SET status = 'lost', error_code = 'lost', finished_at = @now
	WHERE status = 'running' AND (lease_until < @now OR evaluation_id = @evaluation)
	RETURNING provider_id, coalesce(reserved_nanousd, 0) AS reserved),
sums AS (SELECT provider_id, count(*) AS calls, sum(reserved) AS reserved FROM lost GROUP BY provider_id)
UPDATE provider_states s SET running = s.running - l.calls, reserved_nanousd = s.reserved_nanousd - l.reserved,
	spent_nanousd = CASE WHEN s.month >= @month THEN s.spent_nanousd ELSE 0 END + l.reserved, month = greatest(s.month, @month)
FROM sums l WHERE s.provider_id = l.provider_id

-- name: sum evaluations
SELECT count(*) AS calls, count(*) FILTER (WHERE status = 'running') AS running, coalesce(sum(cost_nanousd), 0)::bigint AS cost,
	count(*) FILTER (WHERE cost_nanousd IS NULL AND reserved_nanousd IS NOT NULL) AS bounded_calls,
	coalesce(sum(reserved_nanousd) FILTER (WHERE cost_nanousd IS NULL), 0)::bigint AS bounded,
	count(*) FILTER (WHERE cost_nanousd IS NULL AND reserved_nanousd IS NULL) AS unpriced
FROM provider_calls WHERE evaluation_id = ANY(@evaluations)

-- name: when limited
SELECT max(limited_at) AS limited_at, max(paused_until) AS paused_until FROM provider_states WHERE provider_id = ANY(@providers)

-- name: sum spending
SELECT coalesce(CASE @group
		WHEN 'provider' THEN c.provider_id::text
		WHEN 'feature' THEN c.feature
		WHEN 'caller' THEN coalesce(c.user_id::text, c.key_name)
		WHEN 'model' THEN c.model
		WHEN 'day' THEN to_char(c.started_at, 'YYYY-MM-DD') END, '') AS key,
	max(CASE @group WHEN 'provider' THEN coalesce(p.name, c.provider_name) WHEN 'caller' THEN coalesce(u.email, c.key_name) END) AS label,
	count(*) AS calls, count(*) FILTER (WHERE c.status IN ('failed', 'lost')) AS failed, count(*) FILTER (WHERE c.status = 'running') AS running,
	coalesce(sum(c.cost_nanousd), 0)::bigint AS cost,
	coalesce(sum(c.reserved_nanousd) FILTER (WHERE c.status <> 'running' AND c.cost_nanousd IS NULL), 0)::bigint AS bounded,
	count(*) FILTER (WHERE c.status <> 'running' AND c.cost_nanousd IS NULL AND c.reserved_nanousd IS NOT NULL) AS bounded_calls,
	count(*) FILTER (WHERE c.status <> 'running' AND c.cost_nanousd IS NULL AND c.reserved_nanousd IS NULL) AS unpriced,
	coalesce(sum(c.reserved_nanousd) FILTER (WHERE c.status = 'running'), 0)::bigint AS reserved
FROM provider_calls c LEFT JOIN providers p ON p.id = c.provider_id LEFT JOIN users u ON u.id = c.user_id
WHERE c.project_id = @project AND c.started_at >= @start AND c.started_at < @end
GROUP BY 1
