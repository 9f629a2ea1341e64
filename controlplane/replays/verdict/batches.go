package verdict

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// part is a batch of a trial.
type part struct{ controls, treatments []int }

// batches are those of the attempts that count, in the order of their numbers.
func (t *trial) batches() []part {
	parts := map[int64]part{}
	for _, i := range t.controls {
		p := parts[t.Attempts[i].Batch]
		p.controls = append(p.controls, i)
		parts[t.Attempts[i].Batch] = p
	}
	for _, i := range t.treatments {
		p := parts[t.Attempts[i].Batch]
		p.treatments = append(p.treatments, i)
		parts[t.Attempts[i].Batch] = p
	}
	list := make([]part, 0, len(parts))
	for _, batch := range slices.Sorted(maps.Keys(parts)) {
		list = append(list, parts[batch])
	}
	return list
}

// apart are the controls, and the treatments, that were made in a batch without the other role.
func (t *trial) apart() (controls, treatments []int) {
	if len(t.controls) == 0 || len(t.treatments) == 0 {
		return nil, nil
	}
	for _, p := range t.batches() {
		switch {
		case len(p.treatments) == 0:
			controls = append(controls, p.controls...)
		case len(p.controls) == 0:
			treatments = append(treatments, p.treatments...)
		}
	}
	return controls, treatments
}

// leaveOutOtherModels leaves out attempts that were made apart from those of the other role and answered by a model, or a version of it,
// that answered none of those: what differs can come from the model. Attempts of one batch stay, since what changes meets both roles.
func (t *trial) leaveOutOtherModels() {
	if t.ModelEdited {
		return
	}
	controls, _ := t.apart()
	t.controls = t.without(t.controls, controls, t.treatments, "controls")
	_, treatments := t.apart()
	t.treatments = t.without(t.treatments, treatments, t.controls, "treatments")
}

func (t *trial) without(places, apart, others []int, name string) (rest []int) {
	names := map[bool]map[string]bool{true: {}, false: {}}
	for _, i := range others {
		for _, model := range t.Attempts[i].Models {
			names[true][model] = true
		}
		for _, fingerprint := range t.Attempts[i].Fingerprints {
			names[false][fingerprint] = true
		}
	}
	from := ""
	other := func(own []string, known map[string]bool) bool {
		at := slices.IndexFunc(own, func(s string) bool { return !known[s] })
		if at < 0 || len(known) == 0 {
			return false
		}
		from = own[at]
		return true
	}
	var now map[string]bool
	for _, i := range places {
		a := &t.Attempts[i]
		switch {
		case !slices.Contains(apart, i):
		case other(a.Models, names[true]):
			now = names[true]
			continue
		case other(a.Fingerprints, names[false]):
			now = names[false]
			continue
		}
		rest = append(rest, i)
	}
	if now != nil {
		t.add("other_model", "%d of %d %s do not count: another model or version answered them (%s, and %s the other replays).",
			len(places)-len(rest), len(places), name, quote(from), quote(slices.Min(slices.Collect(maps.Keys(now)))))
	}
	return rest
}

// madeApart names what attempts that were made at another time than those of the other role cannot show.
func (ts trials) madeApart(v *Verdict) {
	counted, unnamed := [2]int{}, false
	for _, t := range ts {
		controls, treatments := t.apart()
		counted[0], counted[1] = counted[0]+len(controls), counted[1]+len(treatments)
		if len(controls)+len(treatments) == 0 {
			continue
		}
		unnamed = unnamed || slices.ContainsFunc(slices.Concat(t.controls, t.treatments), func(i int) bool {
			a := &t.Attempts[i]
			return a.DownstreamLive > 0 && (t.ModelEdited || len(a.Fingerprints) == 0)
		})
	}
	for role, name := range []string{"control", "treatment"} {
		if n := counted[role]; n > 0 {
			count, others := v.K, "treatments"
			if role == 1 {
				count, others = v.M, "controls"
			}
			left := "they do not count for cost and duration"
			if n == count {
				left = "cost and duration are not compared"
			}
			v.reason("made_apart", "%d of %s were made at another time than the %s. Prices, caches and load may have changed, so that %s.", n, plural(count, name), others, left)
		}
	}
	if unnamed {
		v.reason("version_unknown", "Some replays were made at another time, and nothing tells whether the same version of the model answered: it may have changed in between.")
	}
}

// muchCached is the difference of shares from a provider's cache that is named.
const muchCached = .1

// caches names a difference of what came from a provider's cache: it makes a run cheaper, and does not last.
func (ts trials) caches(v *Verdict) {
	var shares [2][]float64
	for _, t := range ts {
		for role, places := range [][]int{t.controls, t.treatments} {
			for _, i := range places {
				if share, ok := amount(t.Attempts[i].CachedShare); ok {
					shares[role] = append(shares[role], min(1, share))
				}
			}
		}
	}
	if len(shares[0]) == 0 || len(shares[1]) == 0 {
		return
	}
	slices.Sort(shares[0])
	slices.Sort(shares[1])
	if a, b := stat.Mean(shares[0], nil), stat.Mean(shares[1], nil); math.Abs(a-b) > muchCached {
		v.reason("cached_share", "The provider's cache had %s of the input of unedited replays, and %s of edited ones: part of a difference in cost is the cache's.", percent(a), percent(b))
	}
}
