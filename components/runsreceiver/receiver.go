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
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/looptrace/looptrace/components/runsreceiver/internal/metadata"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/internal/requestbody"
)

// stopGrace is how long a stop lets requests wait for the next consumer. One that answers does so in milliseconds;
// one that does not would hold up the stop of this receiver and then of the next for the queue timeout each.
const stopGrace = 2 * time.Second

var errStopping = errors.New("receiver is stopping")

type runsReceiver struct {
	cfg       *Config
	next      consumer.Traces
	settings  receiver.Settings
	report    *receiverhelper.ObsReport
	telemetry *metadata.TelemetryBuilder
	intake    *intake

	server  *http.Server
	addr    net.Addr // where it listens, which port 0 does not tell
	serving sync.WaitGroup
	pushing sync.WaitGroup // calls of the next consumer, some of which outlive their request

	stopping context.Context // ends where Shutdown begins
	stop     context.CancelFunc
	givenUp  chan struct{} // closed by giveUp, when a stop waits for the next consumer no longer
	giveUp   func()
}

func newRunsReceiver(cfg *Config, set receiver.Settings, next consumer.Traces) (*runsReceiver, error) {
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
		next:      next,
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

// Start opens the server. Its context ends with this call.
func (r *runsReceiver) Start(ctx context.Context, host component.Host) error {
	err := r.telemetry.RegisterReceiverRunsInFlightBytesCallback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(r.intake.used.Load())
		return nil
	})
	if err != nil {
		return fmt.Errorf("register the receiver's metrics: %w", err)
	}

	cfg := r.cfg.ServerConfig
	// Bodies are decompressed by the intake: the server's decompression would hold a decoder, and its window,
	// for as long as a client takes to send.
	cfg.CompressionAlgorithms = []string{}
	server, err := cfg.ToServer(ctx, host.GetExtensions(), r.settings.TelemetrySettings,
		http.HandlerFunc(r.route), confighttp.WithErrorHandler(refuseUnauthenticated))
	if err != nil {
		return fmt.Errorf("make the server: %w", err)
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

// Shutdown stops taking requests and lets those that have begun end. Those that wait for the next consumer are told
// after stopGrace that nothing was accepted; those that still send their body, which were promised nothing, before.
func (r *runsReceiver) Shutdown(ctx context.Context) error {
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
		// Their clients have been told that nothing was accepted. They end when the consumer shuts down.
		r.settings.Logger.Warn("Spans are still with the next consumer at shutdown")
	}
	return err
}

// observe is the outermost layer: it gives each request its id, its answer's shape and its count.
func (r *runsReceiver) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		x, req := newExchange(w, req)
		next.ServeHTTP(x, req)
		x.finish()
		r.telemetry.ReceiverRunsRequests.Add(req.Context(), 1, metric.WithAttributeSet(attribute.NewSet( //nolint:contextcheck // the request's own
			attribute.String("route", x.route), attribute.String("outcome", x.outcome))))
	})
}

// refuseUnauthenticated is called by the server for the one error it meets itself: no valid credential. The
// message is the authenticator's, written for the client.
func refuseUnauthenticated(w http.ResponseWriter, req *http.Request, message string, _ int) {
	exchangeOf(req).refuse(w, unauthenticated.because(message))
}

// route is the innermost layer, behind authentication and middlewares.
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

// serve handles a request up to the answer of success.
func (r *runsReceiver) serve(x *exchange, req *http.Request) (contentType string, body []byte, err error) {
	if x.route == routeOther {
		return "", nil, refusalOfPath(req.URL.Path)
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
	var td ptrace.Traces
	err = r.intake.decode(ctx, encoding, wire, func(b []byte) error {
		td, err = format.decode(b, held)
		return err
	})
	r.intake.recycle(wire)
	if err != nil {
		return "", nil, err
	}
	ratelimit.ChargeSpans(ctx, td.SpanCount())
	handedOn = true
	if err := r.push(ctx, td, format.name(), held.release); err != nil {
		r.settings.Logger.Warn("Spans were not queued", zap.String("request_id", x.requestID), zap.Error(err))
		return "", nil, refusalOfConsumer(req.Context(), err)
	}
	contentType, body = format.accepted(x.requestID)
	if logs, ok := format.(*logsFormat); ok {
		r.countRecords(ctx, logs.counts)
	}
	if n := format.rejected(); n > 0 {
		r.telemetry.ReceiverRunsRejectedSpans.Add(ctx, n)
	}
	return contentType, body, nil
}

// push hands spans to the next consumer and waits for it as long as ctx allows. A consumer may take longer: a
// produce that has begun cannot be taken back. Its outcome is then nobody's to tell, and the client, which is
// told that nothing was accepted, may send again, as the same spans may come any number of times. done is
// called when the consumer is done with the spans. To it, the request does not end when its client goes: Kafka's client
// fails all records of a partition with one whose context has ended before it was sent.
func (r *runsReceiver) push(ctx context.Context, td ptrace.Traces, format string, done func()) error {
	spans := td.SpanCount()
	if spans == 0 {
		done()
		return nil
	}
	select {
	case <-r.givenUp: // the consumer may be shut down
		done()
		return errStopping
	default:
	}
	outcome := make(chan error, 1)
	r.pushing.Go(func() {
		defer done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.QueueTimeout)
		defer cancel()
		ctx = r.report.StartTracesOp(ctx)
		err := r.next.ConsumeTraces(ctx, td)
		r.report.EndTracesOp(ctx, format, spans, err)
		outcome <- err
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

// format is one way to write runs and spans, for one request.
type format interface {
	// name is the format in the Collector's metrics.
	name() string
	// decode reads a body, which it does not keep, and charges what the spans take.
	decode(body []byte, held *charge) (ptrace.Traces, error)
	// accepted is the answer to the request that decode has read.
	accepted(requestID string) (contentType string, body []byte)
	// rejected is how many of the request's spans are not among those decoded.
	rejected() int64
}

// formatOf is the format of a request by its route and media type.
func (r *runsReceiver) formatOf(x *exchange) (format, error) {
	switch {
	case x.route == routeRuns && x.mediaType == typeJSON:
		return &nativeFormat{}, nil
	case x.route == routeRuns:
		return nil, unsupportedMediaType.because("The content type is not supported: send application/json.")
	case x.route == routeLogs && x.mediaType == typeProtobuf:
		return &logsFormat{mediaType: typeProtobuf, weigh: weighLogsProto, unmarshal: unmarshalLogsProto, marshal: plogotlp.ExportResponse.MarshalProto}, nil
	case x.route == routeLogs && x.mediaType == typeJSON:
		return &logsFormat{mediaType: typeJSON, weigh: weighJSON, unmarshal: unmarshalLogsJSON, marshal: plogotlp.ExportResponse.MarshalJSON}, nil
	case x.mediaType == typeProtobuf:
		otlp := otlpFormat{mediaType: typeProtobuf, weigh: weighProto, unmarshal: unmarshalProto, marshal: marshalProto}
		if r.cfg.RawPassthrough {
			return &passthroughFormat{otlp}, nil
		}
		return &otlp, nil
	case x.mediaType == typeJSON:
		return &otlpFormat{mediaType: typeJSON, weigh: weighJSON, unmarshal: unmarshalJSON, marshal: marshalResponseJSON}, nil
	default:
		return nil, unsupportedMediaType.because("The content type is not supported: send application/x-protobuf or application/json.")
	}
}
