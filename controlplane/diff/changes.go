package diff

import (
	"cmp"
	"context"
	"slices"
)

// comparison is how two aligned steps differ.
type comparison struct {
	distance float64
	changes  []Change
}

// bindings map the ids of one run to those of the other. An id is bound where it first occurs.
type bindings struct{ toB, toA map[string]string }

// bind reports whether two ids may stand for each other.
func (bs *bindings) bind(a, b string) bool {
	known, bound := bs.toB[a]
	back, backBound := bs.toA[b]
	if !bound && !backBound {
		bs.toB[a], bs.toA[b] = b, a
		return true
	}
	return bound && backBound && known == b && back == a
}

// compareAligned compares aligned steps, in an order that does not depend on which run comes first. Texts that differ only in ids are the
// same as long as each id of one run stands for one of the other.
func compareAligned(ctx context.Context, a, b *runTree, m *matching) map[int]comparison {
	xs := make([]int, 0, len(m.toB))
	for x, y := range m.toB {
		if y >= 0 {
			xs = append(xs, x)
		}
	}
	slices.SortFunc(xs, func(x, z int) int {
		return cmp.Or(
			cmp.Compare(x+m.toB[x], z+m.toB[z]), cmp.Compare(min(x, m.toB[x]), min(z, m.toB[z])),
			cmp.Compare(a.stepHash[x], a.stepHash[z]),
		)
	})
	bs := &bindings{map[string]string{}, map[string]string{}}
	found := make(map[int]comparison, len(xs))
	for _, x := range xs {
		if ctx.Err() != nil {
			return found
		}
		y := m.toB[x]
		t, u := &a.steps[x], &b.steps[y]
		l := comparison{distance: a.distance(b, x, y)}
		if t.kind != u.kind || t.name != u.name {
			l.changes = append(l.changes, Change{
				Field: fieldName, Distance: 1, base: &field{raw: t.kind + " " + t.name}, other: &field{raw: u.kind + " " + u.name},
			})
		}
		if t.status != u.status {
			l.changes = append(l.changes, Change{Field: fieldStatus, Distance: 1, base: &field{raw: t.status}, other: &field{raw: u.status}})
		}
		for _, fields := range [][2][]*field{{t.args, u.args}, {t.results, u.results}} {
			eachField(fields[0], fields[1], func(f, g *field) {
				d := fieldDistance(f, g)
				if d == 0 && f != nil && g != nil {
					d = bs.conflict(f, g)
					l.distance = min(1, l.distance+argsShare*d)
				}
				if d > 0 {
					l.changes = append(l.changes, Change{Field: nameOfEither(f, g), Distance: d, base: f, other: g})
				}
			})
		}
		found[x] = l
	}
	return found
}

// conflict is the share of two equal texts that are ids with another binding.
func (bs *bindings) conflict(f, g *field) float64 {
	bytes := 0
	for i := range min(len(f.maskedIDs), len(g.maskedIDs)) {
		if !bs.bind(f.maskedIDs[i], g.maskedIDs[i]) {
			bytes += max(len(f.maskedIDs[i]), len(g.maskedIDs[i]))
		}
	}
	if bytes == 0 {
		return 0
	}
	return float64(bytes) / float64(max(len(f.masked), len(g.masked), bytes))
}
