package httpapi

import (
	"github.com/looptrace/looptrace/controlplane/evaluations/start"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// defaultPower is that of forecasts.
const defaultPower = 0.8

func goalOf(margin, power *float64) start.Goal {
	return start.Goal{Margin: margin, Power: valueOf(power, defaultPower)}
}

// forecastOf is nil where there is nothing to say.
func forecastOf(f *start.Forecast) *contract.EvaluationForecast {
	if f == nil {
		return nil
	}
	answer := &contract.EvaluationForecast{
		Metric: f.Metric, Items: f.Items, Repeats: f.Repeats, Power: f.Power, Basis: contract.EvaluationForecastBasis(f.Basis), EvalRuns: make([]contract.EvaluationForecastRun, len(f.EvalRuns)),
		MarginLow: f.Margin.Low, MarginHigh: f.Margin.High, Seconds: f.Seconds, Sentence: f.Sentence,
	}
	for i, run := range f.EvalRuns {
		answer.EvalRuns[i] = contract.EvaluationForecastRun{Id: run.ID, Name: run.Name}
	}
	if d := f.Difference; d != nil {
		answer.DifferenceLow, answer.DifferenceHigh = &d.Low, &d.High
	}
	if n := f.Needed; n != nil {
		answer.Needed = &contract.EvaluationForecastNeeded{Margin: n.Margin, Items: forecastCountOf(n.Items), Repeats: forecastCountOf(n.Repeats), SplitKnown: n.SplitKnown}
	}
	return answer
}

func forecastCountOf(c *start.ForecastCount) *contract.EvaluationForecastCount {
	if c == nil {
		return nil
	}
	return &contract.EvaluationForecastCount{
		Low: int64(c.Low), High: long(c.High), CostLowUsd: dollarsOf(c.CostLow), CostHighUsd: dollarsOf(c.CostHigh), SecondsLow: c.SecondsLow, SecondsHigh: c.SecondsHigh,
	}
}
