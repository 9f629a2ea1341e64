package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/mapping"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/reading"
	"github.com/looptrace/looptrace/controlplane/work"
)

// A batch of rows is stored with the progress of the import in one transaction.
const (
	batchRows  = 2000
	batchBytes = 4 << 20
)

// importRow is a row of a file as an item.
type importRow struct {
	row
	number, line int64
}

// batch is what was read since the batch before.
type batch struct {
	rows   []importRow
	errors []ImportError
	bytes  int
	// The counts from the beginning of the file.
	offset, processed, rejected int64
	// atEnd is whether it is the last one.
	atEnd bool
}

// reader reads the rows of a file.
type reader struct {
	file    *reading.File
	mapping mapping.Mapping
	schemas schemas
	// strict is whether one rejected row is enough to reject the file.
	strict bool
	// taken are the columns that the mapping takes, if it was found in the first rows. Nil if it was given: it may leave columns out.
	taken               map[string]bool
	processed, rejected int64
	// bytes are those of the rows that were read.
	bytes  int64
	limits Limits
}

// read reads the file from where the attempt before stopped. One batch is stored while the next one is read.
func (a *attempt) read(ctx context.Context, schemas schemas) (err error) {
	file, given, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := a.opened(ctx, file.Layout(), given); err != nil {
		return err
	}
	r := &reader{file: file, mapping: given, schemas: schemas, strict: a.imp.OnError == "reject", limits: a.limits}
	if a.imp.MappingFound && given.Shape == mapping.Columns {
		r.taken = takenBy(given)
	}
	begun := time.Now()
	if err := r.skip(ctx, a.imp.Processed); err != nil {
		return unreadable(err)
	}
	ready := time.Now()
	r.rejected = a.imp.Rejected
	group, ctx := errgroup.WithContext(ctx)
	batches := make(chan batch)
	group.Go(func() error {
		defer close(batches)
		for {
			b, err := r.batch(ctx)
			if err != nil {
				return unreadable(err)
			}
			select {
			case batches <- b:
			case <-ctx.Done():
				return ctx.Err() //nolint:wrapcheck // the cause is that of the other goroutine
			}
			if b.atEnd {
				return nil
			}
		}
	})
	group.Go(func() error {
		for b := range batches {
			if err := a.store(ctx, b); err != nil {
				return err
			}
			// What comes after a turn finds its place in the file again, so that a turn is worth it.
			if !b.atEnd && work.IsPreempted(ctx) && time.Since(ready) > ready.Sub(begun) {
				return work.ErrPreempted
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return err //nolint:wrapcheck // the functions above do
	}
	if r.tooMany() {
		return &failure{"rows_rejected", fmt.Sprintf("Reading stopped after %d rejected rows. Nothing was imported.", r.rejected)}
	}
	if r.processed == 0 {
		return &failure{"no_rows", "The file has no rows."}
	}
	return nil
}

// opened stores how the file is read, so that a later attempt reads it the same way.
func (a *attempt) opened(ctx context.Context, layout datasetfile.Layout, used mapping.Mapping) error {
	text, err := json.Marshal(used)
	if err != nil {
		return fmt.Errorf("encode the mapping: %w", err)
	}
	a.imp.Mapping, a.imp.Encoding, a.imp.Delimiter = new(string(text)), optional(layout.Encoding), optional(layout.Delimiter)
	a.imp.Header, a.imp.Sheet = layout.Header, optional(layout.Sheet)
	return a.exec(ctx, a.db, "open file", pgx.NamedArgs{
		"mapping": a.imp.Mapping, "mapping_found": a.imp.MappingFound, "encoding": a.imp.Encoding, "delimiter": a.imp.Delimiter, "header": a.imp.Header, "sheet": a.imp.Sheet,
	})
}

// skip skips the rows that are stored.
func (r *reader) skip(ctx context.Context, rows int64) error {
	for ; r.processed < rows; r.processed++ {
		var bad *datasetfile.RowError
		next, err := r.file.Next()
		if err != nil && !errors.As(err, &bad) {
			return fmt.Errorf("find row %d again: %w", r.processed+1, err)
		}
		r.count(next)
		if err := ctx.Err(); err != nil {
			return err //nolint:wrapcheck // the job ends
		}
	}
	return nil
}

// count counts the bytes of a row.
func (r *reader) count(next datasetfile.Row) {
	for _, cell := range next.Cells {
		r.bytes += int64(len(cell.Value))
	}
}

// tooMany is whether it is no use to read on.
func (r *reader) tooMany() bool { return r.strict && r.rejected >= MaxImportErrors }

// batch reads the next rows.
func (r *reader) batch(ctx context.Context) (batch, error) {
	var b batch
	for len(b.rows)+len(b.errors) < batchRows && b.bytes < batchBytes && !b.atEnd {
		next, err := r.file.Next()
		var bad *datasetfile.RowError
		switch {
		case err == io.EOF: //nolint:errorlint // Next returns it as it is
			b.atEnd = true
			continue
		case errors.As(err, &bad):
			r.processed++
			r.reject(&b, bad.Line, bad.Fields)
		case err != nil:
			return batch{}, err //nolint:wrapcheck // unreadable tells what it is
		default:
			r.processed++
			r.count(next)
			r.add(ctx, &b, next)
		}
		if err := r.limits.checkFile(r.processed, r.bytes); err != nil {
			return batch{}, err
		}
		b.atEnd = r.tooMany() || ctx.Err() != nil
	}
	if err := ctx.Err(); err != nil { // rows whose check it ended are not rejected
		return batch{}, err //nolint:wrapcheck // the job ends
	}
	b.offset, b.processed, b.rejected = r.file.Offset(), r.processed, r.rejected
	return b, nil
}

// add adds a row to the batch, or the reasons why it makes no item.
func (r *reader) add(ctx context.Context, b *batch, next datasetfile.Row) {
	item, wrong := r.mapping.Item(next)
	if r.taken != nil {
		wrong = append(wrong, r.unknown(next)...)
	}
	made := importRow{number: r.processed, line: next.Line}
	if len(wrong) == 0 {
		made.NewItem, wrong = newItem(item)
	}
	if len(wrong) == 0 {
		for _, field := range made.fill(ctx, r.schemas) {
			wrong = append(wrong, datasetfile.FieldError{Column: columnOf(r.mapping, field.Location), Reason: field.Location + " " + field.Message})
		}
	}
	if len(wrong) > 0 {
		r.reject(b, next.Line, wrong)
		return
	}
	b.bytes += len(made.Input) + len(made.ReferenceOutput) + len(made.Metadata)
	b.rows = append(b.rows, made)
}

// unknown refuses members that none of the first rows has, which the mapping would leave out in silence.
func (r *reader) unknown(next datasetfile.Row) (wrong []datasetfile.FieldError) {
	for _, cell := range next.Cells {
		if !r.taken[cell.Column] {
			wrong = append(wrong, datasetfile.FieldError{
				Column: cell.Column, Reason: "is in none of the first rows, in which the mapping was found; import with a mapping that takes it or leaves it out",
			})
		}
	}
	return wrong
}

// takenBy returns the columns that a mapping takes.
func takenBy(m mapping.Mapping) map[string]bool {
	taken := map[string]bool{}
	for _, name := range slices.Concat(m.Input.Names(), m.ReferenceOutput.Names(), m.Metadata.Names(), []string{text(m.Key), text(m.Split), text(m.Tags)}) {
		taken[name] = true
	}
	return taken
}

func (r *reader) reject(b *batch, line int64, wrong []datasetfile.FieldError) {
	r.rejected++
	for _, field := range wrong {
		b.errors = append(b.errors, ImportError{Line: line, ColumnName: optional(field.Column), Reason: field.Reason, Value: optional(field.Value)})
	}
}

// columnOf returns the column of a member of an item, such as input or tags[0]. It is empty if there are several, or none is named.
func columnOf(m mapping.Mapping, member string) string {
	member, _, _ = strings.Cut(member, "[")
	single := func(t mapping.Target) string {
		if names := t.Names(); len(names) == 1 {
			return names[0]
		}
		return ""
	}
	switch member {
	case "input":
		return single(m.Input)
	case "reference_output":
		return single(m.ReferenceOutput)
	case "metadata":
		return single(m.Metadata)
	case "key":
		return text(m.Key)
	case "split":
		return text(m.Split)
	case "tags":
		return text(m.Tags)
	}
	return ""
}

// newItem converts an item. Ids that are none are errors.
func newItem(item mapping.Item) (NewItem, []datasetfile.FieldError) {
	made := NewItem{
		Key: item.Key, Input: item.Input, ReferenceOutput: item.ReferenceOutput, Metadata: item.Metadata, Split: item.Split, Tags: item.Tags,
		SourceSpanID: item.SourceSpanID,
	}
	if item.SourceRunID != nil {
		run, err := uuid.Parse(*item.SourceRunID)
		if err != nil {
			return NewItem{}, []datasetfile.FieldError{{Column: "source_run_id", Reason: "is not the id of a run", Value: *item.SourceRunID}}
		}
		made.SourceRunID = &run
	}
	return made, nil
}

// importColumns are the columns of import_rows that are copied.
var importColumns = []string{
	"import_id", "number", "line", "key", "input", "reference_output", "metadata", "split", "tags", "source_run_id", "source_span_id", "content_hash", "item_hash",
}

// store stores a batch and the progress.
func (a *attempt) store(ctx context.Context, b batch) error {
	kept := b.errors[:min(len(b.errors), int(MaxImportErrors-a.imp.ErrorsKept))]
	err := a.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		args := a.args(a.imp.ID)
		args["bytes"], args["processed"], args["rejected"] = b.offset, b.processed, b.rejected
		args["kept"], args["total"], args["phase"] = a.imp.ErrorsKept+int64(len(kept)), nil, phaseReading
		if b.atEnd {
			args["total"], args["phase"], args["bytes"] = b.processed, phaseWriting, a.imp.SizeBytes
		}
		changed, err := tx.Exec(ctx, a.db.Statement("keep progress"), args)
		if err == nil && changed.RowsAffected() == 0 {
			err = work.ErrFenced
		}
		if err == nil {
			err = a.addErrors(ctx, tx, kept)
		}
		if err == nil {
			_, err = tx.CopyFrom(ctx, pgx.Identifier{"import_rows"}, importColumns, pgx.CopyFromSlice(len(b.rows), func(i int) ([]any, error) {
				r := &b.rows[i]
				return []any{
					a.imp.ID, r.number, r.line, r.Key, string(r.Input), string(r.ReferenceOutput), string(r.Metadata), r.Split, r.Tags,
					r.SourceRunID, r.SourceSpanID, r.contentHash[:], r.itemHash[:],
				}, nil
			}))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("store rows: %w", err)
	}
	a.imp.ErrorsKept += int64(len(kept))
	a.imp.Processed, a.imp.Rejected = b.processed, b.rejected
	if b.atEnd {
		a.imp.Total = new(b.processed)
	}
	return nil
}

// addErrors stores errors after those that are kept.
func (a *attempt) addErrors(ctx context.Context, tx pgx.Tx, errs []ImportError) error {
	if len(errs) == 0 {
		return nil
	}
	args := pgx.NamedArgs{"import": a.imp.ID, "kept": a.imp.ErrorsKept}
	var (
		lines           []int64
		columns, values []*string
		reasons         []string
	)
	for _, e := range errs {
		lines, columns, reasons, values = append(lines, e.Line), append(columns, e.ColumnName), append(reasons, e.Reason), append(values, e.Value)
	}
	args["lines"], args["columns"], args["reasons"], args["values"] = lines, columns, reasons, values
	_, err := tx.Exec(ctx, a.db.Statement("add import errors"), args)
	return err //nolint:wrapcheck // the caller does
}
