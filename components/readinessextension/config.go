package readinessextension

import (
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"

	"github.com/looptrace/looptrace/internal/kafkaconfig"
)

// Config is the extension's configuration.
type Config struct {
	confighttp.ServerConfig `mapstructure:",squash"`

	// Queue is checked for whether it can be written to, if it has brokers.
	Queue QueueConfig `mapstructure:"queue"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// QueueConfig locates the queue.
type QueueConfig struct {
	// Brokers are the bootstrap addresses, as host:port.
	Brokers []string `mapstructure:"brokers"`

	// Security holds `tls` and `auth`, as in the kafka exporter.
	kafkaconfig.Security `mapstructure:",squash"`

	// Topic is what is written to.
	Topic string `mapstructure:"topic"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func createDefaultConfig() component.Config {
	server := confighttp.NewDefaultServerConfig()
	server.KeepAlivesEnabled = false // each check uses a new connection
	return &Config{ServerConfig: server}
}

// Validate reports all problems of the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.NetAddr.Endpoint == "" {
		errs = append(errs, errors.New("endpoint must be set"))
	}
	if (len(c.Queue.Brokers) > 0) != (c.Queue.Topic != "") {
		errs = append(errs, errors.New("queue needs both brokers and topic"))
	}
	return errors.Join(errs...)
}
