-- name: read states
SELECT s.fingerprint, s.state, s.note, s.until, s.more_runs, s.changed_at, s.revision, u.email AS author_email, s.changed_by_key AS author_key
FROM failure_states s LEFT JOIN users u ON u.id = s.changed_by
WHERE s.project_id = @project AND s.fingerprint = ANY (@fingerprints)

-- name: set state
-- Returns no row if the group has another revision than @base, which is null for any.
WITH s AS (
	INSERT INTO failure_states (project_id, fingerprint, state, note, until, more_runs, changed_by, changed_by_key, changed_at, revision)
	SELECT @project, @fingerprint, @state, @note, @until, @more_runs, @author, @author_key, @now, 1
	WHERE coalesce(@base::integer, 0) = 0 OR EXISTS (SELECT FROM failure_states WHERE project_id = @project AND fingerprint = @fingerprint)
	ON CONFLICT (project_id, fingerprint) DO UPDATE SET
		state = excluded.state, note = excluded.note, until = excluded.until, more_runs = excluded.more_runs,
		changed_by = excluded.changed_by, changed_by_key = excluded.changed_by_key, changed_at = excluded.changed_at,
		revision = failure_states.revision + 1
	WHERE @base::integer IS NULL OR failure_states.revision = @base
	RETURNING *)
SELECT s.fingerprint, s.state, s.note, s.until, s.more_runs, s.changed_at, s.revision, u.email AS author_email, s.changed_by_key AS author_key
FROM s LEFT JOIN users u ON u.id = s.changed_by
