package readinessextension

import (
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"

	"github.com/looptrace/looptrace/internal/kafkaconfig"
)

// Config is what an operator sets.
type Config struct {
	confighttp.ServerConfig `mapstructure:",squash"`

	// Queue is asked whether it can be written to; without brokers nothing is asked.
	Queue QueueConfig `mapstructure:"queue"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// QueueConfig says where the queue is.
type QueueConfig struct {
	// Brokers are the addresses to start from, as host:port.
	Brokers []string `mapstructure:"brokers"`

	// Security is what the brokers ask for: `tls` and `auth`, as in the kafka exporter.
	kafkaconfig.Security `mapstructure:",squash"`

	// Topic is what is written to.
	Topic string `mapstructure:"topic"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func createDefaultConfig() component.Config {
	server := confighttp.NewDefaultServerConfig()
	server.KeepAlivesEnabled = false // who asks comes anew each time
	return &Config{ServerConfig: server}
}

// Validate reports everything that is wrong at once.
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
