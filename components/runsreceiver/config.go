package runsreceiver

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
)

// Config is the receiver's configuration: an HTTP server and what it may hold.
type Config struct {
	confighttp.ServerConfig `mapstructure:",squash"`

	// MaxInFlightBytes limits the memory of all request bodies and the spans decoded from them. Requests beyond it
	// are answered 503 with Retry-After.
	MaxInFlightBytes int64 `mapstructure:"max_in_flight_bytes"`

	// QueueTimeout limits the time from the end of a body to its answer. If the next consumer has not accepted the
	// spans by then, the answer is 503 with Retry-After.
	QueueTimeout time.Duration `mapstructure:"queue_timeout"`

	// TracesStatus is the status of success on OTLP's paths: 202, which is what happens, or 200, which OTLP/HTTP
	// specifies.
	TracesStatus int `mapstructure:"traces_status"`

	// RawPassthrough passes on OTLP in protobuf unchanged, in a resource that holds the whole request, unless something
	// in it must be dropped. Readers of the queue decode it.
	RawPassthrough bool `mapstructure:"raw_passthrough"`

	// Readiness is an extension that reports whether the collector works. GET /readyz returns its answer. GET /healthz
	// needs no extension. Neither needs a key.
	Readiness *component.ID `mapstructure:"readiness"`
}

var _ component.Config = (*Config)(nil)

func createDefaultConfig() component.Config {
	server := confighttp.NewDefaultServerConfig()
	server.NetAddr.Endpoint = "localhost:7080"
	server.MaxRequestBodySize = 20 << 20
	server.ReadHeaderTimeout = 10 * time.Second
	server.ReadTimeout = 30 * time.Second
	server.WriteTimeout = time.Minute
	return &Config{
		ServerConfig:     server,
		MaxInFlightBytes: 256 << 20,
		QueueTimeout:     10 * time.Second,
		TracesStatus:     http.StatusAccepted,
	}
}

// Validate reports all problems of the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.NetAddr.Endpoint == "" {
		errs = append(errs, errors.New("endpoint is required"))
	}
	if len(c.CompressionAlgorithms) > 0 {
		errs = append(errs, errors.New("compression_algorithms cannot be set: gzip, zstd and deflate are accepted"))
	}
	if c.MaxRequestBodySize <= 0 {
		errs = append(errs, errors.New("max_request_body_size must be positive"))
	}
	if c.MaxInFlightBytes < c.MaxRequestBodySize {
		errs = append(errs, fmt.Errorf("max_in_flight_bytes (%d) must hold at least one body of max_request_body_size (%d)",
			c.MaxInFlightBytes, c.MaxRequestBodySize))
	}
	if c.ReadTimeout <= 0 {
		errs = append(errs, errors.New("read_timeout must be positive: a slow body would hold its connection for ever"))
	}
	if c.QueueTimeout <= 0 {
		errs = append(errs, errors.New("queue_timeout must be positive"))
	}
	if c.TracesStatus != http.StatusOK && c.TracesStatus != http.StatusAccepted {
		errs = append(errs, errors.New("traces_status must be 200 or 202"))
	}
	// The server's write deadline begins at the end of the header, so it must include the time for the body and the
	// queue.
	if c.WriteTimeout > 0 && c.WriteTimeout <= c.ReadTimeout+c.QueueTimeout {
		errs = append(errs, fmt.Errorf("write_timeout (%s) must be longer than read_timeout and queue_timeout together (%s)",
			c.WriteTimeout, c.ReadTimeout+c.QueueTimeout))
	}
	return errors.Join(errs...)
}
