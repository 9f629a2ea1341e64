package datasets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/mapping"
	"github.com/looptrace/looptrace/internal/problem"
)

const (
	// previewRows is how many rows a preview shows.
	previewRows = 50
	// textPreviewBytes is how much of a file of text is read for a preview.
	textPreviewBytes = 4 << 20
)

// PreviewImport reads the beginning of a file and returns what an import would make of it. partial says that the file goes on. begin is
// called when the file was read, and may refuse the work.
func (s *Service) PreviewImport(
	ctx context.Context, grant access.Grant, dataset uuid.UUID, u Upload, file io.Reader, partial bool, begin func() error,
) (mapping.PreviewResult, error) {
	var none mapping.PreviewResult
	found, err := s.Get(ctx, grant, dataset)
	if err != nil {
		return none, err
	}
	schemas, err := schemasOf(found.InputSchema, found.ReferenceOutputSchema)
	if err != nil {
		return none, fmt.Errorf("read the schemas of %s: %w", dataset, err)
	}
	if err := u.check(); err != nil {
		return none, err
	}
	head, err := io.ReadAll(io.LimitReader(file, textPreviewBytes+1))
	if err != nil {
		return none, fmt.Errorf("read the file: %w", err)
	}
	source, format, cut, err := readPreview(u, head, file)
	if err != nil {
		return none, err
	}
	if err := begin(); err != nil {
		return none, err
	}
	var given *mapping.Mapping
	if u.Mapping != "" {
		parsed, err := mapping.ParseMapping([]byte(u.Mapping))
		if err != nil {
			return none, problem.InvalidField("query.mapping", err.Error())
		}
		given = &parsed
	}
	result, err := mapping.Preview(ctx, source, datasetfile.Options{
		Format: format, Encoding: u.Encoding, Delimiter: u.Delimiter, Header: u.Header, Sheet: u.Sheet, Partial: partial || cut,
	}, given, previewRows)
	if err != nil {
		return none, refusal(err)
	}
	for i := range result.Rows {
		if err := ctx.Err(); err != nil {
			return none, err //nolint:wrapcheck // nobody waits any more
		}
		checkPreview(ctx, &result.Rows[i], result.Mapping, schemas)
	}
	return result, nil
}

// readPreview reads as much of a file as its preview needs, after its beginning. cut is whether there is more.
func readPreview(u Upload, content []byte, file io.Reader) (source *bytes.Reader, format datasetfile.Format, cut bool, err error) {
	if format, err = u.detect(content); err != nil {
		return nil, "", false, err
	}
	switch {
	case len(content) <= textPreviewBytes:
	case format == datasetfile.Parquet || format == datasetfile.XLSX:
		rest, err := io.ReadAll(file)
		if err != nil {
			return nil, "", false, fmt.Errorf("read the file: %w", err)
		}
		content = append(content, rest...)
	default:
		content, cut = content[:textPreviewBytes], true
	}
	return bytes.NewReader(content), format, cut, nil
}

// refusal makes a [problem.Error] of an error of a file or a mapping.
func refusal(err error) error {
	var (
		broken *datasetfile.FileError
		wrong  *mapping.Error
	)
	switch {
	case errors.As(err, &broken):
		return problem.InvalidField("body", broken.Error())
	case errors.As(err, &wrong):
		return problem.InvalidField("query.mapping", wrong.Error())
	}
	return err
}

// checkPreview rejects a row whose item an import would reject.
func checkPreview(ctx context.Context, p *mapping.PreviewRow, used mapping.Mapping, schemas schemas) {
	if p.Item == nil {
		return
	}
	var made row
	made.NewItem, p.Errors = newItem(*p.Item)
	if len(p.Errors) == 0 {
		for _, field := range made.check(ctx, schemas) {
			p.Errors = append(p.Errors, datasetfile.FieldError{Column: columnOf(used, field.Location), Reason: field.Location + " " + field.Message})
		}
	}
	if len(p.Errors) > 0 {
		p.Item = nil
	}
}

// exportItems is how many items an export reads at once.
const exportItems = 500

// Export calls each with the items of a revision, nil for the newest, in the order in which they were added.
func (s *Service) Export(ctx context.Context, grant access.Grant, dataset uuid.UUID, q ItemsQuery, each func(*Item) error) error {
	q.Limit = exportItems
	for {
		page, err := s.Items(ctx, grant, dataset, q)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if err := each(&page.Items[i]); err != nil {
				return err
			}
		}
		if !page.HasMore {
			return nil
		}
		q.Revision, q.Cursor = nil, page.NextCursor
	}
}
