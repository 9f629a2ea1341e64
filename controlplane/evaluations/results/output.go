package results

import (
	"encoding/json"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/controlplane/optional"
)

// addValue adds a value of a metric to an output.
func (r *Results) addValue(output outputKey, metric string, value float64) {
	item := &r.Items[output.number-1]
	at, ok := r.newIndex(metric)
	if !ok {
		r.reasons[evaluations.ReasonCount{Side: &evaluations.SideNames[output.side], Code: "score_ignored: too many names"}]++
		return
	}
	r.valued[metric] = true
	for len(item.values[output.side]) <= at {
		item.values[output.side] = append(item.values[output.side], nil)
	}
	item.values[output.side][at] = append(item.values[output.side][at], value)
}

// newIndex returns the index of a metric in values, which is new if need be. It returns false if there are too many.
func (r *Results) newIndex(name string) (int, bool) {
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
func (r *Results) addScore(output outputKey, score *evaluations.Score, code string) {
	item, side := &r.Items[output.number-1], &evaluations.SideNames[output.side]
	r.newIndex(score.Name) // a grader that failed everywhere is a metric, too
	switch {
	case score.Value != nil:
		r.addValue(output, score.Name, *score.Value)
	case score.Error != "":
		if output.side == evaluations.SideA {
			item.graderFailed(score.Name)
		}
		r.reasons[evaluations.ReasonCount{Side: side, Code: "grader_failed: " + score.Name}]++
	case score.Label != "":
		item.name(output.side, score.Name)
	default:
		r.reasons[evaluations.ReasonCount{Side: side, Code: code + ": " + score.Name}]++
	}
	if score.Pass != nil && output.side == evaluations.SideA {
		item.judge(score.Name, *score.Pass)
	}
}

// storedScores are those by panels whose aggregate was removed, by the names of the panels: they are not made again.
type storedScores map[string]map[outputKey]panel.OutputScore

// storedScoresOf has the panels, without scores yet.
func storedScoresOf(c *evaluations.Config) storedScores {
	stored := storedScores{}
	for i := range c.Panels {
		if p := &c.Panels[i]; p.Aggregate.Removed() {
			stored[p.Name] = map[outputKey]panel.OutputScore{}
		}
	}
	return stored
}

// add adds an output.
func (r *Results) add(row *outputRow) error {
	item, side := &r.Items[row.Number-1], row.Side
	name := &evaluations.SideNames[side]
	output := outputKey{row.Number, row.Side, row.Repeat}
	if len(r.own) > 0 {
		fact := outputFact{there: true, ok: row.Status == evaluations.OutputOK}
		if row.Length != nil {
			fact.length = float64(*row.Length)
		}
		r.facts[output] = fact
	}
	absent := row.Status != evaluations.OutputOK && (optional.Value(row.ErrorCode) == evaluations.CodeNoResult || optional.Value(row.ErrorCode) == evaluations.CodeItemChanged)
	switch {
	case absent:
		item.absent[side]++
	case row.Status != evaluations.OutputOK:
		item.Failed[side]++
	}
	if row.Status != evaluations.OutputOK {
		r.Accounting.OutputsFailed++
		r.reasons[evaluations.ReasonCount{Side: name, Code: optional.Value(row.ErrorCode)}]++
	} else {
		item.ok[side]++
		r.Accounting.Outputs++
		if row.Model != nil {
			r.models[modelKey{*name, *row.Model, optional.Value(row.Fingerprint)}]++
		}
		if row.InputTokens != nil && row.CacheReadTokens != nil {
			r.input[side].all += *row.InputTokens
			r.input[side].cached += *row.CacheReadTokens
		}
	}
	var scores []evaluations.Score
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
	case row.RunLookup == nil || *row.RunLookup == evaluations.RunRead && row.CostNanousd != nil:
	case *row.RunLookup == evaluations.RunUngraded:
		r.reasons[evaluations.ReasonCount{Side: name, Code: "not_graded"}]++
	case *row.RunLookup == evaluations.RunRead:
		r.reasons[evaluations.ReasonCount{Side: name, Code: "cost_unknown"}]++
	default:
		r.runsUnknown++
		r.reasons[evaluations.ReasonCount{Side: name, Code: "run_unknown: " + string(*row.RunLookup)}]++
	}
	for i := range operational {
		m := &operational[i]
		switch {
		case absent:
		case m.Kind == evaluations.KindFailures && row.Status == evaluations.OutputOK && !row.RunFailed:
			r.addValue(output, m.Name, 0)
		case m.Kind == evaluations.KindFailures:
			r.addValue(output, m.Name, 1)
		case row.Status == evaluations.OutputOK:
			if value := m.of(row); value != nil {
				r.addValue(output, m.Name, *value)
			}
		}
	}
	return nil
}
