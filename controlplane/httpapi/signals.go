package httpapi

import (
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/runmodel"
)

func signalsOf(names []string) []contract.Signal {
	signals := make([]contract.Signal, len(names))
	for i, name := range names {
		signals[i] = contract.Signal(name)
	}
	return signals
}

// runSignalsOf returns the signals of a run, nil if there are none.
func runSignalsOf(r *runmodel.Run) *[]contract.RunSignal {
	if len(r.Signals) == 0 {
		return nil
	}
	signals := make([]contract.RunSignal, len(r.Signals))
	for i, signal := range r.Signals {
		signals[i] = contract.RunSignal{
			Signal: contract.Signal(signal), Fingerprint: r.SignalFingerprints[i], SpanId: runmodel.FormatSpanID(r.SignalSpanIDs[i]),
			Step: contract.SignalStep{Kind: r.SignalKinds[i], Name: r.SignalNames[i]},
		}
	}
	return &signals
}

// unknownSignalsOf returns the signals about which nothing is known, nil if there are none.
func unknownSignalsOf(r *runmodel.Run) *[]contract.Signal {
	if len(r.SignalsUnknown) == 0 {
		return nil
	}
	signals := signalsOf(r.SignalsUnknown)
	return &signals
}
