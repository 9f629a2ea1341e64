package evaluations

import (
	"encoding/json"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/internal/optional"
)

// addValue adds a value of a metric to an output.
func (r *results) addValue(output outputKey, metric string, value float64) {
	item := &r.items[output.number-1]
	at, ok := r.newIndex(metric)
	if !ok {
		r.reasons[ReasonCount{Side: &SideNames[output.side], Code: "score_ignored: too many names"}]++
		return
	}
	r.valued[metric] = true
	for len(item.values[output.side]) <= at {
		item.values[output.side] = append(item.values[output.side], nil)
	}
	item.values[output.side][at] = append(item.values[output.side][at], value)
}

// newIndex returns the index of a metric in values, which is new if need be. It returns false if there are too many.
func (r *results) newIndex(name string) (int, bool) {
	index, ok := r.indexes[name]
	if !ok && len(r.indexes) < maxMetrics {
		index, ok = len(r.indexes), true
		r.indexes[name] = index
	}
	return index, ok
}

// codeNotApplicable is why a grader has no value that did not fail.
const codeNotApplicable = "grader_not_applicable"

// addScore adds a score to an output. The code is why it has no value, if it did not fail.
func (r *results) addScore(output outputKey, score *Score, code string) {
	item, side := &r.items[output.number-1], &SideNames[output.side]
	r.newIndex(score.Name) // a grader that failed everywhere is a metric, too
	switch {
	case score.Value != nil:
		r.addValue(output, score.Name, *score.Value)
	case score.Error != "":
		if output.side == sideA {
			item.graderFailed(score.Name)
		}
		r.reasons[ReasonCount{Side: side, Code: "grader_failed: " + score.Name}]++
	case score.Label != "":
		item.name(output.side, score.Name)
	default:
		r.reasons[ReasonCount{Side: side, Code: code + ": " + score.Name}]++
	}
	if score.Pass != nil && output.side == sideA {
		item.judge(score.Name, *score.Pass)
	}
}

// storedScores are those by panels whose aggregate was removed, by the names of the panels: they are not made again.
type storedScores map[string]map[outputKey]panel.OutputScore

// storedScoresOf has the panels, without scores yet.
func storedScoresOf(c *Config) storedScores {
	stored := storedScores{}
	for i := range c.Panels {
		if p := &c.Panels[i]; p.Aggregate.Removed() {
			stored[p.Name] = map[outputKey]panel.OutputScore{}
		}
	}
	return stored
}

// add adds an output.
func (r *results) add(row *resultRow) error {
	item, side := &r.items[row.Number-1], row.Side
	name := &SideNames[side]
	output := outputKey{row.Number, row.Side, row.Repeat}
	if len(r.own) > 0 {
		fact := outputFact{there: true, ok: row.Status == OutputOK}
		if row.Length != nil {
			fact.length = float64(*row.Length)
		}
		r.facts[output] = fact
	}
	absent := row.Status != OutputOK && (optional.Value(row.ErrorCode) == codeNoResult || optional.Value(row.ErrorCode) == codeItemChanged)
	switch {
	case absent:
		item.absent[side]++
	case row.Status != OutputOK:
		item.failed[side]++
	}
	if row.Status != OutputOK {
		r.accounting.OutputsFailed++
		r.reasons[ReasonCount{Side: name, Code: optional.Value(row.ErrorCode)}]++
	} else {
		item.ok[side]++
		r.accounting.Outputs++
		if row.Model != nil {
			r.models[modelKey{*name, *row.Model, optional.Value(row.Fingerprint)}]++
		}
		if row.InputTokens != nil && row.CacheReadTokens != nil {
			r.input[side].all += *row.InputTokens
			r.input[side].cached += *row.CacheReadTokens
		}
	}
	var scores []Score
	if err := json.Unmarshal([]byte(row.Scores), &scores); err != nil {
		return fmt.Errorf("read the scores of output %d: %w", row.Number, err)
	}
	for i := range scores {
		if !r.own[scores[i].Name] {
			r.addScore(output, &scores[i], codeNotApplicable)
			continue
		}
		if stored := r.stored[scores[i].Name]; stored != nil {
			var score panel.OutputScore
			if err := json.Unmarshal(scores[i].Evidence, &score); err != nil {
				return fmt.Errorf("read the score of panel %s of output %d: %w", scores[i].Name, row.Number, err)
			}
			stored[output] = score
		}
	}
	switch {
	case row.RunLookup == nil || *row.RunLookup == lookupRead && row.CostNanousd != nil:
	case *row.RunLookup == lookupUngraded:
		r.reasons[ReasonCount{Side: name, Code: "not_graded"}]++
	case *row.RunLookup == lookupRead:
		r.reasons[ReasonCount{Side: name, Code: "cost_unknown"}]++
	default:
		r.runsUnknown++
		r.reasons[ReasonCount{Side: name, Code: "run_unknown: " + string(*row.RunLookup)}]++
	}
	for i := range operational {
		m := &operational[i]
		switch {
		case absent:
		case m.kind == KindFailures && row.Status == OutputOK && !row.RunFailed:
			r.addValue(output, m.name, 0)
		case m.kind == KindFailures:
			r.addValue(output, m.name, 1)
		case row.Status == OutputOK:
			if value := m.of(row); value != nil {
				r.addValue(output, m.name, *value)
			}
		}
	}
	return nil
}
