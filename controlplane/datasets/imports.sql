-- name: lock uploads
SELECT pg_advisory_xact_lock(hashtextextended('uploads of ' || @project::uuid, 0))

-- name: count unfinished imports
SELECT count(*) AS imports, coalesce(sum(size_bytes), 0)::bigint AS bytes FROM imports WHERE project_id = @project AND status IN ('uploading', 'queued', 'running')

-- name: create import
INSERT INTO imports (id, project_id, dataset_id, status, file_name, format, encoding, delimiter, header, sheet, mode, on_error, dedupe,
	max_removed, base_revision, note, mapping, created_by, created_by_key, created_at, updated_at)
VALUES (@id, @project, @dataset, 'uploading', @file_name, @format, @encoding, @delimiter, @header, @sheet, @mode, @on_error, @dedupe,
	@max_removed, @base_revision, @note, @mapping, @author, @author_key, @now, @now)

-- name: add chunk
WITH grown AS (
	UPDATE imports SET size_bytes = size_bytes + length(@content::bytea), updated_at = @now WHERE id = @import AND status = 'uploading' RETURNING id)
INSERT INTO import_chunks (import_id, number, content) SELECT id, @number, @content FROM grown

-- name: queue import
UPDATE imports SET status = 'queued', format = @format, job_id = @job, updated_at = @now WHERE id = @import AND status = 'uploading'

-- name: drop upload
DELETE FROM imports WHERE id = @import AND status IN ('uploading', 'cancelled')

-- name: list imports
SELECT i.id, i.project_id, i.dataset_id, i.status, i.phase, i.file_name, i.format, i.encoding, i.delimiter, i.header, i.sheet, i.size_bytes,
	i.mode, i.on_error, i.dedupe, i.max_removed, i.base_revision, i.note, i.mapping, i.mapping_found, i.bytes_read, i.processed, i.rejected, i.errors_kept,
	i.total, i.added, i.updated, i.removed, i.unchanged, i.revision, i.error_code, i.error_detail, i.job_id, i.schema_hash, i.created_by,
	i.created_at, i.started_at, i.finished_at, u.email AS author_email, i.created_by_key AS author_key
FROM imports i LEFT JOIN users u ON u.id = i.created_by
WHERE i.dataset_id = @dataset
ORDER BY i.id DESC LIMIT @limit OFFSET @offset

-- name: get import
SELECT i.id, i.project_id, i.dataset_id, i.status, i.phase, i.file_name, i.format, i.encoding, i.delimiter, i.header, i.sheet, i.size_bytes,
	i.mode, i.on_error, i.dedupe, i.max_removed, i.base_revision, i.note, i.mapping, i.mapping_found, i.bytes_read, i.processed, i.rejected, i.errors_kept,
	i.total, i.added, i.updated, i.removed, i.unchanged, i.revision, i.error_code, i.error_detail, i.job_id, i.schema_hash, i.created_by,
	i.created_at, i.started_at, i.finished_at, u.email AS author_email, i.created_by_key AS author_key
FROM imports i LEFT JOIN users u ON u.id = i.created_by
WHERE i.id = @import AND (@any OR i.project_id = ANY(@projects))

-- name: list import errors
SELECT line, column_name, reason, value FROM import_errors WHERE import_id = @import ORDER BY line, number LIMIT @limit OFFSET @offset

-- name: cancel import
UPDATE imports SET status = 'cancelled', phase = NULL, finished_at = @now, updated_at = @now
WHERE id = @import AND project_id = ANY(@projects) AND status IN ('uploading', 'queued', 'running')

-- name: read chunk
SELECT content FROM import_chunks WHERE import_id = @import AND number = @number

-- name: begin import
UPDATE imports SET status = 'running', phase = coalesce(phase, 'reading'), attempt_id = @attempt, started_at = coalesce(started_at, @now), updated_at = @now
WHERE id = @import AND status IN ('queued', 'running') AND coalesce(job_id = @job, true)

-- name: start over
UPDATE imports SET phase = 'reading', bytes_read = 0, processed = 0, rejected = 0, errors_kept = 0, total = NULL, schema_hash = @schema_hash, updated_at = @now
WHERE id = @import AND attempt_id = @attempt AND status = 'running'

-- name: remove rows
DELETE FROM import_rows WHERE import_id = @import

-- name: remove errors
DELETE FROM import_errors WHERE import_id = @import

-- name: remove chunks
DELETE FROM import_chunks WHERE import_id = @import

-- name: lock ended import
SELECT id FROM imports WHERE id = @import AND status IN ('succeeded', 'failed', 'cancelled') FOR UPDATE

-- name: list lost imports
SELECT i.id, i.project_id, false AS ended FROM imports i LEFT JOIN river_job j ON j.id = i.job_id
WHERE i.status IN ('queued', 'running') AND i.updated_at < @before AND (j.id IS NULL OR j.state IN ('completed', 'cancelled', 'discarded'))

-- name: set job
UPDATE imports SET job_id = @job, updated_at = @now
WHERE id = @id AND status IN ('queued', 'running') AND job_id IS NOT DISTINCT FROM (
	SELECT i.job_id FROM imports i LEFT JOIN river_job j ON j.id = i.job_id
	WHERE i.id = @id AND (j.id IS NULL OR j.state IN ('completed', 'cancelled', 'discarded')))

-- name: open file
UPDATE imports SET mapping = @mapping, mapping_found = @mapping_found, encoding = @encoding, delimiter = @delimiter, header = @header, sheet = @sheet, updated_at = @now
WHERE id = @import AND attempt_id = @attempt AND status = 'running'

-- name: keep progress
UPDATE imports SET bytes_read = @bytes, processed = @processed, rejected = @rejected, errors_kept = @kept, total = @total, phase = @phase, updated_at = @now
WHERE id = @import AND attempt_id = @attempt AND status = 'running'

-- name: end import
UPDATE imports SET status = @status, phase = NULL, error_code = @code, error_detail = @detail, finished_at = @now, updated_at = @now
WHERE id = @import AND attempt_id = @attempt AND status = 'running'

-- name: list ended imports
SELECT id FROM imports i WHERE status IN ('succeeded', 'failed', 'cancelled') AND (
	EXISTS (SELECT FROM import_chunks c WHERE c.import_id = i.id) OR EXISTS (SELECT FROM import_rows r WHERE r.import_id = i.id))

-- name: drop broken uploads
DELETE FROM imports WHERE status = 'uploading' AND updated_at < @before

-- name: add import errors
INSERT INTO import_errors (import_id, number, line, column_name, reason, value)
SELECT @import, @kept + e.n, e.line, e.column_name, e.reason, e.value
FROM unnest(@lines::bigint[], @columns::text[], @reasons::text[], @values::text[]) WITH ORDINALITY AS e (line, column_name, reason, value, n)

-- name: avoid loops
SET LOCAL enable_nestloop = off

-- name: reject repeated keys
WITH repeated AS (
	SELECT number, first_value(line) OVER (PARTITION BY key ORDER BY number) AS first_line, row_number() OVER (PARTITION BY key ORDER BY number) AS n
	FROM import_rows WHERE import_id = @import AND key IS NOT NULL AND NOT rejected)
UPDATE import_rows r SET rejected = true FROM repeated d
WHERE r.import_id = @import AND r.number = d.number AND d.n > 1
RETURNING r.line, r.key, d.first_line

-- name: reject known keys
UPDATE import_rows r SET rejected = true FROM dataset_items e
WHERE r.import_id = @import AND NOT r.rejected AND e.dataset_id = @dataset AND e.removed_in IS NULL AND e.key = r.key
RETURNING r.line, r.key

-- name: create plan
CREATE TEMPORARY TABLE import_plan (
	number bigint PRIMARY KEY, item_id uuid, ordinal bigint, action text NOT NULL CHECK (action IN ('add', 'update', 'same'))) ON COMMIT DROP

-- name: analyze plan
ANALYZE import_plan

-- name: plan keys
INSERT INTO import_plan (number, item_id, ordinal, action)
SELECT r.number, e.item_id, e.ordinal, CASE WHEN e.item_hash = r.item_hash THEN 'same' ELSE 'update' END
FROM import_rows r JOIN dataset_items e ON e.dataset_id = @dataset AND e.removed_in IS NULL AND e.key = r.key
WHERE r.import_id = @import AND NOT r.rejected

-- name: plan known contents
INSERT INTO import_plan (number, item_id, ordinal, action)
SELECT r.number, e.item_id, e.ordinal, 'same'
FROM import_rows r JOIN (
	SELECT DISTINCT ON (content_hash) content_hash, item_id, ordinal FROM dataset_items
	WHERE dataset_id = @dataset AND removed_in IS NULL ORDER BY content_hash, ordinal) e USING (content_hash)
WHERE r.import_id = @import AND NOT r.rejected AND NOT EXISTS (SELECT FROM import_plan p WHERE p.number = r.number)

-- name: plan repeated contents
INSERT INTO import_plan (number, action)
SELECT number, 'same' FROM (
	SELECT r.number, row_number() OVER (PARTITION BY r.content_hash ORDER BY r.number) AS n FROM import_rows r
	WHERE r.import_id = @import AND NOT r.rejected AND NOT EXISTS (SELECT FROM import_plan p WHERE p.number = r.number)) AS rest
WHERE n > 1

-- name: plan items without keys
INSERT INTO import_plan (number, item_id, ordinal, action)
SELECT r.number, e.item_id, e.ordinal, CASE WHEN e.item_hash = r.item_hash THEN 'same' ELSE 'update' END
FROM (
	SELECT number, content_hash, item_hash, row_number() OVER (PARTITION BY content_hash ORDER BY number) AS n FROM import_rows r
	WHERE r.import_id = @import AND NOT r.rejected AND r.key IS NULL AND NOT EXISTS (SELECT FROM import_plan p WHERE p.number = r.number)) AS r
JOIN (
	SELECT item_id, ordinal, content_hash, item_hash, row_number() OVER (PARTITION BY content_hash ORDER BY ordinal) AS n FROM dataset_items e
	WHERE e.dataset_id = @dataset AND e.removed_in IS NULL AND e.key IS NULL AND NOT EXISTS (SELECT FROM import_plan p WHERE p.item_id = e.item_id)) AS e
USING (content_hash, n)

-- name: plan new items
INSERT INTO import_plan (number, item_id, ordinal, action)
SELECT r.number, uuidv7(), @last_ordinal::bigint + row_number() OVER (ORDER BY r.number), 'add' FROM import_rows r
WHERE r.import_id = @import AND NOT r.rejected AND NOT EXISTS (SELECT FROM import_plan p WHERE p.number = r.number)

-- name: count plan
SELECT count(*) FILTER (WHERE action = 'add') AS added, count(*) FILTER (WHERE action = 'update') AS updated,
	count(*) FILTER (WHERE action = 'same') AS unchanged
FROM import_plan

-- name: count not planned
SELECT count(*) AS items FROM dataset_items e
WHERE e.dataset_id = @dataset AND e.removed_in IS NULL AND NOT EXISTS (SELECT FROM import_plan p WHERE p.item_id = e.item_id)

-- name: remove not planned
UPDATE dataset_items e SET removed_in = @revision
WHERE e.dataset_id = @dataset AND e.removed_in IS NULL AND NOT EXISTS (SELECT FROM import_plan p WHERE p.item_id = e.item_id)

-- name: remove updated
UPDATE dataset_items e SET removed_in = @revision FROM import_plan p
WHERE e.dataset_id = @dataset AND e.removed_in IS NULL AND p.action = 'update' AND e.ordinal = p.ordinal

-- name: add planned
INSERT INTO dataset_items (dataset_id, ordinal, added_in, item_id, key, input, reference_output, metadata, split, tags,
	source_run_id, source_span_id, content_hash, item_hash, created_at)
SELECT @dataset, p.ordinal, @revision, p.item_id, r.key, r.input, r.reference_output, r.metadata, r.split, r.tags,
	r.source_run_id, r.source_span_id, r.content_hash, r.item_hash, @now
FROM import_plan p JOIN import_rows r ON r.import_id = @import AND r.number = p.number
WHERE p.action IN ('add', 'update') ORDER BY p.ordinal

-- name: succeed
UPDATE imports SET status = 'succeeded', phase = NULL, added = @added, updated = @updated, removed = @removed, unchanged = @unchanged,
	rejected = @rejected, errors_kept = @kept, revision = @revision, finished_at = @now, updated_at = @now
WHERE id = @import AND attempt_id = @attempt AND status = 'running'
