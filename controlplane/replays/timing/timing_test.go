package timing_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/recorded/recordedtest"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/controlplane/replays/timing"
)

// program is a part of a made-up program: a call, or stages that follow each other. The parts of a stage run at the same time.
type program struct {
	// Of a call: how long it takes, its limits, how often it was tried, and how it ended.
	took              time.Duration
	timeout, retries  *int64
	attempts          *int64
	timedOut, refused bool
	model             bool

	// Of stages: the pause before each, when each part begins after it, and the rest at the end.
	stages [][]*program
	pauses []time.Duration
	leads  [][]time.Duration
	rest   time.Duration

	id int // of its span
	// effect, at and end are what the simulation finds.
	effect  timing.Effect
	at, end *time.Duration
}

func milliseconds(random *rand.Rand, from, to int) time.Duration {
	return time.Duration(from+random.IntN(to-from)) * time.Millisecond
}

// invent makes a program.
func invent(random *rand.Rand, depth int) *program {
	if depth == 0 || random.IntN(3) == 0 {
		p := &program{took: milliseconds(random, 10, 300), model: random.IntN(2) == 0}
		if random.IntN(3) == 0 {
			p.timeout = new(p.took.Milliseconds() + random.Int64N(200))
		}
		if random.IntN(3) == 0 {
			p.retries = new(random.Int64N(4))
		}
		if random.IntN(3) == 0 {
			p.attempts = new(1 + random.Int64N(3))
		}
		switch random.IntN(6) {
		case 0:
			p.timedOut = true
			if p.timeout != nil {
				p.timeout = new(p.took.Milliseconds())
			}
		case 1:
			p.refused = true
		}
		return p
	}
	p := &program{rest: milliseconds(random, 0, 20)}
	for range 1 + random.IntN(4) {
		var stage []*program
		var leads []time.Duration
		for range 1 + random.IntN(3) {
			stage = append(stage, invent(random, depth-1))
			leads = append(leads, milliseconds(random, 0, 5))
		}
		p.stages, p.leads, p.pauses = append(p.stages, stage), append(p.leads, leads), append(p.pauses, milliseconds(random, 0, 30))
	}
	return p
}

// record runs the program as it was and writes its spans. It returns when it ends.
func (p *program) record(b *recordedtest.Builder, parent int, at time.Duration, begin time.Time) time.Duration {
	kind := "workflow"
	if p.stages == nil {
		kind = map[bool]string{true: "llm", false: "tool"}[p.model]
	}
	b.Now = begin.Add(at)
	p.id = b.Open(kind, fmt.Sprintf("%s %d", kind, len(b.Spans)), parent)
	end := at
	if p.stages == nil {
		end += p.took
		span := &b.Spans[p.id]
		span.AttributesJSON = map[string]string{}
		for key, value := range map[string]*int64{"looptrace.timeout_ms": p.timeout, "looptrace.retries": p.retries, "looptrace.attempts": p.attempts} {
			if value != nil {
				span.AttributesJSON[key] = fmt.Sprint(*value)
			}
		}
		switch {
		case p.timedOut:
			span.Status, span.ErrorType = "error", "TimeoutError"
		case p.refused:
			span.Status, span.ErrorMessage = "error", "refused"
		}
	}
	for s, stage := range p.stages {
		start := end + p.pauses[s]
		for i, part := range stage {
			end = max(end, part.record(b, p.id, start+p.leads[s][i], begin))
		}
	}
	end += p.rest
	b.Spans[p.id].EndTime = begin.Add(end)
	return end
}

// change is an edit of a call.
type structuralEdit struct{ timeout, retries *int64 }

// simulate runs the program with edits. It returns when it ends, and false if nobody knows.
func (p *program) simulate(edits map[*program]structuralEdit, at time.Duration) (time.Duration, bool) {
	p.at = &at
	if p.stages == nil {
		took, effect := p.decide(edits[p])
		p.effect = effect
		if took != nil {
			end := at + *took
			p.end = &end
		}
		return at + *orZero(took), effect == timing.None && took != nil
	}
	end := at
	for s, stage := range p.stages {
		start, ok := end+p.pauses[s], true
		for i, part := range stage {
			partEnd, known := part.simulate(edits, start+p.leads[s][i])
			end, ok = max(end, partEnd), ok && known
		}
		if !ok {
			for _, later := range p.stages[s+1:] {
				for _, part := range later {
					part.skip()
				}
			}
			p.effect = timing.Unknown
			return 0, false
		}
	}
	end += p.rest
	p.end, p.effect = &end, timing.None
	return end, true
}

func orZero(d *time.Duration) *time.Duration {
	if d == nil {
		return new(time.Duration(0))
	}
	return d
}

// skip marks what is never begun, as far as anybody knows.
func (p *program) skip() {
	p.effect = timing.Unknown
	for _, stage := range p.stages {
		for _, part := range stage {
			part.skip()
		}
	}
}

// decide runs a call with an edit, attempt by attempt and tick by tick as far as the recording tells.
func (p *program) decide(change structuralEdit) (*time.Duration, timing.Effect) {
	ms := time.Millisecond
	if change.retries != nil {
		allowed := *change.retries + 1
		switch {
		case p.timedOut || p.refused:
			// It failed after all attempts that it had. Another one has no recorded result.
			had := int64(1)
			if p.attempts != nil {
				had = *p.attempts
			}
			if p.retries != nil {
				had = *p.retries + 1
			}
			if allowed > had {
				return nil, timing.Censored
			}
		case p.attempts != nil:
			if allowed < *p.attempts {
				return nil, timing.TimedOut
			}
		case p.retries != nil:
			if allowed < *p.retries+1 {
				return nil, timing.Censored
			}
		default:
			if allowed < 2 {
				return nil, timing.Censored
			}
		}
	}
	limit := change.timeout
	if limit == nil {
		return &p.took, timing.None
	}
	for tick := ms; ; tick += ms {
		atLimit := tick == time.Duration(*limit)*ms
		if tick == p.took {
			switch {
			case !p.timedOut || atLimit:
				return &p.took, timing.None
			default:
				return nil, timing.Censored // it would have gone on
			}
		}
		if atLimit {
			return &tick, timing.TimedOut
		}
	}
}

// TestStructureOracle compares Structure with a simulation of made-up programs.
func TestStructureOracle(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[timing.Effect]int{}
	unchanged := 0
	const runs = 1000
	for n := range runs {
		p := &program{stages: [][]*program{{invent(random, 3)}, {invent(random, 2), invent(random, 1)}, {invent(random, 0)}}, rest: 3 * time.Millisecond}
		p.pauses, p.leads = []time.Duration{0, 5 * time.Millisecond, 0}, [][]time.Duration{{0}, {0, 3 * time.Millisecond}, {0}}
		b := recordedtest.New(t)
		b.Now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		p.record(b, -1, 0, b.Now)
		r := recorded.Read(b.Spans)
		require.Len(t, r.Steps, len(b.Spans))

		var calls []*program
		p.each(func(p *program) {
			if p.stages == nil {
				calls = append(calls, p)
			}
		})
		edits := map[*program]structuralEdit{}
		var list []edit.Edit
		for range random.IntN(4) {
			call := calls[random.IntN(len(calls))]
			if _, twice := edits[call]; twice {
				continue
			}
			var change structuralEdit
			set := edit.Set{}
			switch random.IntN(2) {
			case 0:
				change.timeout = new(1 + random.Int64N(400))
				if random.IntN(4) == 0 {
					*change.timeout = call.took.Milliseconds()
				}
				set.TimeoutMS = change.timeout
			case 1:
				change.retries = new(random.Int64N(5))
				set.Retries = change.retries
			}
			edits[call] = change
			list = append(list, edit.Edit{Target: edit.Target{SpanID: b.ID(call.id)}, Set: set})
		}
		checked, err := edit.Check(r, list, "edits")
		require.NoError(t, err)
		end, known := p.simulate(edits, 0)
		got := timing.Of(r, checked)
		if known {
			require.NotNil(t, got.Duration, "run %d", n)
			require.Equal(t, end, *got.Duration, "run %d", n)
		} else {
			require.Nil(t, got.Duration, "run %d", n)
		}
		require.Equal(t, known, got.NoEffect, "run %d", n)
		p.each(func(p *program) {
			i := slices.IndexFunc(r.Steps, func(s recorded.Step) bool { return s.SpanID == b.ID(p.id) })
			step, was := got.Steps[i], r.Steps[i]
			require.Equal(t, p.effect, step.Effect, "run %d, %s: %+v", n, was.Name, list)
			seen[p.effect]++
			switch p.effect {
			case timing.None:
				require.Equal(t, was.Offset, *p.at, "no edit moves a step")
				require.Equal(t, *was.Duration, *p.end-*p.at, "run %d, %s", n, was.Name)
			case timing.TimedOut:
				if p.end == nil {
					require.Nil(t, step.Timeout, "run %d, %s", n, was.Name)
				} else {
					require.Equal(t, *p.end-*p.at, *step.Timeout, "run %d, %s", n, was.Name)
				}
			case timing.Censored, timing.Unknown:
			}
		})

		// An attempt agrees: nothing differs unless a call fails or has an unknown end.
		attempt, err := engine.Replay(t.Context(), r, checked, engine.Options{}, nil)
		require.NoError(t, err)
		if known {
			require.Equal(t, engine.StopCompleted, attempt.Stop.Reason, "run %d: %+v", n, attempt.Stop)
			require.Equal(t, -1, attempt.FirstDivergence, "run %d", n)
			require.Equal(t, end, *attempt.Duration, "run %d", n)
			unchanged++
		} else {
			require.NotEqual(t, -1, attempt.FirstDivergence, "run %d", n)
		}
	}
	for _, effect := range []timing.Effect{timing.None, timing.TimedOut, timing.Censored, timing.Unknown} {
		assert.Greater(t, seen[effect], 50, effect)
	}
	assert.Greater(t, unchanged, runs/10)
}

// each visits the program and its parts.
func (p *program) each(visit func(*program)) {
	visit(p)
	for _, stage := range p.stages {
		for _, part := range stage {
			part.each(visit)
		}
	}
}
