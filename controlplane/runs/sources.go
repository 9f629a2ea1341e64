package runs

import (
	"context"
	"errors"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/looptrace/looptrace/controlplane/access"
)

// Limits of Sources.
const (
	// MaxSource is how many bytes of contents a source has. A larger one has none.
	MaxSource = 16 << 20
	// sourceRuns is how many runs are read together, with at most sourceSpans spans unless it is one run.
	sourceRuns  = 100
	sourceSpans = 5000
	// sourceBytes is how many bytes one statement reads for several runs. They are read apart if they have more.
	sourceBytes = 32 << 20
	// oneSourceBytes is the same for one run. Rows have more than what counts as content, and a span may have been received several times.
	oneSourceBytes = 4 * MaxSource
)

// SpanChoice chooses a span of a run: that with the id, or else the first or last one of a kind and name. Empty fields choose any.
type SpanChoice struct {
	// SpanID is 16 lower-case hexadecimal digits.
	SpanID     string
	Kind, Name string
	Last       bool
}

// Source is a run, or a span of it, with its whole contents.
type Source struct {
	// Whole is true for a run, false for a span.
	Whole bool
	// Run has its whole inputs and outputs if the source is the run.
	Run Run
	// Span is the chosen span, or the root of the run. It is nil if the run has no such span.
	Span *Span
	// TooLarge reports that the contents are larger than MaxSource, and left out.
	TooLarge bool
}

// Sources calls each with some of a project's runs, in their order, with the whole contents of each run or of a span of it. A nil choice
// chooses none. Runs that are gone are left out. It holds few sources in memory at once.
func (s *Service) Sources(ctx context.Context, projects access.Projects, selected []SelectedRun, choice *SpanChoice, each func(*Source) error) error {
	for from := 0; from < len(selected); {
		to, spans := from+1, selected[from].SpanCount
		for to < len(selected) && to-from < sourceRuns && (choice == nil || spans+selected[to].SpanCount <= sourceSpans) {
			spans += selected[to].SpanCount
			to++
		}
		if err := s.sourceBatch(ctx, projects, selected[from:to], choice, each); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// sourceBatch reads runs together, or in halves if they are too large for that.
func (s *Service) sourceBatch(ctx context.Context, projects access.Projects, selected []SelectedRun, choice *SpanChoice, each func(*Source) error) error {
	batch, err := s.readBatch(ctx, projects, selected, choice)
	var exception *ch.Exception
	if errors.As(err, &exception) && (exception.Code == codeTooManyBytesRows || exception.Code == codeMemoryLimit) {
		if len(selected) == 1 {
			if len(batch.rows) == 0 {
				return err
			}
			return each(&Source{Whole: batch.whole, Run: Run{Run: batch.rows[0]}, Span: &Span{}, TooLarge: true})
		}
		half := len(selected) / 2
		if err := s.sourceBatch(ctx, projects, selected[:half], choice, each); err != nil {
			return err
		}
		return s.sourceBatch(ctx, projects, selected[half:], choice, each)
	}
	if err != nil {
		return err
	}
	for i := range batch.rows {
		source, err := batch.source(i)
		if err != nil {
			return err
		}
		if err := each(source); err != nil {
			return err
		}
	}
	return nil
}
