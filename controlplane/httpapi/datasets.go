package httpapi

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/problem"
)

type datasetHandlers struct {
	datasets *datasets.Service
	runs     runSources
	log      *slog.Logger
}

// ListDatasets lists datasets.
func (h datasetHandlers) ListDatasets(ctx context.Context, req contract.ListDatasetsRequestObject) (contract.ListDatasetsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	filter := datasets.Filter{Name: valueOf(req.Params.Name, ""), Search: valueOf(req.Params.Search, ""), SourceRunID: req.Params.SourceRunId}
	found, more, err := h.datasets.List(ctx, grantOf(ctx), filter, page)
	if err != nil {
		return nil, err
	}
	list := make([]contract.Dataset, len(found))
	for i := range found {
		list[i] = datasetOf(&found[i])
	}
	return contract.ListDatasets200JSONResponse{Data: list, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// CreateDataset creates an empty dataset.
func (h datasetHandlers) CreateDataset(ctx context.Context, req contract.CreateDatasetRequestObject) (contract.CreateDatasetResponseObject, error) {
	change := datasets.Change{Name: &req.Body.Name, Description: req.Body.Description}
	if schema := req.Body.Schema; schema != nil {
		change.InputSchema, change.ReferenceOutputSchema = schema.Input, schema.ReferenceOutput
	}
	created, err := h.datasets.Create(ctx, grantOf(ctx), change)
	if err != nil {
		return nil, err
	}
	location := "/v1/datasets/" + created.ID.String()
	return contract.CreateDataset201JSONResponse{Body: datasetOf(&created), Headers: contract.CreateDataset201ResponseHeaders{Location: &location}}, nil
}

// GetDataset reads a dataset.
func (h datasetHandlers) GetDataset(ctx context.Context, req contract.GetDatasetRequestObject) (contract.GetDatasetResponseObject, error) {
	found, err := h.datasets.Get(ctx, grantOf(ctx), req.DatasetId)
	if err != nil {
		return nil, err
	}
	return contract.GetDataset200JSONResponse(datasetOf(&found)), nil
}

// UpdateDataset changes the name, description or schema of a dataset.
func (h datasetHandlers) UpdateDataset(ctx context.Context, req contract.UpdateDatasetRequestObject) (contract.UpdateDatasetResponseObject, error) {
	change := datasets.Change{Name: req.Body.Name, Description: req.Body.Description}
	if schema := req.Body.Schema; schema != nil {
		change.InputSchema, change.ReferenceOutputSchema = schema.Input, schema.ReferenceOutput
	}
	updated, err := h.datasets.Update(ctx, grantOf(ctx), req.DatasetId, change)
	if err != nil {
		return nil, err
	}
	return contract.UpdateDataset200JSONResponse(datasetOf(&updated)), nil
}

// DeleteDataset deletes a dataset with all its revisions.
func (h datasetHandlers) DeleteDataset(ctx context.Context, req contract.DeleteDatasetRequestObject) (contract.DeleteDatasetResponseObject, error) {
	if err := h.datasets.Delete(ctx, grantOf(ctx), req.DatasetId); err != nil {
		return nil, err
	}
	return contract.DeleteDataset204Response{}, nil
}

// ListDatasetItems lists the items of a revision.
func (h datasetHandlers) ListDatasetItems(ctx context.Context, req contract.ListDatasetItemsRequestObject) (contract.ListDatasetItemsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, err := h.datasets.Items(ctx, grantOf(ctx), req.DatasetId, datasets.ItemsQuery{
		Revision: req.Params.Revision, Split: valueOf(req.Params.Split, ""), Tag: valueOf(req.Params.Tag, ""), Search: valueOf(req.Params.Search, ""),
		SourceRunID: req.Params.SourceRunId,
		Limit:       page.Limit, Offset: page.Offset, Cursor: valueOf(req.Params.Cursor, ""),
	})
	if err != nil {
		return nil, err
	}
	answer := contract.ListDatasetItems200JSONResponse{
		Data: make([]contract.DatasetItem, len(found.Items)), Revision: found.Revision, Limit: page.Limit, Offset: page.Offset,
		HasMore: found.HasMore, NextCursor: known(found.NextCursor),
	}
	for i := range found.Items {
		answer.Data[i] = datasetItemOf(&found.Items[i])
	}
	return answer, nil
}

// AddDatasetItems adds one item, or writes many.
func (h datasetHandlers) AddDatasetItems(ctx context.Context, req contract.AddDatasetItemsRequestObject) (contract.AddDatasetItemsResponseObject, error) {
	body := req.Body
	write := datasets.Write{
		Mode: datasets.Mode(valueOf(body.Mode, contract.DatasetWriteModeAppend)), BaseRevision: body.BaseRevision, MaxRemoved: body.MaxRemoved,
		Dedupe: body.Dedupe != nil, DryRun: valueOf(body.DryRun, false), Note: valueOf(body.Note, ""),
	}
	single := newDatasetItem(body.Key, body.Input, body.ReferenceOutput, body.Metadata, body.Split, body.Tags, body.SourceRunId, body.SourceSpanId)
	var answer contract.AddDatasetItems201JSONResponse
	if body.Items == nil {
		if err := onlyForMany(body); err != nil {
			return nil, err
		}
		added, err := h.datasets.Add(ctx, grantOf(ctx), req.DatasetId, single, write)
		if err != nil {
			return nil, err
		}
		if err := answer.FromDatasetItem(datasetItemOf(&added)); err != nil {
			return nil, fmt.Errorf("encode the item: %w", err)
		}
		return answer, nil
	}
	if err := onlyForOne(body); err != nil {
		return nil, err
	}
	write.Items = make([]datasets.NewItem, len(*body.Items))
	for i, item := range *body.Items {
		write.Items[i] = newDatasetItem(item.Key, item.Input, item.ReferenceOutput, item.Metadata, item.Split, item.Tags, item.SourceRunId, item.SourceSpanId)
	}
	written, err := h.datasets.Write(ctx, grantOf(ctx), req.DatasetId, write)
	if err != nil {
		return nil, err
	}
	result := contract.DatasetWritten{
		Revision: written.Revision, Added: written.Added, Updated: written.Updated, Removed: written.Removed, Unchanged: written.Unchanged,
		ItemIds: make([]*uuid.UUID, len(written.ItemIDs)),
	}
	for i, id := range written.ItemIDs {
		if id != uuid.Nil {
			result.ItemIds[i] = &id
		}
	}
	if write.DryRun {
		return contract.AddDatasetItems200JSONResponse(result), nil
	}
	if err := answer.FromDatasetWritten(result); err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	return answer, nil
}

// onlyForMany refuses members that are only for a write of many items.
func onlyForMany(body *contract.DatasetItemsWrite) error {
	var errs []error
	for name, given := range map[string]bool{
		"mode": body.Mode != nil, "max_removed": body.MaxRemoved != nil, "dedupe": body.Dedupe != nil, "dry_run": body.DryRun != nil,
	} {
		if given {
			errs = append(errs, problem.InvalidField("body."+name, "is only for items: give the item in the list `items`"))
		}
	}
	return errors.Join(errs...)
}

// onlyForOne refuses members of an item beside a list of items.
func onlyForOne(body *contract.DatasetItemsWrite) error {
	var errs []error
	for name, given := range map[string]bool{
		"key": body.Key != nil, "input": body.Input != nil, "reference_output": body.ReferenceOutput != nil, "metadata": body.Metadata != nil,
		"split": body.Split != nil, "tags": body.Tags != nil, "source_run_id": body.SourceRunId != nil, "source_span_id": body.SourceSpanId != nil,
	} {
		if given {
			errs = append(errs, problem.InvalidField("body."+name, "must be absent if there is a list of items"))
		}
	}
	return errors.Join(errs...)
}

func newDatasetItem(
	key *string, input, referenceOutput, metadata json.RawMessage, split *string, tags *[]string, sourceRun *uuid.UUID, sourceSpan *string,
) datasets.NewItem {
	return datasets.NewItem{
		Key: key, Input: input, ReferenceOutput: referenceOutput, Metadata: metadata, Split: split, Tags: valueOf(tags, nil),
		SourceRunID: sourceRun, SourceSpanID: sourceSpan,
	}
}

// GetDatasetItem reads an item.
func (h datasetHandlers) GetDatasetItem(ctx context.Context, req contract.GetDatasetItemRequestObject) (contract.GetDatasetItemResponseObject, error) {
	found, err := h.datasets.Item(ctx, grantOf(ctx), req.DatasetId, req.ItemId, req.Params.Revision)
	if err != nil {
		return nil, err
	}
	return contract.GetDatasetItem200JSONResponse(datasetItemOf(&found)), nil
}

// UpdateDatasetItem changes an item in a new revision.
func (h datasetHandlers) UpdateDatasetItem(ctx context.Context, req contract.UpdateDatasetItemRequestObject) (contract.UpdateDatasetItemResponseObject, error) {
	edited, err := h.datasets.EditItem(ctx, grantOf(ctx), req.DatasetId, req.ItemId, datasets.ItemEdit{
		Key: req.Body.Key, Split: req.Body.Split, Input: req.Body.Input, ReferenceOutput: req.Body.ReferenceOutput, Metadata: req.Body.Metadata,
		Tags: req.Body.Tags, Note: valueOf(req.Body.Note, ""), BaseRevision: req.Body.BaseRevision,
	})
	if err != nil {
		return nil, err
	}
	return contract.UpdateDatasetItem200JSONResponse(datasetItemOf(&edited)), nil
}

// DeleteDatasetItem removes an item in a new revision.
func (h datasetHandlers) DeleteDatasetItem(ctx context.Context, req contract.DeleteDatasetItemRequestObject) (contract.DeleteDatasetItemResponseObject, error) {
	if err := h.datasets.RemoveItem(ctx, grantOf(ctx), req.DatasetId, req.ItemId); err != nil {
		return nil, err
	}
	return contract.DeleteDatasetItem204Response{}, nil
}

// ListDatasetRevisions lists the revisions of a dataset.
func (h datasetHandlers) ListDatasetRevisions(ctx context.Context, req contract.ListDatasetRevisionsRequestObject) (contract.ListDatasetRevisionsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, more, err := h.datasets.Revisions(ctx, grantOf(ctx), req.DatasetId, page)
	if err != nil {
		return nil, err
	}
	list := make([]contract.DatasetRevisionEntry, len(found))
	for i := range found {
		r := &found[i]
		list[i] = contract.DatasetRevisionEntry{
			Revision: r.Revision, Kind: contract.DatasetRevisionEntryKind(r.Kind), Added: int(r.Added), Updated: int(r.Updated), Removed: int(r.Removed),
			ItemCount: r.ItemCount, Note: r.Note, CreatedBy: contract.Author{Email: r.AuthorEmail, Key: r.AuthorKey}, CreatedAt: r.CreatedAt.UTC(),
		}
	}
	return contract.ListDatasetRevisions200JSONResponse{Data: list, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// DiffDatasetRevisions compares two revisions.
func (h datasetHandlers) DiffDatasetRevisions(ctx context.Context, req contract.DiffDatasetRevisionsRequestObject) (contract.DiffDatasetRevisionsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	diff, err := h.datasets.Diff(ctx, grantOf(ctx), req.DatasetId, req.Revision, req.OtherRevision, page)
	if err != nil {
		return nil, err
	}
	answer := contract.DiffDatasetRevisions200JSONResponse{
		Revision: req.Revision, OtherRevision: req.OtherRevision, Added: diff.Added, Removed: diff.Removed, Changed: diff.Changed,
		Data: make([]contract.DatasetItemChange, len(diff.Changes)), Limit: page.Limit, Offset: page.Offset, HasMore: diff.HasMore,
	}
	for i, c := range diff.Changes {
		change := contract.DatasetItemChange{ItemId: c.ItemID, Change: contract.DatasetItemChangeChangeChanged}
		if c.Before != nil {
			change.Before = new(datasetItemOf(c.Before))
		} else {
			change.Change = contract.DatasetItemChangeChangeAdded
		}
		if c.After != nil {
			change.After = new(datasetItemOf(c.After))
		} else {
			change.Change = contract.DatasetItemChangeChangeRemoved
		}
		answer.Data[i] = change
	}
	return answer, nil
}

func datasetOf(d *datasets.Dataset) contract.Dataset {
	dataset := contract.Dataset{
		Id: d.ID, ProjectId: d.ProjectID, Name: d.Name, Description: d.Description, Revision: d.Revision, ItemCount: d.ItemCount,
		CreatedBy: contract.Author{Email: d.AuthorEmail, Key: d.AuthorKey}, CreatedAt: d.CreatedAt.UTC(), UpdatedAt: d.UpdatedAt.UTC(),
		Schema: contract.DatasetSchema{Input: jsonNull, ReferenceOutput: jsonNull},
	}
	if d.InputSchema != nil {
		dataset.Schema.Input = json.RawMessage(*d.InputSchema)
	}
	if d.ReferenceOutputSchema != nil {
		dataset.Schema.ReferenceOutput = json.RawMessage(*d.ReferenceOutputSchema)
	}
	return dataset
}

func datasetItemOf(i *datasets.Item) contract.DatasetItem {
	return contract.DatasetItem{
		Id: i.ItemID, Key: i.Key, Input: json.RawMessage(i.Input), ReferenceOutput: json.RawMessage(i.ReferenceOutput), Metadata: json.RawMessage(i.Metadata),
		Split: i.Split, Tags: list(i.Tags), SourceRunId: i.SourceRunID, SourceSpanId: i.SourceSpanID, ContentHash: hex.EncodeToString(i.ContentHash),
		RevisionAdded: i.AddedIn, CreatedAt: i.CreatedAt.UTC(),
	}
}
