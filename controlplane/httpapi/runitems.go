package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/jsonselect"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// Limits of one call that adds runs to a dataset.
const (
	maxAddedRuns   = 10_000
	maxAddedBytes  = 64 << 20
	maxPreviewRuns = 5
)

type runSources interface {
	Select(ctx context.Context, in access.Projects, selection runs.Selection, limit int) (runs.Selected, error)
	Sample(ctx context.Context, in access.Projects, filter runs.Filter, limit int, seed int64) (runs.Selected, error)
	Sources(ctx context.Context, in access.Projects, selected []runs.SelectedRun, choice *runs.SpanChoice, each func(*runs.Source) error) error
}

// AddRunsToDataset makes items of a dataset from runs.
func (h datasetHandlers) AddRunsToDataset(ctx context.Context, req contract.AddRunsToDatasetRequestObject) (contract.AddRunsToDatasetResponseObject, error) {
	adding, err := runItemsOf(req.Body)
	if err != nil {
		return nil, err
	}
	grant := grantOf(ctx)
	dataset, err := h.datasets.Get(ctx, grant, req.Body.DatasetId)
	if err != nil {
		return nil, err
	}
	if req.Body.Filter != nil && adding.selection.ProjectID != dataset.ProjectID {
		return nil, problem.InvalidField("body.filter.project_id", "must be the project of the dataset")
	}
	adding.selection.ProjectID = dataset.ProjectID
	if err := adding.read(ctx, h.runs, grant.Only(dataset.ProjectID)); err != nil {
		return nil, err
	}
	answer := contract.RunsAdded{
		Revision: dataset.Revision, Selected: len(adding.items) + len(adding.skipped), Skipped: adding.skipped, Preview: adding.preview, AsOf: adding.asOf,
	}
	if len(adding.items) > 0 {
		written, err := h.datasets.Write(ctx, grant, dataset.ID, datasets.Write{
			Items: adding.items, Mode: datasets.ModeAppend, Kind: datasets.KindRuns, Dedupe: true, SkipMisfits: true,
			DryRun: adding.dryRun, Note: valueOf(req.Body.Note, ""),
		})
		if err != nil {
			return nil, err
		}
		answer.Revision, answer.Added, answer.Unchanged = written.Revision, written.Added, written.Unchanged
		for _, misfit := range written.Misfits {
			run := *adding.items[misfit.Index].SourceRunID
			answer.Skipped = append(answer.Skipped, contract.RunSkipped{RunId: run, Reason: misfit.Text})
			if i := slices.IndexFunc(answer.Preview, func(p contract.RunItemPreview) bool { return p.RunId == run }); i >= 0 {
				answer.Preview[i].Skipped = &misfit.Text
			}
		}
	}
	if adding.dryRun {
		return contract.AddRunsToDataset200JSONResponse(answer), nil
	}
	return contract.AddRunsToDataset201JSONResponse(answer), nil
}

// runItems are items made from runs.
type runItems struct {
	selection                        runs.Selection
	choice                           *runs.SpanChoice
	input, referenceOutput, metadata *jsonselect.Path // the last two may be nil
	split                            *string
	tags                             []string
	dryRun                           bool

	items   []datasets.NewItem
	skipped []contract.RunSkipped
	preview []contract.RunItemPreview
	bytes   int
	asOf    time.Time
}

// runItemsOf reads a request.
func runItemsOf(body *contract.RunsToDataset) (*runItems, error) {
	r := &runItems{
		tags: valueOf(body.Tags, nil), dryRun: valueOf(body.DryRun, false),
		skipped: []contract.RunSkipped{}, preview: []contract.RunItemPreview{},
	}
	err := errors.Join(r.readSelection(body), r.readChoice(body), r.readMap(body.Map))
	if body.Split != nil {
		split, splitErr := validate.Name("body.split", *body.Split)
		r.split, err = &split, errors.Join(err, splitErr)
	}
	for i, tag := range r.tags {
		_, tagErr := validate.Name(fmt.Sprintf("body.tags[%d]", i), tag)
		err = errors.Join(err, tagErr)
	}
	return r, err
}

func (r *runItems) readSelection(body *contract.RunsToDataset) error {
	switch {
	case body.Filter != nil && body.RunIds != nil:
		return problem.InvalidField("body.filter", "must not be given together with run_ids")
	case body.RunIds != nil && body.ReceivedBefore != nil:
		return problem.InvalidField("body.received_before", "is only for a filter")
	case body.RunIds != nil:
		seen := map[uuid.UUID]bool{}
		for _, id := range *body.RunIds {
			if !seen[id] {
				seen[id] = true
				r.selection.RunIDs = append(r.selection.RunIDs, id)
			}
		}
		return nil
	case body.Filter == nil:
		return problem.InvalidField("body.run_ids", "is required, or filter")
	}
	var err error
	r.selection.Filter, err = runFilter(body.Filter, "body.filter")
	if body.ReceivedBefore != nil {
		err = errors.Join(err, validate.Time("body.received_before", *body.ReceivedBefore))
		r.selection.ReceivedBefore = body.ReceivedBefore.UTC()
	}
	return err
}

func (r *runItems) readChoice(body *contract.RunsToDataset) error {
	span := body.Span
	if span == nil {
		return nil
	}
	r.choice = &runs.SpanChoice{
		SpanID: valueOf(span.SpanId, ""), Kind: valueOf(span.Kind, ""), Name: valueOf(span.Name, ""),
		Last: valueOf(span.Occurrence, contract.First) == contract.Last,
	}
	switch {
	case span.SpanId == nil && span.Kind == nil && span.Name == nil:
		return problem.InvalidField("body.span", "needs span_id, kind or name; leave span out for the run as a whole")
	case span.SpanId == nil:
		return nil
	case span.Kind != nil || span.Name != nil || span.Occurrence != nil:
		return problem.InvalidField("body.span.span_id", "must not be given together with kind, name or occurrence")
	case len(r.selection.RunIDs) != 1:
		return problem.InvalidField("body.span.span_id", "needs run_ids with one run")
	}
	return nil
}

func (r *runItems) readMap(given *contract.RunItemMap) error {
	if given == nil {
		given = &contract.RunItemMap{}
	}
	var err error
	parse := func(name, text string) *jsonselect.Path {
		path, parseErr := jsonselect.Parse(text)
		if parseErr != nil {
			err = errors.Join(err, problem.InvalidField("body.map."+name, parseErr.Error()))
		}
		return path
	}
	r.input = parse("input", valueOf(given.Input, "$.input"))
	if text := textOf(given.ReferenceOutput, "$.output"); text != "" {
		r.referenceOutput = parse("reference_output", text)
	}
	if text := textOf(given.Metadata, ""); text != "" {
		r.metadata = parse("metadata", text)
	}
	return err
}

// textOf returns the text of a JSON string, "" for null, and the default for none.
func textOf(given json.RawMessage, absent string) string {
	if given == nil {
		return absent
	}
	var text string
	_ = json.Unmarshal(given, &text) // it was validated
	return text
}

// read reads the selected runs and makes their items.
func (r *runItems) read(ctx context.Context, from runSources, in access.Projects) error {
	selected, err := from.Select(ctx, in, r.selection, maxAddedRuns)
	if err != nil {
		return err
	}
	r.asOf = selected.AsOf
	if selected.Matched > maxAddedRuns {
		return &problem.Error{
			Kind: problem.Invalid, Code: "too_many_runs",
			Detail: fmt.Sprintf("The filter selects %d runs; one call adds at most %d. Narrow the filter, or add the runs in parts by start_after and start_before.", selected.Matched, maxAddedRuns),
			Fields: []problem.Field{{Location: "body.filter", Message: fmt.Sprintf("selects %d runs, more than %d", selected.Matched, maxAddedRuns)}},
		}
	}
	if len(r.selection.RunIDs) > 0 {
		selected.Runs = r.asGiven(selected.Runs)
	}
	return r.makeAll(ctx, from, in, selected.Runs, func(*runs.Source) {})
}

// makeAll makes the items of runs. It calls made with the source of each item.
func (r *runItems) makeAll(ctx context.Context, from runSources, in access.Projects, selected []runs.SelectedRun, made func(*runs.Source)) error {
	seen := make(map[uuid.UUID]bool, len(selected))
	err := from.Sources(ctx, in, selected, r.choice, func(source *runs.Source) error {
		seen[source.Run.RunID] = true
		before := len(r.items)
		err := r.add(source)
		if len(r.items) > before {
			made(source)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, run := range selected {
		if !seen[run.RunID] {
			r.skip(run.RunID, reasonNotFound) // it was deleted meanwhile
		}
	}
	return nil
}

const reasonNotFound = "not found"

// asGiven returns found runs in the order of the request, and skips the others.
func (r *runItems) asGiven(found []runs.SelectedRun) []runs.SelectedRun {
	byID := make(map[uuid.UUID]runs.SelectedRun, len(found))
	for _, run := range found {
		byID[run.RunID] = run
	}
	ordered := make([]runs.SelectedRun, 0, len(found))
	for _, id := range r.selection.RunIDs {
		if run, ok := byID[id]; ok {
			ordered = append(ordered, run)
		} else {
			r.skip(id, reasonNotFound)
		}
	}
	return ordered
}

func (r *runItems) skip(run uuid.UUID, reason string) {
	r.skipped = append(r.skipped, contract.RunSkipped{RunId: run, Reason: reason})
}

// add makes the item of a source, or skips its run.
func (r *runItems) add(source *runs.Source) error {
	run := source.Run.RunID
	item, reason, err := r.itemOf(source)
	if err != nil {
		return err
	}
	if r.dryRun && len(r.preview) < maxPreviewRuns {
		r.preview = append(r.preview, previewOf(source, item, reason))
	}
	if reason != "" {
		r.skip(run, reason)
		return nil
	}
	if r.bytes += len(item.Input) + len(item.ReferenceOutput) + len(item.Metadata); r.bytes > maxAddedBytes {
		return &problem.Error{
			Kind: problem.Invalid, Code: "contents_too_large",
			Detail: fmt.Sprintf("The items of the first %d runs have more than %d MiB in all, which is the most of one call. Add fewer runs at once, or choose less of each by map.",
				len(r.items)+1, maxAddedBytes>>20),
		}
	}
	r.items = append(r.items, item)
	return nil
}

// itemOf makes the item of a source. The reason is why it makes none.
func (r *runItems) itemOf(source *runs.Source) (item datasets.NewItem, reason string, err error) {
	item = datasets.NewItem{SourceRunID: &source.Run.RunID, Split: r.split, Tags: r.tags}
	if reason = r.unusable(source); reason != "" {
		return item, reason, nil
	}
	if !source.Whole {
		id := runmodel.FormatSpanID(source.Span.SpanID)
		item.SourceSpanID = &id
	}
	members, err := source.Document()
	if err != nil {
		return item, "", fmt.Errorf("read run %s: %w", source.Run.RunID, err)
	}
	document := jsonselect.NewDocument(members)
	var reasons []string
	for _, part := range []struct {
		path *jsonselect.Path
		to   *json.RawMessage
	}{{r.input, &item.Input}, {r.referenceOutput, &item.ReferenceOutput}, {r.metadata, &item.Metadata}} {
		if part.path == nil {
			continue
		}
		value, reason := valueAt(document, part.path, source)
		if part.path == r.metadata && reason == "" && !bytes.HasPrefix(value, []byte("{")) {
			reason = shortPath(part.path) + " is not an object"
		}
		if reason != "" {
			reasons = append(reasons, reason)
			continue
		}
		*part.to = value
	}
	return item, strings.Join(reasons, "; "), nil
}

// unusable says why a source makes no item, whatever the paths.
func (r *runItems) unusable(source *runs.Source) string {
	switch {
	case source.Span == nil && r.choice.SpanID != "":
		return "has no span with the id " + r.choice.SpanID
	case source.Span == nil:
		var parts []string
		if r.choice.Kind != "" {
			parts = append(parts, "of the kind "+r.choice.Kind)
		}
		if r.choice.Name != "" {
			parts = append(parts, "with the name "+shorten(r.choice.Name))
		}
		return "has no span " + strings.Join(parts, " ")
	case source.TooLarge:
		return fmt.Sprintf("has more than %d MiB of contents", runs.MaxSource>>20)
	case !source.Whole && source.Span.EffectiveStatus() == runmodel.StatusRunning:
		return "the span has not ended"
	case source.Run.Status == runmodel.StatusRunning && (source.Whole || r.choice.SpanID == ""):
		return "has not ended" // another span may still come, and the output
	}
	return ""
}

// valueAt returns what a path finds: one value, or a list of several. The reason is why there is none.
func valueAt(document *jsonselect.Document, path *jsonselect.Path, source *runs.Source) (value json.RawMessage, reason string) {
	found, err := path.Select(document)
	if err != nil {
		return nil, shortPath(path) + " " + err.Error()
	}
	size := 0
	for _, one := range found {
		size += len(one)
	}
	switch {
	case size > runs.MaxSource:
		return nil, fmt.Sprintf("%s finds more than %d MiB", shortPath(path), runs.MaxSource>>20)
	case len(found) == 0:
		reason = shortPath(path) + " finds nothing"
		if member := path.Member(); member != "" && !document.Has(member) {
			reason += ": " + source.NotRecorded(member)
		}
		return nil, reason
	case len(found) == 1:
		return bytes.Clone(found[0]), "" // the rest of the document can go
	}
	return slices.Concat(json.RawMessage("["), bytes.Join(rawBytes(found), []byte(",")), json.RawMessage("]")), ""
}

func rawBytes(values []json.RawMessage) [][]byte {
	list := make([][]byte, len(values))
	for i, value := range values {
		list[i] = value
	}
	return list
}

// shortPath is the path in a reason. There are as many reasons as runs.
func shortPath(path *jsonselect.Path) string { return shorten(path.String()) }

func shorten(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return utf8text.Bytes(text, most) + "…"
}
