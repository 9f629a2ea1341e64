package readinessextension

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensioncapabilities"

	"github.com/looptrace/looptrace/internal/componenthealth"
	"github.com/looptrace/looptrace/internal/utf8text"
)

const (
	// queueTimeout limits the wait for the queue. Callers wait some seconds.
	queueTimeout = 2 * time.Second
	// openAge is the maximum age of the answer for callers without a key, who may ask as often as they like.
	openAge = time.Second
	// maxReason limits the text of a check: errors may quote much.
	maxReason = 500

	checkCollector = "collector"
	checkQueue     = "queue"
)

// phase is a stage of the collector's life.
type phase string

const (
	phaseStarting phase = "starting"
	phaseRunning  phase = "running"
	phaseStopping phase = "stopping"
)

type readiness struct {
	cfg      *Config
	settings extension.Settings

	queue   *kgo.Client // nil without a configured queue
	server  *http.Server
	addr    net.Addr // the address it listens on, with the actual port
	serving sync.WaitGroup

	mu     sync.Mutex
	phase  phase
	status map[*componentstatus.InstanceID]*componentstatus.Event // of the components that report errors

	open openAnswer
}

// openAnswer is the last answer for callers without a key.
type openAnswer struct {
	mu     sync.Mutex
	asked  time.Time
	ready  bool
	checks map[string]string
}

var (
	_ extension.Extension                   = (*readiness)(nil)
	_ extensioncapabilities.PipelineWatcher = (*readiness)(nil)
	_ componentstatus.Watcher               = (*readiness)(nil)
)

func newReadiness(set extension.Settings, cfg *Config) *readiness {
	return &readiness{
		cfg: cfg, settings: set,
		phase: phaseStarting, status: map[*componentstatus.InstanceID]*componentstatus.Event{},
	}
}

// Start starts the server. It does not wait for the queue.
func (r *readiness) Start(ctx context.Context, host component.Host) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", answerHealth)
	mux.HandleFunc("GET /readyz", r.answerReadiness)
	server, err := r.cfg.ToServer(ctx, host.GetExtensions(), r.settings.TelemetrySettings, mux)
	if err != nil {
		return fmt.Errorf("create the server: %w", err)
	}
	if len(r.cfg.Queue.Brokers) > 0 {
		secure, err := r.cfg.Queue.Options(ctx)
		if err != nil {
			return err
		}
		opts := []kgo.Opt{kgo.SeedBrokers(r.cfg.Queue.Brokers...), kgo.ClientID(r.settings.ID.String())}
		if r.queue, err = kgo.NewClient(append(opts, secure...)...); err != nil {
			return fmt.Errorf("create the Kafka client: %w", err)
		}
	}
	listener, err := r.cfg.ToListener(ctx)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", r.cfg.NetAddr.Endpoint, err)
	}
	r.server, r.addr = server, listener.Addr()
	r.serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	})
	return nil
}

// Shutdown closes the server, even if callers wait for an answer.
func (r *readiness) Shutdown(context.Context) error {
	var err error
	if r.server != nil {
		err = r.server.Close()
		r.serving.Wait()
	}
	if r.queue != nil {
		r.queue.Close()
	}
	return err
}

// Ready is called when all components have started.
func (r *readiness) Ready() error {
	r.enter(phaseRunning)
	return nil
}

// NotReady is called before the components stop.
func (r *readiness) NotReady() error {
	r.enter(phaseStopping)
	return nil
}

func (r *readiness) enter(p phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase = p
}

// ComponentStatusChanged notes the status of a component.
func (r *readiness) ComponentStatusChanged(source *componentstatus.InstanceID, event *componentstatus.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if event.Err() == nil {
		delete(r.status, source)
		return
	}
	r.status[source] = event
}

// answer is the body of an answer, in the form of the API's.
type answer struct {
	// Status is "ok" or "unavailable".
	Status string `json:"status"`
	// Checks has "ok", or "unavailable: " or "degraded: " and the reason in one line. A component is listed while it
	// reports an error.
	Checks map[string]string `json:"checks,omitempty"`
}

const (
	ok          = "ok"
	degraded    = "degraded"
	unavailable = "unavailable"
)

func (a *answer) add(check, state, why string) {
	if state == unavailable {
		a.Status = unavailable
	}
	a.Checks[check] = state + ": " + oneLine(why)
}

// oneLine removes line breaks and limits the length.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxReason {
		text = utf8text.Bytes(text, maxReason) + " …"
	}
	return text
}

func answerHealth(w http.ResponseWriter, _ *http.Request) { write(w, answer{Status: ok}) }

func (r *readiness) answerReadiness(w http.ResponseWriter, req *http.Request) {
	write(w, r.check(req.Context()))
}

// CheckReadiness is for receivers that publish the result on a port open to their clients. It returns the state of
// each check without the reason, since reasons quote addresses and errors of stores.
func (r *readiness) CheckReadiness(ctx context.Context) (ready bool, checks map[string]string) {
	r.open.mu.Lock()
	defer r.open.mu.Unlock()
	if time.Since(r.open.asked) >= openAge {
		// Without the caller's deadline: the result is cached for others, too.
		result := r.check(context.WithoutCancel(ctx))
		r.open.ready, r.open.checks = result.Status == ok, make(map[string]string, len(result.Checks))
		for name, state := range result.Checks {
			r.open.checks[name], _, _ = strings.Cut(state, ":")
		}
		r.open.asked = time.Now()
	}
	return r.open.ready, r.open.checks
}

// check asks the queue now, and uses the last status of the components.
func (r *readiness) check(ctx context.Context) answer {
	result := answer{Status: ok, Checks: map[string]string{}}
	if r.queue != nil {
		result.Checks[checkQueue] = ok
		if err := r.askQueue(ctx); err != nil {
			result.add(checkQueue, unavailable, err.Error())
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != phaseRunning {
		result.add(checkCollector, unavailable, string(r.phase))
	}
	for source, event := range r.status {
		state := unavailable
		if ready, known := event.Attributes().Get(componenthealth.AttributeReady); known && ready.Bool() {
			state = degraded
		}
		name := strings.ToLower(source.Kind().String()) + " " + source.ComponentID().String()
		result.add(name, state, event.Err().Error())
	}
	return result
}

// askQueue checks that a broker answers and that the topic has a partition that can be written to.
func (r *readiness) askQueue(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	request := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &r.cfg.Queue.Topic
	request.Topics = append(request.Topics, topic)
	metadata, err := request.RequestWith(ctx, r.queue) // from the broker: kadm may answer from its cache
	if err != nil {
		return fmt.Errorf("no broker answers: %w", err)
	}
	for _, topic := range metadata.Topics {
		if err := kerr.ErrorForCode(topic.ErrorCode); err != nil {
			return fmt.Errorf("topic %s: %w", r.cfg.Queue.Topic, err)
		}
		for _, partition := range topic.Partitions {
			if partition.Leader >= 0 {
				return nil
			}
		}
	}
	return fmt.Errorf("topic %s: no partition has a leader", r.cfg.Queue.Topic)
}

func write(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if a.Status != ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // readable at a terminal
	_ = encoder.Encode(a)        // the caller may be gone
}
