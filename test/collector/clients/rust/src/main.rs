//! A service with the stock OpenTelemetry SDK. It answers three requests, each with a call of a model, a log record and a data
//! point.
//!
//! Prints its traces and the attribute "id" of everything that it sent as JSON. The standard environment configures it. Fails if
//! an export failed.

use opentelemetry::logs::{AnyValue, LogRecord, Logger, LoggerProvider, Severity};
use opentelemetry::metrics::{Counter, MeterProvider};
use opentelemetry::trace::{SpanKind, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{LogExporter, MetricExporter, SpanExporter};
use opentelemetry_sdk::logs::{SdkLogger, SdkLoggerProvider};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

struct Service {
    tracer: SdkTracer,
    logger: SdkLogger,
    requests: Counter<u64>,
    traces: Vec<String>,
    ids: Vec<String>,
}

impl Service {
    fn answer(&mut self) {
        let span = self
            .tracer
            .span_builder("POST /recommendations")
            .with_kind(SpanKind::Server)
            .with_attributes([
                KeyValue::new("http.request.method", "POST"),
                KeyValue::new("http.route", "/recommendations"),
                KeyValue::new("url.path", "/recommendations"),
                KeyValue::new("url.scheme", "http"),
                KeyValue::new("http.response.status_code", 200),
                KeyValue::new("id", self.unique()),
            ])
            .start(&self.tracer);
        let context = Context::current_with_span(span);
        let _entered = context.clone().attach();
        self.call_model();
        let id = self.unique();
        self.requests.add(1, &[KeyValue::new("id", id)]);
        let trace = context.span().span_context().trace_id();
        self.traces.push(trace.to_string());
    }

    fn call_model(&mut self) {
        let span = self
            .tracer
            .span_builder("chat gpt-4o-mini")
            .with_kind(SpanKind::Client)
            .with_attributes([
                KeyValue::new("gen_ai.operation.name", "chat"),
                KeyValue::new("gen_ai.provider.name", "openai"),
                KeyValue::new("gen_ai.request.model", "gpt-4o-mini"),
                KeyValue::new("gen_ai.response.model", "gpt-4o-mini-2024-07-18"),
                KeyValue::new("gen_ai.usage.input_tokens", 120),
                KeyValue::new("gen_ai.usage.output_tokens", 30),
                KeyValue::new("id", self.unique()),
            ])
            .start(&self.tracer);
        let _entered = Context::current_with_span(span).attach();
        let mut record = self.logger.create_log_record();
        record.set_severity_number(Severity::Info);
        record.set_severity_text("INFO");
        record.set_body(AnyValue::from("a model wrote"));
        record.add_attribute("id", self.unique());
        self.logger.emit(record);
    }

    fn unique(&mut self) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        self.ids.push(id.clone());
        id
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let spans = SdkTracerProvider::builder()
        .with_batch_exporter(SpanExporter::builder().with_http().build()?)
        .build();
    let logs = SdkLoggerProvider::builder()
        .with_batch_exporter(LogExporter::builder().with_http().build()?)
        .build();
    let metrics = SdkMeterProvider::builder()
        .with_periodic_exporter(MetricExporter::builder().with_http().build()?)
        .build();
    let mut service = Service {
        tracer: spans.tracer("shop"),
        logger: logs.logger("shop"),
        requests: metrics.meter("shop").u64_counter("shop.requests").build(),
        traces: Vec::new(),
        ids: Vec::new(),
    };
    for _ in 0..3 {
        service.answer();
    }
    spans.force_flush()?;
    logs.force_flush()?;
    metrics.force_flush()?;
    println!(
        r#"{{"traces": {:?}, "ids": {:?}}}"#,
        service.traces, service.ids
    );
    Ok(())
}
