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
)

const (
	// queueTimeout bounds how long an answer waits for the queue. Who asks waits some seconds.
	queueTimeout = 2 * time.Second
	// openAge is how old an answer may be that is open to anybody, who may ask as often as they like.
	openAge = time.Second
	// maxReason bounds what is told of one check: errors may quote much.
	maxReason = 500

	// attributeReady is the attribute by which a component says that it does its work although its status is an error.
	attributeReady = "looptrace.ready"

	checkCollector = "collector"
	checkQueue     = "queue"
)

// phase is where the collector stands between its start and its end.
type phase string

const (
	phaseStarting phase = "starting"
	phaseRunning  phase = "running"
	phaseStopping phase = "stopping"
)

type readiness struct {
	cfg      *Config
	settings extension.Settings

	queue   *kgo.Client // nil where no queue is configured
	server  *http.Server
	addr    net.Addr // where it listens, which port 0 does not tell
	serving sync.WaitGroup

	mu     sync.Mutex
	phase  phase
	status map[*componentstatus.InstanceID]*componentstatus.Event // of those that report errors

	open openAnswer
}

// openAnswer is what was last told to whoever may ask.
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

// Start opens the server. It does not wait for the queue.
func (r *readiness) Start(ctx context.Context, host component.Host) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", answerHealth)
	mux.HandleFunc("GET /readyz", r.answerReadiness)
	server, err := r.cfg.ToServer(ctx, host.GetExtensions(), r.settings.TelemetrySettings, mux)
	if err != nil {
		return fmt.Errorf("make the server: %w", err)
	}
	if len(r.cfg.Queue.Brokers) > 0 {
		secure, err := r.cfg.Queue.Options(ctx)
		if err != nil {
			return err
		}
		opts := []kgo.Opt{kgo.SeedBrokers(r.cfg.Queue.Brokers...), kgo.ClientID(r.settings.ID.String())}
		if r.queue, err = kgo.NewClient(append(opts, secure...)...); err != nil {
			return fmt.Errorf("make Kafka client: %w", err)
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

// Shutdown closes the server, also on those who wait for the queue's answer.
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

// Ready is called when every component has started.
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

// ComponentStatusChanged notes what a component says of itself.
func (r *readiness) ComponentStatusChanged(source *componentstatus.InstanceID, event *componentstatus.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if event.Err() == nil {
		delete(r.status, source)
		return
	}
	r.status[source] = event
}

// answer is what is answered: the shape of the API's.
type answer struct {
	// Status is "ok" or "unavailable".
	Status string `json:"status"`
	// Checks has "ok", or "unavailable: " or "degraded: " and the reason in one line. A component is named while it
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

// oneLine is a text without line breaks and of a bounded length.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + " …"
	}
	return text
}

func answerHealth(w http.ResponseWriter, _ *http.Request) { write(w, answer{Status: ok}) }

func (r *readiness) answerReadiness(w http.ResponseWriter, req *http.Request) {
	write(w, r.check(req.Context()))
}

// CheckReadiness is for receivers that pass the answer on at a port that is open to their clients: the state of each check
// without reasons, which quote addresses and errors of stores.
func (r *readiness) CheckReadiness(ctx context.Context) (ready bool, checks map[string]string) {
	r.open.mu.Lock()
	defer r.open.mu.Unlock()
	if time.Since(r.open.asked) >= openAge {
		// Not the asker's own time: what is found out is told to the next one too.
		told := r.check(context.WithoutCancel(ctx))
		r.open.ready, r.open.checks = told.Status == ok, make(map[string]string, len(told.Checks))
		for name, state := range told.Checks {
			r.open.checks[name], _, _ = strings.Cut(state, ":")
		}
		r.open.asked = time.Now()
	}
	return r.open.ready, r.open.checks
}

// check asks the queue now, and takes of the components what they last said.
func (r *readiness) check(ctx context.Context) answer {
	told := answer{Status: ok, Checks: map[string]string{}}
	if r.queue != nil {
		told.Checks[checkQueue] = ok
		if err := r.askQueue(ctx); err != nil {
			told.add(checkQueue, unavailable, err.Error())
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != phaseRunning {
		told.add(checkCollector, unavailable, string(r.phase))
	}
	for source, event := range r.status {
		state := unavailable
		if ready, known := event.Attributes().Get(attributeReady); known && ready.Bool() {
			state = degraded
		}
		name := strings.ToLower(source.Kind().String()) + " " + source.ComponentID().String()
		told.add(name, state, event.Err().Error())
	}
	return told
}

// askQueue proves that a broker answers and that the topic has a partition that can be written to.
func (r *readiness) askQueue(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	request := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &r.cfg.Queue.Topic
	request.Topics = append(request.Topics, topic)
	metadata, err := request.RequestWith(ctx, r.queue) // by the broker, where kadm may answer from what it knows
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
	encoder.SetEscapeHTML(false) // for people at a terminal
	_ = encoder.Encode(a)        // who asked may be gone
}
