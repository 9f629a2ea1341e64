package runs

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// spanKey names a span of a project.
type spanKey struct {
	run  uuid.UUID
	span uint64
}

// sourceSpan names the spans that a source is made of, 0 for none.
type sourceSpan struct {
	span, input, output uint64
	records             []uint64 // the log records that were merged with span
}

// sourcesRead is what was read of some runs.
type sourcesRead struct {
	whole bool // whether the sources are whole runs
	rows  []runmodel.Run
	of    []sourceSpan // of rows
	spans map[spanKey]runmodel.Span
	texts map[uuid.UUID]contentsByID
}

func (s *Service) readBatch(ctx context.Context, projects access.Projects, selected []SelectedRun, choice *SpanChoice) (sourcesRead, error) {
	batch := sourcesRead{whole: choice == nil}
	ids := make([]uuid.UUID, len(selected))
	for i := range selected {
		ids[i] = selected[i].RunID
	}
	locations, err := s.locationsOf(ctx, projects, ids)
	if err != nil || len(locations) == 0 {
		return batch, err
	}
	area := areaOf(projects, locations)
	limit := sourceBytes
	if len(selected) == 1 {
		limit = oneSourceBytes
	}
	bounded := s.with(options{resultBytes: limit})
	if batch.rows, err = bounded.runRows(ctx, area, ids); err != nil {
		return batch, err
	}
	batch.rows = slices.DeleteFunc(batch.rows, func(r runmodel.Run) bool { return r.Version <= locations[r.RunID].DeletedAt })
	if err := s.addFailedScores(ctx, projects, 0, pointers(batch.rows)); err != nil {
		return batch, err
	}
	if err := s.chooseSpans(ctx, area, locations, &batch, choice); err != nil {
		return batch, err
	}
	if err := bounded.readSpans(ctx, area, locations, &batch); err != nil {
		return batch, err
	}
	if batch.whole {
		if err := bounded.addPreviewed(ctx, area, locations, &batch); err != nil {
			return batch, err
		}
	}
	// A deletion that began meanwhile may have removed a part of what was read.
	if locations, err = s.locationsOf(ctx, projects, ids); err != nil {
		return batch, err
	}
	for i := len(batch.rows) - 1; i >= 0; i-- {
		if batch.rows[i].Version <= locations[batch.rows[i].RunID].DeletedAt {
			batch.rows, batch.of = slices.Delete(batch.rows, i, i+1), slices.Delete(batch.of, i, i+1)
		}
	}
	return batch, nil
}

// runRows reads the rows of runs, in the order of ids.
func (s *Service) runRows(ctx context.Context, area location, ids []uuid.UUID) ([]runmodel.Run, error) {
	w := inProjects()
	w.hours(area.FirstStart, area.LastStart)
	w.add("run_id IN (?)", ids)
	var rows []runmodel.Run
	if err := query(ctx, s.conn, area.projects, &rows, `SELECT `+runColumns+` FROM runs FINAL WHERE `+w.String(), w.args...); err != nil {
		return nil, err
	}
	newest := make(map[uuid.UUID]runmodel.Run, len(rows))
	for _, row := range rows {
		if known, ok := newest[row.RunID]; !ok || row.Version > known.Version {
			newest[row.RunID] = row
		}
	}
	ordered := make([]runmodel.Run, 0, len(newest))
	for _, id := range ids {
		if row, ok := newest[id]; ok {
			ordered = append(ordered, row)
		}
	}
	return ordered, nil
}

// skeletonColumns are what choices of spans depend on.
var skeletonColumns = "project_id, run_id, end_time, name, status, error_type, input_preview, output_preview, output_calls, " + strings.Join(treeColumns, ", ")

// skeletons reads the spans of runs without their contents, folded and in start order.
func (s *Service) skeletons(ctx context.Context, area location, locations map[uuid.UUID]location, ids []uuid.UUID) (map[uuid.UUID][]runmodel.Span, error) {
	w := inProjects()
	w.hours(area.FirstStart, area.LastStart)
	w.add("run_id IN (?)", ids)
	var versions []runmodel.Span
	if err := query(ctx, s.conn, area.projects, &versions, `SELECT `+skeletonColumns+` FROM spans WHERE `+w.String(), w.args...); err != nil {
		return nil, err
	}
	spans := make(map[uuid.UUID][]runmodel.Span, len(ids))
	for key, versions := range runmodel.ByRun(versions) {
		if versions = locations[key.RunID].dropDeleted(versions); len(versions) > 0 {
			spans[key.RunID] = runmodel.Fold(versions)
		}
	}
	return spans, nil
}

// chooseSpans sets the span of each row.
func (s *Service) chooseSpans(ctx context.Context, area location, locations map[uuid.UUID]location, batch *sourcesRead, choice *SpanChoice) error {
	batch.of = make([]sourceSpan, len(batch.rows))
	switch {
	case choice == nil:
		for i := range batch.rows {
			batch.of[i].span = batch.rows[i].RootSpanID
		}
		return nil
	case choice.SpanID != "":
		id, err := strconv.ParseUint(choice.SpanID, 16, 64)
		if err != nil {
			return nil //nolint:nilerr // no span has such an id
		}
		for i := range batch.rows {
			batch.of[i].span = id
		}
		return nil
	}
	spans, err := s.skeletons(ctx, area, locations, idsOf(batch.rows))
	if err != nil {
		return err
	}
	for i := range batch.rows {
		if span := choice.in(spans[batch.rows[i].RunID]); span != nil {
			batch.of[i].span, batch.of[i].records = span.SpanID, span.Records
		}
	}
	return nil
}

// in returns the chosen one of spans in start order, nil for none.
func (c *SpanChoice) in(spans []runmodel.Span) (chosen *runmodel.Span) {
	for i := range spans {
		if c.Kind != "" && spans[i].EffectiveKind() != c.Kind || c.Name != "" && spans[i].Name != c.Name {
			continue
		}
		if chosen = &spans[i]; !c.Last {
			break
		}
	}
	return chosen
}

// readSpans reads the named spans with their contents.
func (s *Service) readSpans(ctx context.Context, area location, locations map[uuid.UUID]location, batch *sourcesRead) error {
	wanted := map[spanKey]bool{}
	merged := map[uuid.UUID]spanIDs{}
	var runIDs []uuid.UUID
	var ids []uint64
	for i := range batch.rows {
		run, of := batch.rows[i].RunID, batch.of[i]
		before := len(ids)
		for _, id := range []uint64{of.span, of.input, of.output} {
			if _, known := batch.spans[spanKey{run, id}]; id != 0 && !known && !wanted[spanKey{run, id}] {
				wanted[spanKey{run, id}] = true
				ids = append(ids, id)
			}
		}
		if len(ids) > before {
			runIDs = append(runIDs, run)
			ids = append(ids, of.records...)
			merged[run] = idsOfSpan(of.span, of.records)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	w := inProjects()
	w.hours(area.FirstStart, area.LastStart)
	w.add("run_id IN (?) AND span_id IN (?)", runIDs, ids)
	var versions []runmodel.Span
	if err := query(ctx, s.conn, area.projects, &versions, `SELECT * EXCEPT escaped_words FROM spans WHERE `+w.String(), w.args...); err != nil {
		return err
	}
	var found []runmodel.Span
	for key, versions := range runmodel.ByRun(versions) {
		for _, span := range merged[key.RunID].fold(locations[key.RunID].dropDeleted(versions)) {
			if wanted[spanKey{key.RunID, span.SpanID}] {
				span.ResourceID = 0 // it is not read
				found = append(found, span)
			}
		}
	}
	texts, err := s.contentsOfRuns(ctx, area, found)
	if err != nil {
		return err
	}
	if batch.spans == nil {
		batch.spans, batch.texts = map[spanKey]runmodel.Span{}, map[uuid.UUID]contentsByID{}
	}
	for i := range found {
		batch.spans[spanKey{found[i].RunID, found[i].SpanID}] = found[i]
	}
	for run, contents := range texts {
		if batch.texts[run] == nil {
			batch.texts[run] = contentsByID{}
		}
		maps.Copy(batch.texts[run], contents)
	}
	return nil
}

// contentsOfRuns reads the contents of spans of several runs.
func (s *Service) contentsOfRuns(ctx context.Context, area location, spans []runmodel.Span) (map[uuid.UUID]contentsByID, error) {
	type contentKey struct {
		run uuid.UUID
		id  uint64
	}
	wanted := map[contentKey]bool{}
	ids, runIDs := map[uint64]bool{}, map[uuid.UUID]bool{}
	for i := range spans {
		span := &spans[i]
		for _, id := range slices.Concat(span.InputMessageIDs, span.OutputMessageIDs, []uint64{span.InstructionsID, span.ToolDefinitionsID}) {
			if id != 0 {
				wanted[contentKey{span.RunID, id}], ids[id], runIDs[span.RunID] = true, true, true
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	var contents []runmodel.Content
	for some := range slices.Chunk(slices.Sorted(maps.Keys(ids)), idsAtOnce) {
		w := inProjects()
		w.add("hour BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?)",
			area.FirstStart.Truncate(time.Hour).Unix(), area.LastStart.Truncate(time.Hour).Unix())
		w.add("run_id IN (?)", slices.Collect(maps.Keys(runIDs)))
		w.add("(content_id IN (?) OR notEmpty(shared_ids))", some)
		var rows []runmodel.Content
		if err := query(ctx, s.conn, area.projects, &rows, `SELECT project_id, hour, run_id, content_id, kind, shared_ids, shared_tails, `+fullContent+` FROM contents AS c WHERE `+w.String(), w.args...); err != nil {
			return nil, err
		}
		for i := range rows {
			for content := range rows[i].Each() {
				if key := (contentKey{content.RunID, content.ContentID}); wanted[key] {
					contents = append(contents, content)
					delete(wanted, key) // each chunk reads the shared ones
				}
			}
		}
	}
	if err := s.fillShared(ctx, area, contents, fullContent); err != nil {
		return nil, err
	}
	byRun := make(map[uuid.UUID]contentsByID, len(runIDs))
	for _, content := range contents {
		if content.Frame == "" {
			continue
		}
		if byRun[content.RunID] == nil {
			byRun[content.RunID] = contentsByID{}
		}
		byRun[content.RunID][content.ContentID] = content
	}
	return byRun, nil
}

// addPreviewed reads the spans that inputs and outputs of runs are those of, where roots have none.
func (s *Service) addPreviewed(ctx context.Context, area location, locations map[uuid.UUID]location, batch *sourcesRead) error {
	var lacking []uuid.UUID
	for i := range batch.rows {
		row := &batch.rows[i]
		root := batch.spans[spanKey{row.RunID, row.RootSpanID}]
		if row.InputPreview != "" && batch.input(&root) == "" || row.OutputPreview != "" && batch.output(&root) == "" {
			lacking = append(lacking, row.RunID)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	spans, err := s.skeletons(ctx, area, locations, lacking)
	if err != nil {
		return err
	}
	for i := range batch.rows {
		own := spans[batch.rows[i].RunID]
		if len(own) == 0 {
			continue
		}
		input, output := runmodel.PreviewSpans(own)
		if input >= 0 {
			batch.of[i].input = own[input].SpanID
		}
		if output >= 0 {
			batch.of[i].output = own[output].SpanID
		}
	}
	return s.readSpans(ctx, area, locations, batch)
}

// input and output return what Span.Inputs and Span.Outputs are. Messages that cannot be read have no text here; [contentsByID.join]
// reports them.
func (b *sourcesRead) input(span *runmodel.Span) string {
	if text := cmp.Or(span.Inputs, span.ToolArguments); text != "" {
		return text
	}
	messages, _ := b.texts[span.RunID].messages(span.InputMessageIDs)
	return lastQuestion(messages)
}

func (b *sourcesRead) output(span *runmodel.Span) string {
	if text := cmp.Or(span.Outputs, span.ToolResult); text != "" {
		return text
	}
	messages, _ := b.texts[span.RunID].messages(span.OutputMessageIDs)
	return lastText(messages)
}

// source makes the source of a row.
func (b *sourcesRead) source(i int) (*Source, error) {
	row, of := b.rows[i], b.of[i]
	source := &Source{Whole: b.whole, Run: Run{Run: row}}
	folded, ok := b.spans[spanKey{row.RunID, of.span}]
	if !ok {
		if !b.whole {
			return source, nil
		}
		folded = runmodel.Span{RunID: row.RunID}
	}
	contents := b.texts[row.RunID]
	if contents.size(&folded) > MaxSource {
		source.Span, source.TooLarge = &Span{Span: runmodel.Span{SpanID: folded.SpanID, Name: folded.Name}}, true
		return source, nil
	}
	span, err := contents.join(folded)
	if err != nil {
		return nil, err
	}
	source.Span = &span
	if !b.whole {
		return source, nil
	}
	input, output := b.input(&folded), b.output(&folded)
	if previewed, ok := b.spans[spanKey{row.RunID, of.input}]; ok && input == "" {
		input = b.input(&previewed)
	}
	if previewed, ok := b.spans[spanKey{row.RunID, of.output}]; ok && output == "" {
		output = b.output(&previewed)
	}
	source.Run.Inputs, source.Run.Outputs = nonEmpty(input), nonEmpty(output)
	return source, nil
}

// size is how many bytes a span has with its contents.
func (c contentsByID) size(span *runmodel.Span) int {
	size := len(span.Inputs) + len(span.Outputs) + len(span.ToolArguments) + len(span.ToolResult)
	for _, attributes := range []map[string]string{span.Attributes, span.AttributesJSON, span.Metadata} {
		for key, value := range attributes {
			size += len(key) + len(value)
		}
	}
	for _, id := range slices.Concat(span.InputMessageIDs, span.OutputMessageIDs, []uint64{span.InstructionsID, span.ToolDefinitionsID}) {
		content := c[id]
		size += len(content.Frame)
		for _, text := range content.Texts {
			size += len(text)
		}
	}
	return size
}
