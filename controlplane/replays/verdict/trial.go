package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// Settings where the input has none.
const (
	defaultAlpha = .05
	defaultDelta = .2
)

// trial is the input of one run, with the attempts that count.
type trial struct {
	*Input
	// controls and treatments are places in Attempts. Their order depends only on what the attempts did, so that sums do not change by
	// their last digits when attempts come in another order.
	controls, treatments []int
	reasons              []Reason
	// all is the level of all looks together; Alpha is that of this one.
	all float64
}

func newTrial(in Input) *trial {
	if in.Alpha == 0 {
		in.Alpha = defaultAlpha
	}
	all := in.Alpha
	in.Alpha = levelOf(all, in.Looks)
	if in.Delta == 0 {
		in.Delta = defaultDelta
	}
	t := &trial{Input: &in, all: all}
	var left [2]int
	why := [2]map[string]int{{}, {}}
	for i := range in.Attempts {
		a := &in.Attempts[i]
		role := 0
		if a.Role == Treatment {
			role = 1
		}
		fails := in.Failure != nil && role == 1 && a.ReachedEdit // what it did until then is known
		switch {
		case a.Unfinished != "" && !fails:
			left[role]++
			why[role][a.Unfinished]++
		case !a.ReachedEdit:
			left[role]++
			why[role]["ended before the edited step"]++
		case role == 0:
			t.controls = append(t.controls, i)
		default:
			t.treatments = append(t.treatments, i)
		}
	}
	t.leaveOutOtherModels()
	slices.SortStableFunc(t.controls, t.order)
	slices.SortStableFunc(t.treatments, t.order)
	for role, name := range []string{"controls", "treatments"} {
		if left[role] == 0 {
			continue
		}
		var causes []string
		for _, cause := range slices.Sorted(maps.Keys(why[role])) {
			causes = append(causes, fmt.Sprintf("%d: %s", why[role][cause], quote(cause)))
		}
		t.add("unfinished", "%d of %d %s did not finish and do not count (%s).", left[role], left[role]+len([][]int{t.controls, t.treatments}[role]), name, strings.Join(causes, ", "))
	}
	return t
}

// firstLook is the part of the level that the first look spends. It lets the default design find an effect in one of five channels, which it
// can with p of 5/126.
const firstLook = .8

// levelOf is the level of a look after others. A later look spends half of what is left, so that all of them together spend no more than
// alpha, however many follow and whatever makes people look again (Bonferroni).
func levelOf(alpha float64, looks int) float64 {
	if looks <= 0 {
		return firstLook * alpha
	}
	return (1 - firstLook) * alpha * math.Pow(.5, float64(looks))
}

func (t *trial) add(code, format string, values ...any) {
	t.reasons = append(t.reasons, Reason{code, fmt.Sprintf(format, values...)})
}

// order compares attempts by what they did.
func (t *trial) order(i, j int) int {
	a, b := &t.Attempts[i], &t.Attempts[j]
	by := cmp.Or(cmp.Compare(a.Decisions, b.Decisions), cmp.Compare(a.Bytes, b.Bytes))
	for _, pair := range [][2]*float64{{a.Outcome, b.Outcome}, {a.CostUSD, b.CostUSD}, {a.DurationMS, b.DurationMS}, {a.Tokens, b.Tokens}} {
		x, known := number(pair[0])
		y, too := number(pair[1])
		if by == 0 && known != too {
			by = map[bool]int{true: 1, false: -1}[known]
		}
		by = cmp.Or(by, cmp.Compare(x, y))
	}
	for _, matrix := range [][][]float64{t.Structure, t.Answer} {
		if by == 0 && len(matrix) > 0 && len(matrix[0]) == len(t.Attempts)+1 {
			by = cmp.Compare(matrix[0][i+1], matrix[0][j+1])
		}
	}
	return cmp.Or(by, cmp.Compare(a.Index, b.Index))
}

// inconsistencies are what contradicts itself in the input.
func (t *trial) inconsistencies() (reasons []Reason) {
	add := func(format string, values ...any) {
		reasons = append(reasons, Reason{"inconsistent_input", fmt.Sprintf(format, values...)})
	}
	if !(t.all > 0 && t.all < .5) || !(t.Delta > 0) || math.IsInf(t.Delta, 0) {
		add("The level must be between 0 and 0.5, and the bound above 0.")
	}
	if !slices.Contains([]Mode{Cassette, Server}, t.Mode) {
		add("There is no mode %s.", quote(string(t.Mode)))
	}
	if t.Proven && !t.DiffEmpty {
		add("The recording proves that the edit has no effect, but a treatment differs.")
	}
	if t.Failure != nil && (t.Proven || t.DiffEmpty) {
		add("The recording proves that a call fails, but no treatment differs.")
	}
	size := len(t.Attempts) + 1
	for _, m := range []struct {
		name   string
		matrix [][]float64
	}{{"tool calls", t.Structure}, {"answers", t.Answer}} {
		wrong := slices.ContainsFunc(m.matrix, func(row []float64) bool { return len(row) != size })
		if m.matrix != nil && (wrong || len(m.matrix) != size) {
			add("The distances of %s are not of all %d runs.", m.name, size)
		}
	}
	if slices.ContainsFunc(t.Steps, func(s Step) bool { return len(s.Signatures) != size }) {
		add("A step does not have signatures of all %d runs.", size)
	}
	for i := range t.Attempts {
		a := &t.Attempts[i]
		negative := slices.ContainsFunc([]int{a.Exposure.Stale, a.Exposure.Nearest, a.Exposure.Reissued, a.DownstreamCalls, a.DownstreamLive, a.OutsideDifferences}, func(n int) bool { return n < 0 })
		if negative || a.DownstreamLive > a.DownstreamCalls || a.Role != Control && a.Role != Treatment {
			add("The counts or the role of attempt %d are wrong.", a.Index)
			break
		}
	}
	return reasons
}

// integrity is gate G1: why the replay says nothing, if it does not.
func (t *trial) integrity() []Reason {
	reasons := append(slices.Clone(t.Integrity), t.inconsistencies()...)
	if len(reasons) > 0 {
		return reasons
	}
	add := func(code, format string, values ...any) {
		reasons = append(reasons, Reason{code, fmt.Sprintf(format, values...)})
	}
	outside, live, differs := 0, false, false
	for i := range t.Attempts {
		a := &t.Attempts[i]
		outside += a.OutsideDifferences
		live = live || a.DownstreamLive+a.Exposure.Reissued > 0
	}
	for _, i := range t.controls {
		a := &t.Attempts[i]
		other := func(x, y string) bool { return x != "" && y != "" && x != y }
		differs = differs || a.DownstreamLive+a.Exposure.tainted() == 0 && (other(a.Bytes, t.Recorded.Bytes) || other(a.Decisions, t.Recorded.Decisions))
	}
	if t.Mode == Cassette && live {
		add("live_call_in_cassette", "A replay from the recording made a live call.")
	}
	if outside > 0 {
		add("outside_cone_differences", "%s differ where the edit cannot have an effect: the replay engine is at fault.", plural(outside, "step"))
	}
	if differs {
		add("control_differs", "A control without a live call differs from the recording: the replay engine is at fault.")
	}
	entered := func(a Attempt) bool { return a.Role == Treatment && a.ReachedEdit }
	switch share, ok := t.taint().Get(); {
	case t.Proven || t.Failure != nil || len(reasons) > 0:
	case len(t.treatments) == 0 && !slices.ContainsFunc(t.Attempts, entered):
		add("cone_not_entered", "No treatment got to the edited step.")
	case len(t.treatments) == 0:
		add("nothing_compared", "No treatment finished, so that nothing can be compared.")
	case ok && share > mostTaint:
		add("tainted", "%s of the results after the edit are of similar calls, or stale: that is too much to conclude anything.", percent(share))
	}
	return reasons
}

// Limits of the tainted share of results (G2).
const (
	mostTaint = .5
	someTaint = .1
)

// taint is the larger tainted share of both roles, without a value if there is no downstream call and nothing is tainted.
func (t *trial) taint() stats.Value {
	return t.largerShare(func(a *Attempt) int { return a.Exposure.tainted() })
}

func (t *trial) largerShare(part func(a *Attempt) int) (share stats.Value) {
	for _, places := range [][]int{t.controls, t.treatments} {
		n, calls := 0, 0
		for _, i := range places {
			n += part(&t.Attempts[i])
			calls += t.Attempts[i].DownstreamCalls
		}
		if calls == 0 && n == 0 {
			continue
		}
		own := min(1, float64(n)/float64(max(1, calls)))
		if share.Value == nil || own > *share.Value {
			share.Value = &own
		}
	}
	return share
}

// deterministic reports whether what treatments did follows from the recording and fixed rules.
func (t *trial) deterministic() bool {
	if t.Proven || t.Failure != nil {
		return true
	}
	for _, i := range t.treatments {
		if a := &t.Attempts[i]; a.DownstreamLive > 0 {
			return false
		}
	}
	return len(t.treatments) > 0
}

// known returns the values that attempts have.
func (t *trial) known(places []int, of func(r *Run) (float64, bool)) (values []float64) {
	for _, i := range places {
		if x, ok := of(&t.Attempts[i].Run); ok {
			values = append(values, x)
		}
	}
	return values
}

// distances are those of attempts whose distance to themselves is known.
func (t *trial) distances(matrix [][]float64, first, second []int) stats.DistanceGroups {
	var g stats.DistanceGroups
	if matrix == nil {
		return g
	}
	var places []int
	for _, i := range slices.Concat(first, second) {
		if !math.IsNaN(matrix[i+1][i+1]) {
			places = append(places, i+1)
		}
	}
	for _, i := range first {
		if !math.IsNaN(matrix[i+1][i+1]) {
			g.First++
		}
	}
	return pick(matrix, places, g.First)
}

// pick has the distances of chosen rows.
func pick(matrix [][]float64, places []int, first int) stats.DistanceGroups {
	g := stats.DistanceGroups{Distances: make([][]float64, len(places)), First: first}
	for i, p := range places {
		g.Distances[i] = make([]float64, len(places))
		for j, q := range places {
			g.Distances[i][j] = matrix[p][q]
		}
	}
	return g
}
