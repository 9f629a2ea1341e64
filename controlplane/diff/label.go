package diff

import (
	"cmp"
	"slices"
)

// labelled is what is known of two steps that belong together.
type labelled struct {
	distance float64
	changes  []Change
}

// bindings say which id of one run stands for which of the other: the first time that they stand at the same place.
type bindings struct{ toB, toA map[string]string }

// bind tells whether two ids may stand for each other.
func (bs *bindings) bind(a, b string) bool {
	known, bound := bs.toB[a]
	back, backBound := bs.toA[b]
	if !bound && !backBound {
		bs.toB[a], bs.toA[b] = b, a
		return true
	}
	return bound && backBound && known == b && back == a
}

// label compares steps that belong together, in an order that does not depend on which run comes first. Texts that are
// equal but for ids are the same as long as each id of one run stands for one of the other.
func label(a, b *side, m *matching) map[int]labelled {
	xs := make([]int, 0, len(m.toB))
	for x, y := range m.toB {
		if y >= 0 {
			xs = append(xs, x)
		}
	}
	slices.SortFunc(xs, func(x, z int) int {
		return cmp.Or(
			cmp.Compare(x+m.toB[x], z+m.toB[z]), cmp.Compare(min(x, m.toB[x]), min(z, m.toB[z])),
			cmp.Compare(a.own[x], a.own[z]),
		)
	})
	bs := &bindings{map[string]string{}, map[string]string{}}
	found := make(map[int]labelled, len(xs))
	for _, x := range xs {
		y := m.toB[x]
		t, u := &a.steps[x], &b.steps[y]
		l := labelled{distance: a.distance(b, x, y)}
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

// conflict is the share of two equal texts that are ids which stand for others than they did before.
func (bs *bindings) conflict(f, g *field) float64 {
	bytes := 0
	for i := range min(len(f.behind), len(g.behind)) {
		if !bs.bind(f.behind[i], g.behind[i]) {
			bytes += max(len(f.behind[i]), len(g.behind[i]))
		}
	}
	if bytes == 0 {
		return 0
	}
	return float64(bytes) / float64(max(len(f.masked), len(g.masked), bytes))
}
