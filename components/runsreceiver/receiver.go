package runsreceiver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/looptrace/looptrace/components/runsreceiver/internal/metadata"
	"github.com/looptrace/looptrace/internal/partialsuccess"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/internal/requestbody"
)

// stopGrace is how long Shutdown lets requests wait for the next consumer. One that works answers within
// milliseconds. One that does not would delay the stop of each receiver by the queue timeout.
const stopGrace = 2 * time.Second

var errStopping = errors.New("receiver is stopping")

type runsReceiver struct {
	cfg *Config
	// The next consumers. One is nil if no pipeline of its signal has this receiver.
	traces  consumer.Traces
	logs    consumer.Logs
	metrics consumer.Metrics

	settings  receiver.Settings
	report    *receiverhelper.ObsReport
	telemetry *metadata.TelemetryBuilder
	intake    *intake

	server  *http.Server
	addr    net.Addr // the address it listens on, with the actual port
	serving sync.WaitGroup
	pushing sync.WaitGroup // calls of the next consumer, some of which outlive their request

	forget           func()          // lets the factory make another receiver of the configuration
	starting, ending once            // of its pipelines, each of which starts it and shuts it down
	stopping         context.Context // ends when Shutdown begins
	stop             context.CancelFunc
	givenUp          chan struct{} // closed when Shutdown stops waiting for the next consumer
	giveUp           func()
}

// once calls a function once, for whichever caller is first, and returns its result to all.
type once struct {
	sync.Once
	err error
}

func (o *once) do(f func() error) error {
	o.Do(func() { o.err = f() })
	return o.err
}

// Start starts the server with the first pipeline.
func (r *runsReceiver) Start(ctx context.Context, host component.Host) error {
	return r.starting.do(func() error { return r.start(ctx, host) })
}

// Shutdown stops the server with the first pipeline: the consumers of all are there until every receiver is stopped.
func (r *runsReceiver) Shutdown(ctx context.Context) error {
	return r.ending.do(func() error {
		r.forget()
		return r.shutdown(ctx)
	})
}

func newRunsReceiver(cfg *Config, set receiver.Settings) (*runsReceiver, error) {
	report, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
		ReceiverID:             set.ID,
		Transport:              "http",
		ReceiverCreateSettings: set,
	})
	if err != nil {
		return nil, fmt.Errorf("create the receiver's report: %w", err)
	}
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, fmt.Errorf("create the receiver's metrics: %w", err)
	}
	givenUp := make(chan struct{})
	stopping, stop := context.WithCancel(context.Background())
	return &runsReceiver{
		cfg:       cfg,
		settings:  set,
		report:    report,
		telemetry: telemetry,
		intake:    newIntake(cfg.MaxRequestBodySize, cfg.MaxInFlightBytes),
		stopping:  stopping,
		stop:      stop,
		givenUp:   givenUp,
		giveUp:    sync.OnceFunc(func() { close(givenUp) }),
	}, nil
}

// start starts the server. Its context ends with this call.
func (r *runsReceiver) start(ctx context.Context, host component.Host) error {
	err := r.telemetry.RegisterReceiverRunsInFlightBytesCallback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(r.intake.used.Load())
		return nil
	})
	if err != nil {
		return fmt.Errorf("register the receiver's metrics: %w", err)
	}

	cfg := r.cfg.ServerConfig
	// The intake decompresses bodies. The server would hold a decoder and its window for as long as the client sends.
	cfg.CompressionAlgorithms = []string{}
	server, err := cfg.ToServer(ctx, host.GetExtensions(), r.settings.TelemetrySettings,
		http.HandlerFunc(r.route), confighttp.WithErrorHandler(refuseUnauthenticated))
	if err != nil {
		return fmt.Errorf("create the server: %w", err)
	}
	readiness, err := r.cfg.findReadiness(host)
	if err != nil {
		return err
	}
	server.Handler = requestbody.Bound(r.stopping, healthOver(r.observe(server.Handler), readiness), requestbody.Limits{Idle: cfg.ReadTimeout, Total: cfg.ReadTimeout}) //nolint:contextcheck // it ends with Shutdown

	listener, err := cfg.ToListener(ctx)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", cfg.NetAddr.Endpoint, err)
	}
	r.server, r.addr = server, listener.Addr()
	r.settings.Logger.Info("Starting HTTP server", zap.Stringer("endpoint", r.addr))
	r.serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	})
	return nil
}

// shutdown stops taking requests and waits for those that have begun. Requests that wait for the next consumer are
// refused after stopGrace. Requests that still send their body are refused earlier: they have no answer yet.
func (r *runsReceiver) shutdown(ctx context.Context) error {
	defer r.telemetry.Shutdown()
	r.stop()
	if r.server == nil {
		return nil
	}
	defer time.AfterFunc(stopGrace, r.giveUp).Stop()
	ctx, cancel := context.WithTimeout(ctx, r.cfg.QueueTimeout)
	defer cancel()
	err := r.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = r.server.Close()
	}
	r.serving.Wait()

	pushed := make(chan struct{})
	go func() {
		r.pushing.Wait()
		close(pushed)
	}()
	select {
	case <-pushed:
	case <-r.givenUp:
		// Their clients were told that nothing was accepted. These calls end when the consumer shuts down.
		r.settings.Logger.Warn("The next consumer still has spans at shutdown")
	}
	return err
}

// observe is the outermost layer. It gives each request its id, the form of its answer, and its count.
func (r *runsReceiver) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		x, req := newExchange(w, req)
		next.ServeHTTP(x, req)
		x.finish()
		r.telemetry.ReceiverRunsRequests.Add(req.Context(), 1, metric.WithAttributeSet(attribute.NewSet( //nolint:contextcheck // the request's own
			attribute.String("route", x.route), attribute.String("outcome", x.outcome))))
	})
}

// refuseUnauthenticated is called by the server if there is no valid credential. The authenticator's message is
// written for the client.
func refuseUnauthenticated(w http.ResponseWriter, req *http.Request, message string, _ int) {
	exchangeOf(req).refuse(w, unauthenticated.because(message))
}

// route is the innermost layer, after authentication and middlewares.
func (r *runsReceiver) route(w http.ResponseWriter, req *http.Request) {
	x := exchangeOf(req)
	contentType, body, err := r.serve(x, req)
	if err != nil {
		x.refuse(w, refusalOfBody(err))
		return
	}
	status := http.StatusAccepted
	if x.route != routeRuns {
		status = r.cfg.TracesStatus
	}
	x.accept(w, status, contentType, body)
}

// serve handles a request up to its answer.
func (r *runsReceiver) serve(x *exchange, req *http.Request) (contentType string, body []byte, err error) {
	if !r.serves(x.route) {
		return "", nil, refusalOfRoute(x.route)
	}
	if req.Method != http.MethodPost {
		return "", nil, &methodNotAllowed
	}
	format, err := r.formatOf(x)
	if err != nil {
		return "", nil, err
	}
	encoding, err := contentEncoding(req.Header)
	if err != nil {
		return "", nil, err
	}

	held := &charge{in: r.intake}
	handedOn := false
	defer func() {
		if !handedOn {
			held.release()
		}
	}()
	wire, err := r.intake.read(req, held)
	if err != nil {
		return "", nil, err
	}

	ctx, cancel := context.WithTimeout(req.Context(), r.cfg.QueueTimeout)
	defer cancel()
	var (
		content data
		report  partialsuccess.Report
	)
	err = r.intake.decode(ctx, encoding, wire, func(b []byte) error {
		content, err = format.decode(b, held, &report)
		return err
	})
	r.intake.recycle(wire)
	if err != nil {
		return "", nil, err
	}
	if spans, ok := content.(traceData); ok {
		ratelimit.ChargeSpans(ctx, spans.size())
	}
	dropped, _ := report.Rejected()
	handedOn = true
	if err := r.push(partialsuccess.With(ctx, &report), content, format.name(), held.release); err != nil {
		r.settings.Logger.Warn("A request was not accepted", zap.String("route", x.route), zap.String("request_id", x.requestID), zap.Error(err))
		return "", nil, refusalOfConsumer(req.Context(), err)
	}
	if dropped > 0 {
		r.telemetry.ReceiverRunsRejectedSpans.Add(ctx, dropped)
	}
	contentType, body = format.accepted(x.requestID, &report)
	return contentType, body, nil
}

// push passes what a request holds to the next consumer and waits for it until ctx ends. The consumer may take longer: a produce
// that has begun cannot be cancelled. Then nobody learns its result. The client, which was told that nothing was
// accepted, may send again, since the same spans may arrive any number of times. done is called when the consumer is
// done. A client that disconnects does not cancel the consumer's context: if the context of one record
// ends before it was sent, the Kafka client fails all records of its partition.
func (r *runsReceiver) push(ctx context.Context, content data, format string, done func()) error {
	if content.size() == 0 {
		done()
		return nil
	}
	select {
	case <-r.givenUp: // the consumer may be shut down already
		done()
		return errStopping
	default:
	}
	outcome := make(chan error, 1)
	r.pushing.Go(func() {
		defer done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.QueueTimeout)
		defer cancel()
		outcome <- content.consume(ctx, r, format)
	})
	select {
	case err := <-outcome:
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for the next consumer: %w", ctx.Err())
	case <-r.givenUp:
		return errStopping
	}
}

// serves reports whether a route exists and has a pipeline.
func (r *runsReceiver) serves(route string) bool {
	switch route {
	case routeRuns, routeTraces:
		return r.traces != nil
	case routeLogs:
		return r.logs != nil
	case routeMetrics:
		return r.metrics != nil
	}
	return false
}

// format is an encoding of a signal or of native runs, for one request.
type format interface {
	// name is the name of the format in the Collector's metrics.
	name() string
	// decode decodes a body, which it does not keep, and charges the memory of its content. It reports what it drops.
	decode(body []byte, held *charge, report *partialsuccess.Report) (data, error)
	// accepted returns the answer to the request once its content is accepted, but for what was reported.
	accepted(requestID string, report *partialsuccess.Report) (contentType string, body []byte)
}

// formatOf returns the format of a request by its route and media type.
func (r *runsReceiver) formatOf(x *exchange) (format, error) {
	if x.route == routeRuns {
		if x.mediaType != typeJSON {
			return nil, unsupportedMediaType.because("The content type is not supported: send application/json.")
		}
		return &nativeFormat{}, nil
	}
	if x.mediaType != typeProtobuf && x.mediaType != typeJSON {
		return nil, unsupportedMediaType.because("The content type is not supported: send application/x-protobuf or application/json.")
	}
	otlp := otlpFormat{signal: signals[x.route], mediaType: x.mediaType}
	if x.route == routeTraces && x.mediaType == typeProtobuf && r.cfg.RawPassthrough {
		return &passthroughFormat{otlp}, nil
	}
	return &otlp, nil
}
