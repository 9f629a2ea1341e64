-- name: list findings
SELECT f.id, f.project_id, f.fingerprint, f.kind, f.title, f.key, f.edits, f.batch_id, f.outcome, f.verdict, f.status, f.note,
	f.prompt_id, f.prompt_version, f.dataset_id, f.dataset_revision, f.created_at, f.changed_at, f.revision,
	u.email AS author_email, f.created_by_key AS author_key, c.email AS changer_email, f.changed_by_key AS changer_key
FROM findings f LEFT JOIN users u ON u.id = f.created_by LEFT JOIN users c ON c.id = f.changed_by
WHERE f.project_id = ANY(@projects) AND (@id::uuid IS NULL OR f.id = @id) AND (@fingerprints::text[] IS NULL OR f.fingerprint = ANY(@fingerprints))
	AND (@batch::uuid IS NULL OR f.batch_id = @batch) AND (@status = '' OR f.status = @status)
ORDER BY array_position(ARRAY['confirmed', 'open', 'refuted'], f.status), f.created_at DESC, f.id DESC LIMIT @limit OFFSET @offset

-- name: create finding
INSERT INTO findings (id, project_id, fingerprint, kind, title, key, edits, batch_id, outcome, status, note,
	created_by, created_by_key, created_at, changed_by, changed_by_key, changed_at, revision)
VALUES (@id, @project, @fingerprint, @kind, @title, @key, @edits, @batch, @outcome, @status, @note,
	@author, @author_key, @now, @author, @author_key, @now, 1)

-- name: update finding
-- Changes no row if the finding has another revision than @base, which is null for any.
UPDATE findings SET status = coalesce(@status, status), note = CASE WHEN @has_note THEN @note ELSE note END,
	batch_id = coalesce(@batch, batch_id), outcome = CASE WHEN @batch::uuid IS NULL THEN outcome ELSE @outcome END,
	verdict = CASE WHEN @batch::uuid IS NULL THEN verdict END, edits = CASE WHEN edits = '[]' THEN coalesce(@edits, edits) ELSE edits END,
	changed_by = @author, changed_by_key = @author_key, changed_at = @now, revision = revision + 1
WHERE project_id = ANY(@projects) AND id = @id AND (@base::integer IS NULL OR revision = @base)

-- name: delete finding
DELETE FROM findings WHERE project_id = ANY(@projects) AND id = @id

-- name: keep verdict
UPDATE findings SET verdict = @verdict WHERE project_id = ANY(@projects) AND batch_id = @batch

-- name: set promoted prompt
UPDATE findings SET prompt_id = @prompt, prompt_version = @version, changed_by = @author, changed_by_key = @author_key, changed_at = @now, revision = revision + 1
WHERE id = @id

-- name: set promoted dataset
UPDATE findings SET dataset_id = @dataset, dataset_revision = @revision, changed_by = @author, changed_by_key = @author_key, changed_at = @now, revision = revision + 1
WHERE id = @id
