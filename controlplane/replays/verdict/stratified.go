package verdict

// Stratified judges one edit by its replays of many recorded runs, as many tasks of an agent. Attempts are compared within a run only, so
// that a hard run does not look like an effect; two controls and two treatments of each are enough if there are runs enough. Settings and
// seed are those of the first run, and the mode is. A run whose replay is invalid is left out. Runs that made no live call are decided by
// themselves: they are counted, and if one of them has an effect, then the edit has.
//
// Effects are means over runs, with intervals over runs. There are no steps, because steps of different runs are not aligned.
func Stratified(runs []Input) Verdict {
	counted := trials{}
	all := Runs{LeftOutReasons: []Reason{}}
	var failures []*Failure
	empty := true
	for _, in := range runs {
		if len(counted) > 0 { // the settings of one test
			in.Alpha, in.Looks, in.Delta = counted[0].all, counted[0].Looks, counted[0].Delta
		}
		t := newTrial(in)
		reasons := t.integrity()
		if len(reasons) == 0 && len(t.controls) == 0 && !t.deterministic() {
			reasons = []Reason{{"nothing_compared", "No control finished, so that nothing can be compared."}}
		}
		switch {
		case len(reasons) > 0:
			all.LeftOut++
			all.LeftOutReasons = append(all.LeftOutReasons, reasons[0])
		case t.deterministic() && t.DiffEmpty:
			all.DeterministicNoEffect++
		case t.deterministic():
			all.DeterministicEffect++
			if t.Failure != nil {
				failures = append(failures, t.Failure)
			}
		default:
			counted = append(counted, t)
			empty = empty && t.DiffEmpty
		}
	}
	all.Counted = len(counted)
	return counted.overall(runs, all, failures, empty)
}

// overall is the verdict over the runs that are compared, and those that are decided by themselves. failures are of the latter.
func (ts trials) overall(runs []Input, all Runs, failures []*Failure, empty bool) (v Verdict) {
	switch {
	case len(ts) > 0:
		v = ts.begin()
		ts.describe(&v, false)
		ts.decide(&v)
	case len(runs) > 0:
		v = trials{newTrial(runs[0])}.begin()
		v.K, v.M, v.AttainableP, v.Reasons = 0, 0, Attainable{}, []Reason{}
		v.Channels.untested()
	default:
		v = trials{newTrial(Input{})}.begin()
		v.AttainableP = Attainable{}
		v.Channels.untested()
	}
	v.Runs = &all
	certain := all.DeterministicEffect > 0
	switch {
	case certain && len(ts) == 0 && len(failures) == all.DeterministicEffect:
		v.Verdict, v.scope = DeterministicEffect, failures[0].Scope
		v.reason("call_fails", "In %s a call fails for certain, such as this one: %s", plural(len(failures), "run"), failures[0].Text)
		v.reasonCensored(failures[0])
		v.Channels.censored()
	case certain && v.Verdict != EffectAttributable:
		v.Verdict = DeterministicEffect
		v.reason("no_live_call", "In %s all results after the edit come from the recording or from fixed rules, and something differs.", plural(all.DeterministicEffect, "run"))
	case len(ts) == 0 && all.DeterministicNoEffect > 0:
		v.Verdict = DeterministicNoEffect
		v.reason("no_live_call", "All results after the edit come from the recording or from fixed rules.")
	case len(ts) == 0:
		v.Verdict = Invalid
		v.Reasons = append([]Reason{{"nothing_compared", "No run has a replay that can be compared."}}, all.LeftOutReasons...)
	}
	if all.LeftOut > 0 {
		v.reason("runs_left_out", "%s of %d left out: the replays say nothing.", plural(all.LeftOut, "run"), len(runs))
	}
	v.Sentence = v.sentence(empty)
	return v
}
