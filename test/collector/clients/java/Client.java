import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.logs.Logger;
import io.opentelemetry.api.logs.Severity;
import io.opentelemetry.api.metrics.LongCounter;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;
import io.opentelemetry.sdk.common.CompletableResultCode;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.stream.Collectors;

/**
 * A service with the stock OpenTelemetry SDK. It answers three requests, each with a call of a model, a log record and a data
 * point.
 *
 * <p>Prints its traces and the attribute "id" of everything that it sent as JSON. The standard environment configures it. Fails
 * if an export failed.
 */
public class Client {
  private static final AttributeKey<String> ID = AttributeKey.stringKey("id");

  private final List<String> traces = new ArrayList<>();
  private final List<String> ids = new ArrayList<>();
  private final Tracer tracer;
  private final Logger logger;
  private final LongCounter requests;

  private Client(OpenTelemetrySdk sdk) {
    tracer = sdk.getTracer("shop");
    logger = sdk.getLogsBridge().get("shop");
    requests = sdk.getMeter("shop").counterBuilder("shop.requests").build();
  }

  public static void main(String[] args) {
    Failures failures = new Failures();
    java.util.logging.Logger.getLogger("io.opentelemetry").addHandler(failures);
    OpenTelemetrySdk sdk = AutoConfiguredOpenTelemetrySdk.initialize().getOpenTelemetrySdk();
    Client client = new Client(sdk);
    for (int i = 0; i < 3; i++) {
      client.answer();
    }
    boolean flushed =
        CompletableResultCode.ofAll(
                List.of(
                    sdk.getSdkTracerProvider().forceFlush(),
                    sdk.getSdkLoggerProvider().forceFlush(),
                    sdk.getSdkMeterProvider().forceFlush()))
            .join(30, TimeUnit.SECONDS)
            .isSuccess();
    System.out.printf("{\"traces\": %s, \"ids\": %s}%n", json(client.traces), json(client.ids));
    System.exit(flushed && !failures.any.get() ? 0 : 1);
  }

  private void answer() {
    Span span =
        tracer
            .spanBuilder("POST /recommendations")
            .setSpanKind(SpanKind.SERVER)
            .setAttribute("http.request.method", "POST")
            .setAttribute("http.route", "/recommendations")
            .setAttribute("url.path", "/recommendations")
            .setAttribute("url.scheme", "http")
            .setAttribute("http.response.status_code", 200)
            .setAttribute(ID, unique())
            .startSpan();
    try (Scope scope = span.makeCurrent()) {
      callModel();
      requests.add(1, Attributes.of(ID, unique()));
    } finally {
      span.end();
    }
    traces.add(span.getSpanContext().getTraceId());
  }

  private void callModel() {
    Span span =
        tracer
            .spanBuilder("chat gpt-4o-mini")
            .setSpanKind(SpanKind.CLIENT)
            .setAttribute("gen_ai.operation.name", "chat")
            .setAttribute("gen_ai.provider.name", "openai")
            .setAttribute("gen_ai.request.model", "gpt-4o-mini")
            .setAttribute("gen_ai.response.model", "gpt-4o-mini-2024-07-18")
            .setAttribute("gen_ai.usage.input_tokens", 120)
            .setAttribute("gen_ai.usage.output_tokens", 30)
            .setAttribute(ID, unique())
            .startSpan();
    try (Scope scope = span.makeCurrent()) {
      logger.logRecordBuilder().setSeverity(Severity.INFO).setBody("a model wrote").setAttribute(ID, unique()).emit();
    } finally {
      span.end();
    }
  }

  private String unique() {
    ids.add(UUID.randomUUID().toString());
    return ids.get(ids.size() - 1);
  }

  private static String json(List<String> texts) {
    return texts.stream().map(text -> '"' + text + '"').collect(Collectors.joining(", ", "[", "]"));
  }

  /** Notes whether the SDK logged a failure: batch processors return none. */
  private static class Failures extends Handler {
    final AtomicBoolean any = new AtomicBoolean();

    @Override
    public void publish(LogRecord record) {
      if (record.getLevel().intValue() >= Level.WARNING.intValue()) {
        any.set(true);
      }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }
}
