package datasets

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/mapping"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/reading"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// MaxImportErrors is how many errors of an import are kept.
const MaxImportErrors = 10_000

// failure ends an import that cannot succeed however often it is tried.
type failure struct {
	code, detail string
}

func (f *failure) Error() string { return f.code + ": " + f.detail }

// attempt is an attempt to do an import.
type attempt struct {
	*Service
	id  uuid.UUID
	imp *Import
}

// runImport does the job of an import, or goes on with it.
func (s *Service) runImport(ctx context.Context, args importArgs, last bool) error {
	a := &attempt{Service: s, id: uuid.New()}
	begin := a.args(args.ImportID)
	begin["job"], _ = work.JobOf(ctx)
	begun, err := s.db.Exec(ctx, "begin import", begin)
	if err != nil {
		return err
	}
	if begun == 0 { // it ended before, or has another job
		return s.removeFile(ctx, args.ImportID)
	}
	found, err := postgres.One[Import](ctx, s.db, "get import", pgx.NamedArgs{"import": args.ImportID, "any": true, "projects": []uuid.UUID{}})
	if err != nil {
		return err
	}
	a.imp = &found
	err = work.Attempt(ctx, "import", last, func(ctx context.Context) error {
		err := a.do(ctx)
		if failed, ok := errors.AsType[*failure](err); ok {
			return a.end(ctx, failed)
		}
		return err
	}, func(ctx context.Context, failed *problem.Error) error {
		return a.end(ctx, &failure{failed.Code, failed.Detail})
	})
	return errors.Join(err, s.removeFile(ctx, args.ImportID)) // unless it goes on
}

func (a *attempt) args(id uuid.UUID) pgx.NamedArgs {
	return pgx.NamedArgs{"import": id, "attempt": a.id, "now": a.now()}
}

// exec changes the row of the import if it still belongs to the attempt.
func (a *attempt) exec(ctx context.Context, db postgres.DB, name string, more pgx.NamedArgs) error {
	args := a.args(a.imp.ID)
	for key, value := range more {
		args[key] = value
	}
	changed, err := db.Exec(ctx, name, args)
	if err == nil && changed == 0 {
		return work.ErrFenced
	}
	return err
}

func (a *attempt) end(ctx context.Context, f *failure) error {
	return a.exec(ctx, a.db, "end import", pgx.NamedArgs{"status": StatusFailed, "code": f.code, "detail": f.detail})
}

// do reads the file and writes the revision.
func (a *attempt) do(ctx context.Context) error {
	for {
		hash, schemas, err := a.schemas(ctx)
		if err != nil {
			return err
		}
		if string(a.imp.SchemaHash) != string(hash) {
			if err := a.startOver(ctx, hash); err != nil {
				return err
			}
		}
		if a.imp.Total == nil {
			if err := a.read(ctx, schemas); err != nil {
				return err
			}
		}
		err = a.write(ctx)
		if !errors.Is(err, errSchemaChanged) {
			return err
		}
	}
}

// schemas returns the schemas of the dataset and their hash.
func (a *attempt) schemas(ctx context.Context) ([]byte, schemas, error) {
	found, err := postgres.One[Dataset](ctx, a.db, "get dataset", pgx.NamedArgs{"projects": []uuid.UUID{a.imp.ProjectID}, "dataset": a.imp.DatasetID})
	if err != nil {
		return nil, schemas{}, err
	}
	read, err := schemasOf(found.InputSchema, found.ReferenceOutputSchema)
	if err != nil {
		return nil, schemas{}, fmt.Errorf("read the schemas of %s: %w", a.imp.DatasetID, err)
	}
	return schemaHash(found.InputSchema, found.ReferenceOutputSchema), read, nil
}

func schemaHash(input, referenceOutput *string) []byte {
	hash := sha256.Sum256([]byte(text(input) + "\x00" + text(referenceOutput)))
	return hash[:]
}

// startOver forgets what was read. Rows must be checked against the schemas that the dataset has.
func (a *attempt) startOver(ctx context.Context, hash []byte) error {
	args := a.args(a.imp.ID)
	args["schema_hash"] = hash
	err := a.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		changed, err := tx.Exec(ctx, a.db.Statement("start over"), args)
		if err == nil && changed.RowsAffected() == 0 {
			err = work.ErrFenced
		}
		for _, name := range []string{"remove rows", "remove errors"} {
			if err == nil {
				_, err = tx.Exec(ctx, a.db.Statement(name), args)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("start over: %w", err)
	}
	i := a.imp
	i.SchemaHash, i.BytesRead, i.Processed, i.Rejected, i.ErrorsKept, i.Total = hash, 0, 0, 0, 0, nil
	return nil
}

// open opens the file and finds the mapping if there is none.
func (a *attempt) open(ctx context.Context) (*reading.File, mapping.Mapping, error) {
	source := &chunks{ctx: ctx, db: a.db, id: a.imp.ID, size: a.imp.SizeBytes}
	var (
		given mapping.Mapping
		err   error
	)
	if a.imp.Mapping != nil {
		given, err = a.imp.mapping()
	} else {
		given, err = mapping.Infer(ctx, source, a.imp.options())
		a.imp.MappingFound = true
	}
	if err != nil {
		return nil, given, unreadable(err)
	}
	file, err := reading.Open(source, a.imp.options())
	if err != nil {
		return nil, given, unreadable(err)
	}
	if columns := file.Columns(); columns != nil {
		if err := given.Check(columns); err != nil {
			return nil, given, errors.Join(&failure{"wrong_mapping", err.Error()}, file.Close())
		}
	}
	return file, given, nil
}

// unreadable makes a [failure] of a file that cannot be read.
func unreadable(err error) error {
	var broken *datasetfile.FileError
	if errors.As(err, &broken) {
		return &failure{"unreadable_file", broken.Error()}
	}
	return err
}

// conflict makes a [failure] of a refusal.
func conflict(err error) error {
	if refused := problem.Of(err); refused != nil && refused.Kind == problem.Conflict {
		return &failure{refused.Code, refused.Detail}
	}
	return err
}
