package kafkabatchreceiver

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/collector/component"
	"go.uber.org/zap"

	"github.com/looptrace/looptrace/internal/componenthealth"
)

// problem is a step that can fail and be retried.
type problem string

const (
	problemBroker      problem = "reach a broker"
	problemGroup       problem = "take part in the consumer group"
	problemTopic       problem = "read the topic"
	problemDelivery    problem = "hand a batch on"
	problemDeadLetters problem = "write dead letters"
	problemCommit      problem = "commit offsets"
)

// notReadyAfter is how long a step may fail, or offsets may stand still while records wait, until the receiver
// reports that it does not work. A rebalance, a restart of a broker or a slow insert take seconds. The exporter gives
// up a hanging attempt after the same time.
const notReadyAfter = time.Minute

// health reports changes of the receiver's health to the log and to the collector's status. The receiver is well if
// no step is failing and nothing stands still. A failing step is reported at once, but counts as working until
// notReadyAfter has passed.
type health struct {
	logger        *zap.Logger
	host          component.Host
	notReadyAfter time.Duration

	mu          sync.Mutex
	open        map[problem]trouble
	still       standstill
	connections int
	reported    state
}

// trouble is an open problem and its beginning.
type trouble struct {
	since time.Time
	err   error
}

// state is what is reported to the collector.
type state struct {
	text  string // empty if all is well
	ready bool
}

var (
	_ kgo.HookBrokerConnect    = (*health)(nil)
	_ kgo.HookBrokerDisconnect = (*health)(nil)
)

func newHealth(logger *zap.Logger, host component.Host, notReadyAfter time.Duration) *health {
	return &health{logger: logger, host: host, notReadyAfter: notReadyAfter, open: map[problem]trouble{}, reported: state{ready: true}}
}

func (h *health) problem(p problem, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.open[p]; known {
		return
	}
	h.open[p] = trouble{since: time.Now(), err: err}
	h.logger.Warn("Cannot "+string(p)+"; retrying until it succeeds", zap.Error(err))
	h.report()
}

// solved notes that a step works again.
func (h *health) solved(p problem) { h.end(p, "Can "+string(p)+" again") }

// dropped notes that a step is not retried any more.
func (h *health) dropped(p problem) { h.end(p, "No longer trying to "+string(p)) }

func (h *health) end(p problem, message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, known := h.open[p]
	if !known {
		return
	}
	delete(h.open, p)
	h.logger.Info(message, zap.Duration("after", time.Since(t.since)))
	h.report()
}

// judge checks how long problems have been open and what has stood still for longer than notReadyAfter.
func (h *health) judge(still standstill) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.still = still
	h.report()
}

// report reports changes.
func (h *health) report() {
	now := h.state()
	if now == h.reported {
		return
	}
	if now.ready != h.reported.ready {
		if now.ready {
			h.logger.Info("The receiver is ready again")
		} else {
			h.logger.Warn("The receiver is not ready", zap.String("why", now.text))
		}
	}
	h.reported = now
	var err error
	if now.text != "" {
		err = errors.New(now.text)
	}
	componenthealth.Report(h.host, err, now.ready)
}

func (h *health) state() state {
	var lines []string
	ready := h.still.since.IsZero() && len(h.still.unread) == 0
	for _, p := range slices.Sorted(maps.Keys(h.open)) {
		t := h.open[p]
		ready = ready && time.Since(t.since) < h.notReadyAfter
		lines = append(lines, fmt.Sprintf("cannot %s since %s: %v", p, stamped(t.since), t.err))
	}
	if !h.still.since.IsZero() {
		lines = append(lines, "records wait and none was stored since "+stamped(h.still.since))
	}
	for _, partition := range slices.Sorted(maps.Keys(h.still.unread)) {
		lines = append(lines, fmt.Sprintf("partition %d: records wait and none was read since %s", partition, stamped(h.still.unread[partition])))
	}
	return state{text: strings.Join(lines, "; "), ready: ready}
}

func stamped(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// OnBrokerConnect notes whether a broker could be reached.
func (h *health) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err == nil {
		h.connected(1)
		h.solved(problemBroker)
		return
	}
	if h.connected(0) == 0 {
		h.problem(problemBroker, err)
	}
}

// OnBrokerDisconnect notes that a connection ended.
func (h *health) OnBrokerDisconnect(kgo.BrokerMetadata, net.Conn) { h.connected(-1) }

func (h *health) connected(change int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.connections += change
	return h.connections
}
