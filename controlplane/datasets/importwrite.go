package datasets

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/work"
)

// errSchemaChanged asks to check the rows against the new schemas.
var errSchemaChanged = errors.New("the schemas of the dataset changed")

// rejectedKeys are rows that are rejected for their keys.
type rejectedKeys struct {
	count  int64
	errors []ImportError
}

// write writes the rows that were read as one revision, as [Service.Write] would.
func (a *attempt) write(ctx context.Context) error {
	mapping, err := a.imp.mapping()
	if err != nil {
		return err
	}
	var rejected rejectedKeys
	err = a.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		w := &importWrite{attempt: a, tx: tx, keyColumn: mapping.Key, args: a.args(a.imp.ID), rejected: &rejected}
		w.args["dataset"], w.args["projects"] = a.imp.DatasetID, []uuid.UUID{a.imp.ProjectID}
		return w.write(ctx)
	})
	var failed *failure
	if errors.As(err, &failed) && rejected.count > 0 {
		return a.endRejected(ctx, failed, rejected)
	}
	return err
}

// endRejected ends an import that is rejected for its keys, together with their errors: another attempt would find them again.
func (a *attempt) endRejected(ctx context.Context, failed *failure, rejected rejectedKeys) error {
	return a.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		args := a.args(a.imp.ID)
		args["bytes"], args["processed"], args["total"], args["phase"] = a.imp.SizeBytes, a.imp.Processed, a.imp.Processed, phaseWriting
		args["rejected"], args["kept"] = a.imp.Rejected+rejected.count, a.imp.ErrorsKept+int64(len(rejected.errors))
		args["status"], args["code"], args["detail"] = StatusFailed, failed.code, failed.detail
		if err := a.addErrors(ctx, tx, rejected.errors); err != nil {
			return err
		}
		for _, name := range []string{"keep progress", "end import"} {
			changed, err := tx.Exec(ctx, a.db.Statement(name), args)
			if err == nil && changed.RowsAffected() == 0 {
				err = work.ErrFenced
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
}

// importWrite writes the revision of an import in one transaction.
type importWrite struct {
	*attempt
	tx        pgx.Tx
	keyColumn *string
	args      pgx.NamedArgs
	rejected  *rejectedKeys
}

func (w *importWrite) exec(ctx context.Context, names ...string) error {
	for _, name := range names {
		if _, err := w.tx.Exec(ctx, w.db.Statement(name), w.args); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// one reads a single row.
func one[T any](ctx context.Context, w *importWrite, name string) (T, error) {
	rows, _ := w.tx.Query(ctx, w.db.Statement(name), w.args) // CollectExactlyOneRow returns its error
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
	if err != nil {
		return found, fmt.Errorf("%s: %w", name, err)
	}
	return found, nil
}

func (w *importWrite) write(ctx context.Context) error {
	found, err := one[locked](ctx, w, "lock dataset")
	if err != nil {
		return err
	}
	if string(schemaHash(found.InputSchema, found.ReferenceOutputSchema)) != string(w.imp.SchemaHash) {
		return errSchemaChanged
	}
	if err := found.checkBase(w.imp.BaseRevision); err != nil {
		return conflict(err)
	}
	// The statistics of PostgreSQL do not know rows that came just now: it expects one, and a loop over all pairs of rows never ends.
	if err := w.exec(ctx, "avoid loops"); err != nil {
		return err
	}
	if err := w.rejectKeys(ctx); err != nil {
		return err
	}
	if n := w.imp.Rejected + w.rejected.count; n > 0 && w.imp.OnError == "reject" {
		return &failure{"rows_rejected", fmt.Sprintf("%d of %d rows are rejected. Nothing was imported. Fix them, or import with on_error=skip.", n, w.imp.Processed)}
	}
	written, err := w.plan(ctx, found)
	if err != nil {
		return err
	}
	if err := w.limits.checkItems(found.ItemCount, found.ItemCount+written.Added-written.Removed); err != nil {
		return conflict(err)
	}
	if written.Added+written.Updated+written.Removed > 0 {
		if err := w.writeRevision(ctx, found, &written); err != nil {
			return err
		}
	}
	return w.succeed(ctx, written)
}

// rejectKeys rejects rows whose key an earlier row has, and with append those whose key the dataset has.
func (w *importWrite) rejectKeys(ctx context.Context) error {
	var (
		line, first int64
		key         string
	)
	reject := func(reason string) {
		if w.rejected.count++; int64(len(w.rejected.errors))+w.imp.ErrorsKept < MaxImportErrors {
			w.rejected.errors = append(w.rejected.errors, ImportError{Line: line, ColumnName: w.keyColumn, Reason: reason, Value: new(key)})
		}
	}
	rows, _ := w.tx.Query(ctx, w.db.Statement("reject repeated keys"), w.args) // ForEachRow returns its error
	if _, err := pgx.ForEachRow(rows, []any{&line, &key, &first}, func() error {
		reject(fmt.Sprintf("key is also that of line %d", first))
		return nil
	}); err != nil {
		return fmt.Errorf("reject repeated keys: %w", err)
	}
	if Mode(w.imp.Mode) != ModeAppend {
		return nil
	}
	rows, _ = w.tx.Query(ctx, w.db.Statement("reject known keys"), w.args)
	if _, err := pgx.ForEachRow(rows, []any{&line, &key}, func() error {
		reject("key is in the dataset already; use the mode upsert to update the item")
		return nil
	}); err != nil {
		return fmt.Errorf("reject known keys: %w", err)
	}
	return nil
}

// planned is what becomes of the rows.
type planned struct {
	Added, Updated, Unchanged int64
	Removed                   int64 `db:"-"`
	// Revision is nil if nothing changes.
	Revision *int `db:"-"`
}

// plan decides what becomes of each row, as [plan] does.
func (w *importWrite) plan(ctx context.Context, found locked) (planned, error) {
	w.args["last_ordinal"] = found.LastOrdinal
	steps := []string{"create plan", "plan keys", "analyze plan"}
	if w.imp.Dedupe {
		steps = append(steps, "plan known contents", "analyze plan", "plan repeated contents", "analyze plan")
	}
	if Mode(w.imp.Mode) == ModeReplace {
		steps = append(steps, "plan items without keys", "analyze plan")
	}
	if err := w.exec(ctx, append(steps, "plan new items", "analyze plan")...); err != nil {
		return planned{}, err
	}
	counts, err := one[planned](ctx, w, "count plan")
	if err != nil || Mode(w.imp.Mode) != ModeReplace {
		return counts, err
	}
	removed, err := one[struct{ Items int64 }](ctx, w, "count not planned")
	if err != nil {
		return counts, err
	}
	counts.Removed = removed.Items
	if most := w.imp.MaxRemoved; most != nil && counts.Removed > *most {
		return counts, &failure{"too_many_removed", fmt.Sprintf("The import would remove %d items, more than max_removed (%d). Nothing was changed.", counts.Removed, *most)}
	}
	return counts, nil
}

// writeRevision writes the items and the revision.
func (w *importWrite) writeRevision(ctx context.Context, found locked, written *planned) error {
	revision := found.Revision + 1
	written.Revision = &revision
	w.args["revision"], w.args["kind"], w.args["note"] = revision, "import", w.imp.Note
	w.args["added"], w.args["updated"], w.args["removed"] = written.Added, written.Updated, written.Removed
	w.args["item_count"], w.args["last_ordinal"] = found.ItemCount+written.Added-written.Removed, found.LastOrdinal+written.Added
	w.args["author"], w.args["author_key"] = w.imp.CreatedBy, w.imp.AuthorKey
	if Mode(w.imp.Mode) == ModeReplace {
		if err := w.exec(ctx, "remove not planned"); err != nil {
			return err
		}
	}
	return w.exec(ctx, "remove updated", "add planned", "add revision", "set revision")
}

// succeed ends the import in the same transaction, so that it is done once.
func (w *importWrite) succeed(ctx context.Context, written planned) error {
	kept := w.imp.ErrorsKept + int64(len(w.rejected.errors))
	if err := w.addErrors(ctx, w.tx, w.rejected.errors); err != nil {
		return err
	}
	w.args["added"], w.args["updated"], w.args["removed"], w.args["unchanged"] = written.Added, written.Updated, written.Removed, written.Unchanged
	w.args["rejected"], w.args["kept"], w.args["revision"] = w.imp.Rejected+w.rejected.count, kept, written.Revision
	changed, err := w.tx.Exec(ctx, w.db.Statement("succeed"), w.args)
	if err != nil {
		return fmt.Errorf("end the import: %w", err)
	}
	if changed.RowsAffected() == 0 {
		return work.ErrFenced
	}
	return nil
}
