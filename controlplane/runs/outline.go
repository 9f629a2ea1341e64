package runs

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Limits of outlines and excerpts.
const (
	// maxOutlineVersions is how many versions of spans an outline reads, in start order.
	maxOutlineVersions = 400_000
	// firstVersions is how many of them are read together with the run, before their number is known.
	firstVersions = 4_000
	// MaxExcerpt is how many bytes of a text to show of an excerpt. An excerpt has one byte more if the text was longer.
	MaxExcerpt = 16 << 10
	// maxFrame is how many bytes a message may have besides its texts.
	maxFrame = 64 << 10
	// excerptMessages is how many of the newest input messages of a span an excerpt has.
	excerptMessages = 4
)

// Outline is a run with all its spans, folded and in start order, without their texts.
type Outline struct {
	Run   runmodel.Run
	Spans []runmodel.Span
	// Partial reports that the run has more spans than an outline reads.
	Partial bool

	location location
}

// Outline reads a run and its spans without their texts.
func (s *Service) Outline(ctx context.Context, projects access.Projects, runID uuid.UUID) (Outline, error) {
	return located(ctx, s, projects, runID, s.outlineAt)
}

func (s *Service) outlineAt(ctx context.Context, loc location, runID uuid.UUID) (Outline, error) {
	w := loc.where(runID)
	var run runmodel.Run
	var versions []runmodel.Span
	group, groupContext := errgroup.WithContext(ctx)
	early, tooMany := context.WithCancel(groupContext)
	defer tooMany()
	group.Go(func() (err error) {
		if run, err = s.runRow(groupContext, loc, runID); err == nil && loc.versions(run) > firstVersions {
			tooMany()
		}
		return err
	})
	group.Go(func() (err error) {
		versions, err = s.outlineVersions(early, loc, w, 0, firstVersions+1)
		if early.Err() != nil && groupContext.Err() == nil {
			return nil // cancelled by tooMany
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return Outline{}, err
	}
	if loc.versions(run) > firstVersions || len(versions) > firstVersions {
		// Rows are large, so avoid copying them.
		capacity := int(min(loc.versions(run), maxOutlineVersions+1))
		var err error
		if versions, err = s.outlineVersions(ctx, loc, w, capacity, maxOutlineVersions+1); err != nil {
			return Outline{}, err
		}
	}
	if len(versions) == 0 {
		return Outline{}, ErrNotFound
	}
	if err := s.addFailedScores(ctx, loc.projects, loc.DeletedAt, []*runmodel.Run{&run}); err != nil {
		return Outline{}, err
	}
	outline := Outline{Run: run, Partial: len(versions) > maxOutlineVersions, location: loc}
	outline.Spans = runmodel.Fold(versions[:min(len(versions), maxOutlineVersions)])
	return outline, nil
}

// versions is how many versions of spans a run has. The row of a run that began anew after a deletion counts from DeletedAt on.
func (loc location) versions(run runmodel.Run) uint64 {
	return run.Version - min(run.Version, loc.DeletedAt)
}

// outlineVersions reads versions of a run's spans in start order.
func (s *Service) outlineVersions(ctx context.Context, loc location, w where, capacity, limit int) ([]runmodel.Span, error) {
	versions := make([]runmodel.Span, 0, capacity)
	err := query(ctx, s.conn, loc.projects, &versions, `SELECT `+outlineColumns+` FROM spans WHERE `+w.String()+`
		ORDER BY start_time, span_id LIMIT ?`, append(slices.Clone(w.args), limit)...)
	return versions, err
}

// Node is a span of an outline in the run's tree.
type Node struct {
	Span   int // index in Outline.Spans
	Parent int // index among the nodes, -1 for none
}

// Tree lists the spans depth first, siblings in start order. A span whose parent is missing is a root. Parents that form a circle are cut
// at the span that started first.
func (o Outline) Tree() []Node {
	children := childrenOf(o.Spans)
	isChild := make([]bool, len(o.Spans))
	for _, list := range children {
		for _, child := range list {
			isChild[child] = true
		}
	}
	nodes := make([]Node, 0, len(o.Spans))
	placed := make([]bool, len(o.Spans))
	var stack []Node
	visit := func(root int) {
		stack = append(stack, Node{root, -1})
		for len(stack) > 0 {
			node := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if placed[node.Span] {
				continue
			}
			placed[node.Span] = true
			for _, child := range slices.Backward(children[node.Span]) {
				stack = append(stack, Node{child, len(nodes)})
			}
			nodes = append(nodes, node)
		}
	}
	for i := range o.Spans {
		if !isChild[i] {
			visit(i)
		}
	}
	for i := range o.Spans {
		if !placed[i] {
			visit(i)
		}
	}
	return nodes
}
