-- name: list datasets
SELECT d.id, d.project_id, d.name, d.description, d.input_schema, d.reference_output_schema, d.revision, d.item_count,
	d.created_at, d.updated_at, u.email AS author_email, d.created_by_key AS author_key
FROM datasets d LEFT JOIN users u ON u.id = d.created_by
WHERE d.project_id = ANY(@projects) AND (@name = '' OR d.name = @name)
	AND (@search = '' OR d.name ILIKE @search OR d.description ILIKE @search)
	AND (@source_run::uuid IS NULL OR EXISTS (
		SELECT FROM dataset_items i WHERE i.dataset_id = d.id AND i.source_run_id = @source_run AND i.removed_in IS NULL))
ORDER BY lower(d.name), d.id LIMIT @limit OFFSET @offset

-- name: get dataset
SELECT d.id, d.project_id, d.name, d.description, d.input_schema, d.reference_output_schema, d.revision, d.item_count,
	d.created_at, d.updated_at, u.email AS author_email, d.created_by_key AS author_key
FROM datasets d LEFT JOIN users u ON u.id = d.created_by
WHERE d.project_id = ANY(@projects) AND d.id = @dataset

-- name: create dataset
INSERT INTO datasets (id, project_id, name, description, input_schema, reference_output_schema, created_by, created_by_key, created_at, updated_at)
VALUES (@id, @project, @name, coalesce(@description, ''), @input_schema, @reference_output_schema, @author, @author_key, @now, @now)

-- name: update dataset
UPDATE datasets SET name = coalesce(@name, name), description = coalesce(@description, description),
	input_schema = CASE WHEN @has_input_schema THEN @input_schema ELSE input_schema END,
	reference_output_schema = CASE WHEN @has_reference_output_schema THEN @reference_output_schema ELSE reference_output_schema END,
	updated_at = @now
WHERE project_id = ANY(@projects) AND id = @dataset

-- name: delete dataset
DELETE FROM datasets WHERE project_id = ANY(@projects) AND id = @dataset

-- name: limit locks
SET LOCAL lock_timeout = '3s'

-- name: lock dataset
UPDATE datasets SET updated_at = @now WHERE project_id = ANY(@projects) AND id = @dataset
RETURNING revision, item_count, last_ordinal, input_schema, reference_output_schema

-- name: list items
SELECT item_id, ordinal, key, input, reference_output, metadata, split, tags, source_run_id, source_span_id, content_hash, added_in, created_at
FROM dataset_items
WHERE dataset_id = @dataset AND ordinal > @after AND added_in <= @revision AND (removed_in IS NULL OR removed_in > @revision)
	AND (@split = '' OR split = @split) AND (@tag = '' OR @tag = ANY(tags))
	AND (@search = '' OR key ILIKE @search OR input ILIKE @search OR reference_output ILIKE @search)
	AND (@source_run::uuid IS NULL OR source_run_id = @source_run)
ORDER BY ordinal LIMIT @limit OFFSET @offset

-- name: list items after
SELECT item_id, ordinal, key, input, reference_output, metadata, split, tags, source_run_id, source_span_id, content_hash, added_in, created_at
FROM dataset_items
WHERE dataset_id = @dataset AND ordinal > @after AND removed_in IS NULL
ORDER BY ordinal LIMIT @limit

-- name: get item
SELECT item_id, ordinal, key, input, reference_output, metadata, split, tags, source_run_id, source_span_id, content_hash, added_in, created_at
FROM dataset_items
WHERE dataset_id = @dataset AND item_id = @item AND added_in <= @revision AND (removed_in IS NULL OR removed_in > @revision)

-- name: get items
SELECT item_id, ordinal, key, input, reference_output, metadata, split, tags, source_run_id, source_span_id, content_hash, added_in, created_at
FROM dataset_items
WHERE dataset_id = @dataset AND item_id = ANY(@items) AND added_in <= @revision AND (removed_in IS NULL OR removed_in > @revision)

-- name: get items at
SELECT item_id, ordinal, key, input, reference_output, metadata, split, tags, source_run_id, source_span_id, content_hash, added_in, created_at
FROM dataset_items
WHERE dataset_id = @dataset AND ordinal = ANY(@ordinals) AND added_in <= @revision AND (removed_in IS NULL OR removed_in > @revision)
ORDER BY ordinal

-- name: count contents
SELECT count(*) AS items FROM dataset_items i JOIN unnest(@ordinals::bigint[], @hashes::bytea[]) AS c (ordinal, hash) ON i.ordinal = c.ordinal AND i.content_hash = c.hash
WHERE i.dataset_id = @dataset AND i.added_in <= @revision AND (i.removed_in IS NULL OR i.removed_in > @revision)

-- name: find items
SELECT item_id, ordinal, key, content_hash, item_hash
FROM dataset_items
WHERE dataset_id = @dataset AND removed_in IS NULL AND key = ANY(@keys)
UNION ALL
SELECT item_id, ordinal, key, content_hash, item_hash
FROM dataset_items
WHERE dataset_id = @dataset AND removed_in IS NULL AND content_hash = ANY(@hashes) AND (key IS NULL OR NOT key = ANY(@keys))
ORDER BY ordinal

-- name: find items of runs
SELECT item_id, ordinal, key, content_hash, item_hash, source_run_id
FROM dataset_items
WHERE dataset_id = @dataset AND removed_in IS NULL AND source_run_id = ANY(@runs::uuid[]) AND source_span_id IS NULL
ORDER BY ordinal

-- name: count others
SELECT count(*) AS items FROM dataset_items WHERE dataset_id = @dataset AND removed_in IS NULL AND NOT item_id = ANY(@kept)

-- name: remove others
UPDATE dataset_items SET removed_in = @revision WHERE dataset_id = @dataset AND removed_in IS NULL AND NOT item_id = ANY(@kept)

-- name: remove items
UPDATE dataset_items SET removed_in = @revision WHERE dataset_id = @dataset AND removed_in IS NULL AND ordinal = ANY(@replaced)

-- name: add items
INSERT INTO dataset_items (dataset_id, ordinal, added_in, item_id, key, input, reference_output, metadata, split, tags,
	source_run_id, source_span_id, content_hash, item_hash, created_at)
SELECT @dataset, n.ordinal, @revision, n.id, n.key, n.input, n.reference, n.metadata, n.split,
	ARRAY(SELECT json_array_elements_text(n.tags::json)), n.run, n.span, n.content, n.item, @now
FROM unnest(@ordinals::bigint[], @ids::uuid[], @keys::text[], @inputs::text[], @references::text[], @metadata::text[], @splits::text[], @tags::text[],
	@runs::uuid[], @spans::text[], @contents::bytea[], @items::bytea[])
	AS n (ordinal, id, key, input, reference, metadata, split, tags, run, span, content, item)

-- name: add revision
INSERT INTO dataset_revisions (dataset_id, revision, kind, added, updated, removed, item_count, note, created_by, created_by_key, created_at)
VALUES (@dataset, @revision, @kind, @added, @updated, @removed, @item_count, @note, @author, @author_key, @now)

-- name: set revision
UPDATE datasets SET revision = @revision, item_count = @item_count, last_ordinal = @last_ordinal WHERE id = @dataset

-- name: list revisions
SELECT r.revision, r.kind, r.added, r.updated, r.removed, r.item_count, r.note, r.created_at, u.email AS author_email, r.created_by_key AS author_key
FROM dataset_revisions r LEFT JOIN users u ON u.id = r.created_by
WHERE r.dataset_id = @dataset
ORDER BY r.revision DESC LIMIT @limit OFFSET @offset

-- name: count what was written between revisions
SELECT coalesce(sum(added + updated + removed), 0)::bigint AS items FROM dataset_revisions WHERE dataset_id = @dataset AND revision > @low AND revision <= @high

-- name: count changes
WITH touched AS (
	SELECT DISTINCT item_id FROM dataset_items WHERE dataset_id = @dataset AND added_in > @low AND added_in <= @high
	UNION
	SELECT item_id FROM dataset_items WHERE dataset_id = @dataset AND removed_in > @low AND removed_in <= @high),
changed AS (
	SELECT a.item_hash AS before, b.item_hash AS after
	FROM touched t
		LEFT JOIN dataset_items a ON a.dataset_id = @dataset AND a.item_id = t.item_id AND a.added_in <= @from AND (a.removed_in IS NULL OR a.removed_in > @from)
		LEFT JOIN dataset_items b ON b.dataset_id = @dataset AND b.item_id = t.item_id AND b.added_in <= @to AND (b.removed_in IS NULL OR b.removed_in > @to))
SELECT count(*) FILTER (WHERE before IS NULL AND after IS NOT NULL) AS added, count(*) FILTER (WHERE before IS NOT NULL AND after IS NULL) AS removed,
	count(*) FILTER (WHERE before <> after) AS changed
FROM changed

-- name: list changes
WITH touched AS (
	SELECT DISTINCT item_id, ordinal FROM dataset_items WHERE dataset_id = @dataset AND added_in > @low AND added_in <= @high
	UNION
	SELECT item_id, ordinal FROM dataset_items WHERE dataset_id = @dataset AND removed_in > @low AND removed_in <= @high)
SELECT t.item_id
FROM touched t
	LEFT JOIN dataset_items a ON a.dataset_id = @dataset AND a.item_id = t.item_id AND a.added_in <= @from AND (a.removed_in IS NULL OR a.removed_in > @from)
	LEFT JOIN dataset_items b ON b.dataset_id = @dataset AND b.item_id = t.item_id AND b.added_in <= @to AND (b.removed_in IS NULL OR b.removed_in > @to)
WHERE a.item_hash IS DISTINCT FROM b.item_hash
ORDER BY t.ordinal LIMIT @limit OFFSET @offset
