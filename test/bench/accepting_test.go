package bench

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/bench/compare"
	"github.com/looptrace/looptrace/test/bench/loadgen"
)

// warmUpTime is how long requests are sent before the measurement.
const warmUpTime = 2 * time.Second

// receiver is a receiver of spans with its queue.
type receiver struct {
	name string
	// start starts it with its queue and returns where it accepts spans.
	start func(*rig) loadgen.Target
}

// accept measures receiving and queueing spans, in a closed loop.
func (b *ingestBench) accept(t *testing.T) {
	load, err := loadgen.Spans()
	require.NoError(t, err)
	ours := func(r *rig) loadgen.Target {
		r.startIngest(b.databaseURL)
		return r.tracesEndpoint(b.header)
	}
	stock := func(r *rig) loadgen.Target {
		endpoint := r.tracesEndpoint(nil)
		r.await(r.startAnchor(ingestProcess, "kafka.yaml"), answers(http.MethodPost, endpoint.URL))
		return endpoint
	}
	behind := func(startBroker func(*rig), start func(*rig) loadgen.Target) func(*rig) loadgen.Target {
		return func(r *rig) loadgen.Target {
			startBroker(r)
			return start(r)
		}
	}
	b.compareReceivers(t, load, "to a broker that keeps nothing", []receiver{
		{"stock", behind((*rig).startBlackhole, stock)},
		{"ours", behind((*rig).startBlackhole, ours)},
	})
	// The stock way to be durable without Kafka. What follows the file queue is not counted: the broker keeps nothing.
	b.compareReceivers(t, load, "to this machine's disk, broker included", []receiver{
		{"stock, file queue", behind((*rig).startBlackhole, func(r *rig) loadgen.Target {
			endpoint := r.tracesEndpoint(nil)
			r.await(r.startAnchor(ingestProcess, "file-storage.yaml", "QUEUE_DIR="+r.t.TempDir()), answers(http.MethodPost, endpoint.URL))
			return endpoint
		})},
		{"ours", behind((*rig).startBroker, ours)},
		{"stock, broker", behind((*rig).startBroker, stock)},
	})
}

// compareReceivers measures receivers in turn, as ratios to the first one.
func (b *ingestBench) compareReceivers(t *testing.T, load *loadgen.Load, where string, receivers []receiver) {
	t.Helper()
	table := &compare.Table{Base: receivers[0].name, Title: fmt.Sprintf(
		"ACCEPT, %s: %d connections for %s, 100 spans a request", where, loadgen.Connections, b.acceptTime)}
	b.tables = append(b.tables, table)
	for round := range b.rounds {
		for _, receiver := range receivers {
			if b.onlyOurs && receiver.name != "ours" {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d/%s", where, round+1, receiver.name), func(t *testing.T) {
				table.Add(receiver.name, b.measureAccepting(t, receiver, load)...)
			})
		}
	}
}

func (b *ingestBench) measureAccepting(t *testing.T, receiver receiver, load *loadgen.Load) []compare.Figure {
	t.Helper()
	r := newRig(t, b.dir)
	target := receiver.start(r)
	sendFor(t, load, target, warmUpTime)
	before := r.usage()
	sent := sendFor(t, load, target, b.acceptTime)
	after := r.usage()
	require.NotZero(t, sent.Spans, "all is refused: %v", sent.Refused)
	refused := 0
	for _, count := range sent.Refused {
		refused += count
	}
	figures := []compare.Figure{
		{Name: "accepted spans/s", Value: float64(sent.Spans) / sent.Elapsed.Seconds()},
		{Name: "p50 ms", Value: milliseconds(sent.Quantile(0.50))},
		{Name: "p99 ms", Value: milliseconds(sent.Quantile(0.99))},
		{Name: "refused requests", Value: float64(refused)},
	}
	figures = append(figures, perMillion(before, after, sent.Spans)...)
	return append(figures, peaks(after)...)
}

func sendFor(t *testing.T, load *loadgen.Load, target loadgen.Target, time time.Duration) loadgen.Sent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time)
	defer cancel()
	return load.Send(ctx, target, math.MaxInt)
}
