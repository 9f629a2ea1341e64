package runs

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Bounds of what an outline and its excerpts read.
const (
	// maxOutlineVersions is how many versions of spans an outline takes in, in start order.
	maxOutlineVersions = 400_000
	// firstVersions is how many of them are read beside the run, before it is known how many there are.
	firstVersions = 4_000
	// MaxExcerpt is how much of one text an excerpt is to show, in bytes. It gives a byte more where there is more.
	MaxExcerpt = 16 << 10
	// maxFrame is how large what a message has besides its texts may be, in bytes.
	maxFrame = 64 << 10
	// excerptMessages is how many of the newest input messages of a span an excerpt gives.
	excerptMessages = 4
)

// Outline is a run with all its spans, folded and in start order, without their texts.
type Outline struct {
	Run   runmodel.Run
	Spans []runmodel.Span
	// Partial tells that the run has more spans than an outline takes in.
	Partial bool

	location location
}

// Outline reads a run and what its spans are, without their texts.
func (s *Service) Outline(ctx context.Context, projects access.Projects, runID uuid.UUID) (Outline, error) {
	return located(ctx, s, projects, runID, s.outlineAt)
}

func (s *Service) outlineAt(ctx context.Context, loc location, runID uuid.UUID) (Outline, error) {
	w := loc.where(runID)
	var rows []runmodel.Run
	var versions []runmodel.Span
	group, groupContext := errgroup.WithContext(ctx)
	soon, tooMany := context.WithCancel(groupContext)
	defer tooMany()
	group.Go(func() error {
		err := query(groupContext, s.conn, loc.projects, &rows, `SELECT `+runColumns+` FROM runs FINAL WHERE `+w.String()+`
			ORDER BY version DESC LIMIT 1`, w.args...)
		if err == nil && (len(rows) == 0 || loc.versions(rows[0]) > firstVersions) {
			tooMany()
		}
		return err
	})
	group.Go(func() (err error) {
		versions, err = s.outlineVersions(soon, loc, w, 0, firstVersions+1)
		if soon.Err() != nil && groupContext.Err() == nil {
			return nil // it was given up
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return Outline{}, err
	}
	if len(rows) == 0 {
		return Outline{}, ErrNotFound
	}
	if loc.versions(rows[0]) > firstVersions || len(versions) > firstVersions {
		// Rows are large: no second copy.
		capacity := int(min(loc.versions(rows[0]), maxOutlineVersions+1))
		var err error
		if versions, err = s.outlineVersions(ctx, loc, w, capacity, maxOutlineVersions+1); err != nil {
			return Outline{}, err
		}
	}
	if len(versions) == 0 {
		return Outline{}, ErrNotFound
	}
	outline := Outline{Run: rows[0], Partial: len(versions) > maxOutlineVersions, location: loc}
	outline.Spans = runmodel.Fold(versions[:min(len(versions), maxOutlineVersions)])
	return outline, nil
}

// versions is how many versions of spans a run has. The row of one that began anew after it was deleted counts from the deletion on.
func (loc location) versions(run runmodel.Run) uint64 {
	return run.Version - min(run.Version, loc.DeletedAt)
}

// outlineVersions reads versions of a run's spans, in start order.
func (s *Service) outlineVersions(ctx context.Context, loc location, w where, capacity, limit int) ([]runmodel.Span, error) {
	versions := make([]runmodel.Span, 0, capacity)
	err := query(ctx, s.conn, loc.projects, &versions, `SELECT `+outlineColumns+` FROM spans WHERE `+w.String()+`
		ORDER BY start_time, span_id LIMIT ?`, append(slices.Clone(w.args), limit)...)
	return versions, err
}

// Node is a span of an outline in its place in the run's tree.
type Node struct {
	Span   int // its place in Outline.Spans
	Parent int // its parent's place among the nodes, -1 for none
}

// Tree lists the spans each parent before its children, and siblings in start order. A span whose parent is not there
// stands beside the root; parents that form a circle are cut where the earliest of them starts.
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
