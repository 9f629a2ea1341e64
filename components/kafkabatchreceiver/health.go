package kafkabatchreceiver

import (
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"
)

// problem is a step that can fail and be tried again.
type problem string

const (
	problemBroker      problem = "reach a broker"
	problemGroup       problem = "take part in the consumer group"
	problemDelivery    problem = "hand a batch on"
	problemDeadLetters problem = "write dead letters"
	problemCommit      problem = "commit offsets"
)

// health says how the receiver is, to the log and to the collector's status, when that changes and not at
// every attempt. It is well when no problem is open.
type health struct {
	logger *zap.Logger
	host   component.Host

	mu          sync.Mutex
	open        map[problem]time.Time
	connections int
}

var (
	_ kgo.HookBrokerConnect    = (*health)(nil)
	_ kgo.HookBrokerDisconnect = (*health)(nil)
)

func newHealth(logger *zap.Logger, host component.Host) *health {
	return &health{logger: logger, host: host, open: map[problem]time.Time{}}
}

func (h *health) problem(p problem, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.open[p]; known {
		return
	}
	h.open[p] = time.Now()
	h.logger.Warn("Cannot "+string(p)+"; trying until it works", zap.Error(err))
	componentstatus.ReportStatus(h.host, componentstatus.NewRecoverableErrorEvent(err))
}

func (h *health) solved(p problem) {
	h.mu.Lock()
	defer h.mu.Unlock()
	since, known := h.open[p]
	if !known {
		return
	}
	delete(h.open, p)
	h.logger.Info("Can "+string(p)+" again", zap.Duration("after", time.Since(since)))
	if len(h.open) == 0 {
		componentstatus.ReportStatus(h.host, componentstatus.NewEvent(componentstatus.StatusOK))
	}
}

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
