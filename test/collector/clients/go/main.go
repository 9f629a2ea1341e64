// Command go is a service with the stock OpenTelemetry SDK. It answers three requests, each with a call of a model, a log record
// and a data point.
//
// It prints its traces and the attribute "id" of everything that it sent as JSON. The standard environment configures it. It
// fails if an export failed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	toTraces, err := otlptracegrpc.New(ctx)
	if err != nil {
		return err
	}
	toLogs, err := otlploggrpc.New(ctx)
	if err != nil {
		return err
	}
	toMetrics, err := otlpmetricgrpc.New(ctx)
	if err != nil {
		return err
	}
	spans := sdktrace.NewTracerProvider(sdktrace.WithBatcher(toTraces))
	logs := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(toLogs)))
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(toMetrics)))
	requests, err := metrics.Meter("shop").Int64Counter("shop.requests")
	if err != nil {
		return err
	}
	s := service{tracer: spans.Tracer("shop"), logger: logs.Logger("shop"), requests: requests}
	for range 3 {
		s.answer(ctx)
	}
	if err := errors.Join(spans.ForceFlush(ctx), logs.ForceFlush(ctx), metrics.ForceFlush(ctx)); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string][]string{"traces": s.traces, "ids": s.ids})
}

type service struct {
	tracer   trace.Tracer
	logger   log.Logger
	requests metric.Int64Counter

	traces, ids []string
}

func (s *service) answer(ctx context.Context) {
	ctx, span := s.tracer.Start(ctx, "POST /recommendations", trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", "POST"),
		attribute.String("http.route", "/recommendations"),
		attribute.String("url.path", "/recommendations"),
		attribute.String("url.scheme", "http"),
		attribute.Int("http.response.status_code", 200),
		attribute.String("id", s.unique()),
	))
	defer span.End()
	s.callModel(ctx)
	s.requests.Add(ctx, 1, metric.WithAttributes(attribute.String("id", s.unique())))
	s.traces = append(s.traces, span.SpanContext().TraceID().String())
}

func (s *service) callModel(ctx context.Context) {
	ctx, span := s.tracer.Start(ctx, "chat gpt-4o-mini", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", "openai"),
		attribute.String("gen_ai.request.model", "gpt-4o-mini"),
		attribute.String("gen_ai.response.model", "gpt-4o-mini-2024-07-18"),
		attribute.Int("gen_ai.usage.input_tokens", 120),
		attribute.Int("gen_ai.usage.output_tokens", 30),
		attribute.String("id", s.unique()),
	))
	defer span.End()
	var record log.Record
	record.SetSeverity(log.SeverityInfo)
	record.SetBody(log.StringValue("a model wrote"))
	record.AddAttributes(log.String("id", s.unique()))
	s.logger.Emit(ctx, record)
}

func (s *service) unique() string {
	s.ids = append(s.ids, uuid.NewString())
	return s.ids[len(s.ids)-1]
}
