package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/mapping"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/reading"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// chunkBytes is the size of the pieces of a file in the database.
const chunkBytes = 1 << 20

// Upload is a file to import, and how.
type Upload struct {
	FileName *string
	// MediaType is that of the body. Format, if it is not empty, counts more.
	MediaType                   string
	Format, Encoding, Delimiter string
	Header                      *bool
	Sheet                       string
	// Mapping is JSON, empty to find it in the file.
	Mapping      string
	Mode         Mode
	OnError      string
	Dedupe       bool
	MaxRemoved   *int64
	BaseRevision *int
	Note         string
}

// importArgs are the arguments of the job of an import.
type importArgs struct {
	ImportID uuid.UUID `json:"import_id"`
}

// Kind is the kind of the job.
func (importArgs) Kind() string { return "import" }

// errUploadCancelled is returned to whoever uploads a file whose import is cancelled meanwhile.
var errUploadCancelled = &problem.Error{Kind: problem.Conflict, Code: "import_cancelled", Detail: "The import was cancelled while its file was uploaded."}

// StartImport stores a file and adds the job that imports it. If the file breaks off, nothing is kept.
func (s *Service) StartImport(ctx context.Context, grant access.Grant, dataset uuid.UUID, u Upload, file io.Reader) (Import, error) {
	found, err := s.Get(ctx, grant, dataset)
	if err != nil {
		return Import{}, err
	}
	if err := u.check(); err != nil {
		return Import{}, err
	}
	id := postgres.NewID()
	err = s.addWithinLimits(ctx, found.ProjectID, func(ctx context.Context, tx postgres.DB) error {
		_, err := tx.Exec(ctx, "create import", pgx.NamedArgs{
			"id": id, "project": found.ProjectID, "dataset": dataset, "file_name": u.FileName, "format": optional(u.Format), "encoding": optional(u.Encoding),
			"delimiter": optional(u.Delimiter), "header": u.Header, "sheet": optional(u.Sheet), "mode": u.Mode, "on_error": u.OnError, "dedupe": u.Dedupe,
			"max_removed": u.MaxRemoved, "base_revision": u.BaseRevision, "note": u.Note, "mapping": optional(u.Mapping),
			"author": grant.CreatedBy(), "author_key": grant.CreatedByKey(), "now": s.now(),
		})
		return err
	})
	if err != nil {
		return Import{}, err
	}
	started, err := s.upload(ctx, grant, found.ProjectID, id, u, file)
	if err != nil {
		return Import{}, errors.Join(err, s.dropUpload(context.WithoutCancel(ctx), id))
	}
	return started, nil
}

// addWithinLimits adds to the files of a project, unless they would exceed its limits. Its other uploads wait meanwhile: two that count
// at once would not see each other.
func (s *Service) addWithinLimits(ctx context.Context, project uuid.UUID, add func(ctx context.Context, tx postgres.DB) error) error {
	return s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		args := pgx.NamedArgs{"project": project}
		if _, err := tx.Exec(ctx, "lock uploads", args); err != nil {
			return err
		}
		if err := add(ctx, tx); err != nil {
			return err
		}
		unfinished, err := postgres.One[struct{ Imports, Bytes int64 }](ctx, tx, "count unfinished imports", args)
		if err != nil {
			return err
		}
		return s.limits.checkWaiting(unfinished.Imports, unfinished.Bytes)
	})
}

// dropUpload removes an upload that broke off. [Service.RemoveLeftovers] does it if the database is not available now.
func (s *Service) dropUpload(ctx context.Context, id uuid.UUID) error {
	_, err := s.db.Exec(ctx, "drop upload", pgx.NamedArgs{"import": id})
	if errors.Is(err, postgres.ErrUnavailable) {
		return nil
	}
	return err
}

// check checks what does not depend on the file.
func (u *Upload) check() error {
	errs := []error{validate.Text("query.note", u.Note), validate.Text("query.sheet", u.Sheet)}
	if u.Delimiter == "\x00" { // validate.Text would refuse other delimiters
		errs = append(errs, problem.InvalidField("query.delimiter", "must not be NUL"))
	}
	if u.FileName != nil {
		errs = append(errs, validate.Text("query.file_name", *u.FileName))
	}
	if u.Mapping != "" {
		if _, err := mapping.ParseMapping([]byte(u.Mapping)); err != nil {
			errs = append(errs, problem.InvalidField("query.mapping", err.Error()))
		}
	}
	if u.MaxRemoved != nil && u.Mode != ModeReplace {
		errs = append(errs, problem.InvalidField("query.max_removed", "is only for the mode replace"))
	}
	return errors.Join(errs...)
}

// upload stores the chunks of the file and queues the import.
func (s *Service) upload(ctx context.Context, grant access.Grant, project, id uuid.UUID, u Upload, file io.Reader) (Import, error) {
	var format datasetfile.Format
	chunk := make([]byte, chunkBytes)
	for number := 0; ; number++ {
		n, err := io.ReadFull(file, chunk)
		if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
			return Import{}, fmt.Errorf("read the file: %w", err)
		}
		if number == 0 {
			found, detectErr := u.detect(chunk[:n])
			if detectErr != nil {
				return Import{}, detectErr
			}
			format = found
		}
		if n > 0 {
			addErr := s.addWithinLimits(ctx, project, func(ctx context.Context, tx postgres.DB) error {
				added, err := tx.Exec(ctx, "add chunk", pgx.NamedArgs{"import": id, "number": number, "content": chunk[:n], "now": s.now()})
				if err == nil && added == 0 {
					err = errUploadCancelled
				}
				return err
			})
			if addErr != nil {
				return Import{}, addErr
			}
		}
		if err != nil {
			break
		}
	}
	var queued Import
	err := s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		job, err := s.jobs.Add(ctx, tx.PGX(), project, importArgs{id})
		if err != nil {
			return err
		}
		args := pgx.NamedArgs{"import": id, "format": format, "job": job, "now": s.now(), "projects": grant.IDs(), "any": false}
		changed, err := tx.Exec(ctx, "queue import", args)
		if err == nil && changed == 0 {
			err = errUploadCancelled
		}
		if err != nil {
			return err
		}
		queued, err = postgres.One[Import](ctx, tx, "get import", args)
		return err
	})
	return queued, err
}

// detect finds the format of a file that begins with head.
func (u *Upload) detect(head []byte) (datasetfile.Format, error) {
	if len(head) == 0 {
		return "", problem.InvalidField("body", "is empty: send the file")
	}
	if u.Format != "" {
		return datasetfile.Format(u.Format), nil
	}
	format, err := reading.DetectFormat(u.MediaType, text(u.FileName), head)
	if err != nil {
		return "", problem.InvalidField("body", err.Error())
	}
	return format, nil
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// chunks is a [datasetfile.Source] over the file of an import.
type chunks struct {
	ctx    context.Context //nolint:containedctx // io.ReaderAt has none
	db     postgres.DB
	id     uuid.UUID
	size   int64
	recent []chunk // the last ones that were read, the newest last
}

type chunk struct {
	number  int64
	content []byte
}

// recentChunks is how many chunks stay in memory.
const recentChunks = 8

// Size is the size of the file.
func (c *chunks) Size() int64 { return c.size }

// ReadAt reads a part of the file.
func (c *chunks) ReadAt(p []byte, offset int64) (int, error) {
	read := 0
	for read < len(p) {
		at := offset + int64(read)
		if at >= c.size {
			return read, io.EOF
		}
		content, err := c.chunk(at / chunkBytes)
		if err != nil {
			return read, err
		}
		n := copy(p[read:], content[min(at%chunkBytes, int64(len(content))):])
		if n == 0 {
			return read, io.ErrUnexpectedEOF
		}
		read += n
	}
	return read, nil
}

func (c *chunks) chunk(number int64) ([]byte, error) {
	for _, have := range c.recent {
		if have.number == number {
			return have.content, nil
		}
	}
	found, err := postgres.One[struct{ Content []byte }](c.ctx, c.db, "read chunk", pgx.NamedArgs{"import": c.id, "number": number})
	if err != nil {
		return nil, err
	}
	if len(c.recent) == recentChunks {
		c.recent = c.recent[1:]
	}
	c.recent = append(c.recent, chunk{number, found.Content})
	return found.Content, nil
}
