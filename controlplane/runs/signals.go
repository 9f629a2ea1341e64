package runs

import (
	"strings"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// signals is the list of a run's signals that are on, of which another of its parallel columns is given.
func (d definition) signals(column string) (expression string, args []any) {
	column = "CAST(" + column + " AS Array(String))"
	if len(d.SignalsOff) == 0 {
		return column, nil
	}
	return "arrayFilter((v, s) -> NOT has(?, s), " + column + ", CAST(signals AS Array(String)))", []any{d.SignalsOff}
}

// FailureKind selects groups of runs.
type FailureKind string

// Kinds of groups.
const (
	FailureErrors  FailureKind = "errors"
	FailureSignals FailureKind = "signals"
	AnyFailure     FailureKind = "all"
)

// members are the groups that a run is in: tuples of fingerprint, class, kind, name and effects of the step, type and template of the error.
func (d definition) members(kind FailureKind) (expression string, args []any) {
	const failed = `if(` + failedAs + ` = '', [], [(` + failedAs + `, if(` + failedItself + `, toString(failure_class), '` + runmodel.FailureScored + `'),
		if(` + failedItself + `, toString(failing_kind), '` + runmodel.FailingScore + `'), if(` + failedItself + `, toString(failing_name), toString(score)),
		toString(failing_effects), toString(failing_type), if(` + failedItself + `, failing_template, '` + runmodel.ScoredAsFailed + `'))])`
	if kind == FailureErrors {
		return failed, nil
	}
	columns := []string{"signal_fingerprints", "signals", "signal_kinds", "signal_names", "signal_effects"}
	for i := range columns {
		var of []any
		columns[i], of = d.signals(columns[i])
		args = append(args, of...)
	}
	signals := "arrayMap((f, s, k, n, e) -> (f, s, k, n, e, '', ''), " + strings.Join(columns, ", ") + ")"
	if kind == FailureSignals {
		return signals, args
	}
	return "arrayConcat(" + failed + ", " + signals + ")", args
}
