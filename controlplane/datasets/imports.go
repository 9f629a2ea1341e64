package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/mapping"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// Statuses of imports and of checks for near-duplicates.
const (
	StatusUploading = "uploading"
	StatusQueued    = "queued"
	StatusRunning   = "running"
	StatusSucceeded = "succeeded"
	StatusFailed    = "failed"
	StatusCancelled = "cancelled"
)

// Phases of running imports.
const (
	phaseReading = "reading"
	phaseWriting = "writing"
)

// Import is an import of a file into a dataset.
type Import struct {
	ID, ProjectID, DatasetID uuid.UUID
	Status                   string
	// Phase is what a running import does: reading or writing.
	Phase    *string
	FileName *string
	// Format is nil until the file is uploaded. What follows is nil if it is found in the file.
	Format, Encoding, Delimiter *string
	Header                      *bool
	Sheet                       *string
	SizeBytes                   int64
	Mode, OnError               string
	Dedupe                      bool
	MaxRemoved                  *int64
	BaseRevision                *int
	Note                        string
	// Mapping is JSON, nil until it is found.
	Mapping      *string
	MappingFound bool
	// BytesRead, Processed and Rejected say how far the file was read. Total is nil until its end.
	BytesRead, Processed, Rejected, ErrorsKept int64
	Total                                      *int64
	// Added, Updated, Removed and Unchanged are nil until the revision is written.
	Added, Updated, Removed, Unchanged *int64
	// Revision is nil if there is none, also because nothing changed.
	Revision               *int
	ErrorCode, ErrorDetail *string
	JobID                  *int64
	SchemaHash             []byte
	CreatedBy              *uuid.UUID
	CreatedAt              time.Time
	StartedAt, FinishedAt  *time.Time
	Author
}

// ImportError says why a row is rejected.
type ImportError struct {
	Line int64
	// ColumnName is nil for the whole row.
	ColumnName *string
	Reason     string
	Value      *string
}

// Imports returns a page of the imports into a dataset, the newest first.
func (s *Service) Imports(ctx context.Context, grant access.Grant, dataset uuid.UUID, page postgres.Page) ([]Import, bool, error) {
	if _, err := s.Get(ctx, grant, dataset); err != nil {
		return nil, false, err
	}
	return postgres.List[Import](ctx, s.db, "list imports", page, pgx.NamedArgs{"dataset": dataset})
}

// Import returns an import.
func (s *Service) Import(ctx context.Context, grant access.Grant, id uuid.UUID) (Import, error) {
	return postgres.One[Import](ctx, s.db, "get import", pgx.NamedArgs{"projects": grant.IDs(), "import": id, "any": false})
}

// ImportErrors returns an import and a page of its rejected rows, in the order of the file.
func (s *Service) ImportErrors(ctx context.Context, grant access.Grant, id uuid.UUID, page postgres.Page) (Import, []ImportError, bool, error) {
	found, err := s.Import(ctx, grant, id)
	if err != nil {
		return Import{}, nil, false, err
	}
	rejected, more, err := postgres.List[ImportError](ctx, s.db, "list import errors", page, pgx.NamedArgs{"import": id})
	return found, rejected, more, err
}

// CancelImport cancels an import that is not finished. It changes nothing in the dataset.
func (s *Service) CancelImport(ctx context.Context, grant access.Grant, id uuid.UUID) (Import, error) {
	var found Import
	err := s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		args := pgx.NamedArgs{"projects": grant.IDs(), "import": id, "any": false, "now": s.now()}
		changed, err := tx.Exec(ctx, "cancel import", args)
		if err != nil {
			return err
		}
		if found, err = postgres.One[Import](ctx, tx, "get import", args); err != nil {
			return err
		}
		switch {
		case changed == 0 && found.Status != StatusCancelled:
			return &problem.Error{Kind: problem.Conflict, Code: "import_finished", Detail: "The import has " + found.Status + " already."}
		case changed > 0 && found.JobID != nil:
			return s.jobs.Cancel(ctx, tx.PGX(), *found.JobID)
		}
		return nil
	})
	return found, err
}

// mapping reads the stored mapping. One that was given is checked already. One that was found in rows that are all rejected takes no
// column, which [datasetfile.ParseMapping] refuses.
func (i *Import) mapping() (mapping.Mapping, error) {
	var mapping mapping.Mapping
	if err := json.Unmarshal([]byte(*i.Mapping), &mapping); err != nil {
		return mapping, fmt.Errorf("read the mapping: %w", err)
	}
	return mapping, nil
}

// options are how to read the file.
func (i *Import) options() datasetfile.Options {
	return datasetfile.Options{
		Format: datasetfile.Format(text(i.Format)), Encoding: text(i.Encoding), Delimiter: text(i.Delimiter), Header: i.Header, Sheet: text(i.Sheet),
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

const (
	// abandonedAfter is how long an upload may stand still.
	abandonedAfter = time.Hour
)

// RemoveLeftovers removes uploads that broke off, and the files of imports that ended.
func (s *Service) RemoveLeftovers(ctx context.Context) error {
	err := s.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, s.db.Statement("drop broken uploads"), pgx.NamedArgs{"before": s.now().Add(-abandonedAfter)})
		return err //nolint:wrapcheck // LongTx does
	})
	ended, listErr := postgres.Many[struct{ ID uuid.UUID }](ctx, s.db, "list ended imports", nil)
	errs := []error{err, listErr}
	for _, one := range ended {
		errs = append(errs, s.removeFile(ctx, one.ID))
	}
	return errors.Join(errs...)
}

// removeFile removes the file and the rows of an import that has ended. Another attempt may still need those of one that has not.
func (s *Service) removeFile(ctx context.Context, id uuid.UUID) error {
	return s.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		ended, err := tx.Exec(ctx, s.db.Statement("lock ended import"), pgx.NamedArgs{"import": id})
		if err != nil || ended.RowsAffected() == 0 {
			return err //nolint:wrapcheck // LongTx does
		}
		for _, name := range []string{"remove chunks", "remove rows"} {
			if _, err := tx.Exec(ctx, s.db.Statement(name), pgx.NamedArgs{"import": id}); err != nil {
				return err //nolint:wrapcheck // LongTx does
			}
		}
		return nil
	})
}
