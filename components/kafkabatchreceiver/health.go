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
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/zap"
)

// problem is a step that can fail and be tried again.
type problem string

const (
	problemBroker      problem = "reach a broker"
	problemGroup       problem = "take part in the consumer group"
	problemTopic       problem = "read the topic"
	problemDelivery    problem = "hand a batch on"
	problemDeadLetters problem = "write dead letters"
	problemCommit      problem = "commit offsets"
)

// notReadyAfter is how long a step may fail, or offsets stand still while records wait, until the receiver says that
// it does not do its work. A rebalance, a broker that is started again and a slow insert take seconds; the
// store's exporter gives up an attempt that hangs after as long.
const notReadyAfter = time.Minute

// AttributeReady is a boolean attribute of an error that is told as a component's status: whether the component does
// its work all the same.
const AttributeReady = "looptrace.ready"

// health says how the receiver is, to the log and to the collector's status, when that changes and not at every
// attempt. It is well when no problem is open and nothing stands still. A problem is told at once, and for the
// length of notReadyAfter as one during which the receiver does its work all the same.
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

// trouble is a problem and when it began.
type trouble struct {
	since time.Time
	err   error
}

// state is what the collector was told.
type state struct {
	text  string // empty when all is well
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
	h.logger.Warn("Cannot "+string(p)+"; trying until it works", zap.Error(err))
	h.report()
}

// solved notes that a step works again.
func (h *health) solved(p problem) { h.end(p, "Can "+string(p)+" again") }

// dropped notes that a step is not tried any more.
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

// judge looks at how long problems are open, and takes what has stood still for longer than notReadyAfter.
func (h *health) judge(still standstill) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.still = still
	h.report()
}

// report reports what has changed.
func (h *health) report() {
	now := h.state()
	if now == h.reported {
		return
	}
	if now.ready != h.reported.ready {
		if now.ready {
			h.logger.Info("Doing its work again")
		} else {
			h.logger.Warn("Not doing its work", zap.String("why", now.text))
		}
	}
	h.reported = now
	if now.text == "" {
		componentstatus.ReportStatus(h.host, componentstatus.NewEvent(componentstatus.StatusOK))
		return
	}
	attributes := pcommon.NewMap()
	attributes.PutBool(AttributeReady, now.ready)
	componentstatus.ReportStatus(h.host, componentstatus.NewEvent(componentstatus.StatusRecoverableError,
		componentstatus.WithError(errors.New(now.text)), componentstatus.WithAttributes(attributes)))
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

// OnBrokerConnect notes that a broker was reached, or that none is.
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
