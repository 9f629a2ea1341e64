-- name: see worker
INSERT INTO job_workers (id, seen_at) VALUES (@id, now()) ON CONFLICT (id) DO UPDATE SET seen_at = now()

-- name: remove worker
DELETE FROM job_workers WHERE id = @id

-- name: rescue jobs
WITH gone AS (
	DELETE FROM job_workers WHERE seen_at < now() - @gone::interval)
UPDATE river_job SET state = 'available', scheduled_at = now()
WHERE state = 'running' AND NOT EXISTS (
	SELECT FROM job_workers w WHERE w.id = attempted_by[array_length(attempted_by, 1)] AND w.seen_at >= now() - @gone::interval)
