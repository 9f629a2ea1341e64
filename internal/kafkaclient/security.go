// Package kafkaclient secures connections to Kafka. Components configure it through kafkaconfig, everything else through
// the environment.
package kafkaclient

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	"go.yaml.in/yaml/v3"
)

// Security is what the brokers ask of a connection. The zero value is a plain connection.
type Security struct {
	TLS  *tls.Config
	SASL *SASL
}

// SASL is a login.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
	Mechanism string `yaml:"mechanism"`
	Username  string `yaml:"username"`
	Password  string `yaml:"password"`
}

// Validate reports everything that is wrong at once.
func (s *SASL) Validate() error {
	var errs []error
	if _, ok := mechanisms[s.Mechanism]; !ok {
		errs = append(errs, fmt.Errorf("mechanism must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, not %q", s.Mechanism))
	}
	if s.Username == "" || s.Password == "" {
		errs = append(errs, errors.New("username and password must be set"))
	}
	return errors.Join(errs...)
}

// Option is the option of a client that logs in so.
func (s *SASL) Option() kgo.Opt {
	return kgo.SASL(mechanisms[s.Mechanism](s.Username, s.Password))
}

// YAML is the login in the form that KAFKA_SASL has.
func (s *SASL) YAML() string {
	return fmt.Sprintf("{mechanism: %s, username: %q, password: %q}", s.Mechanism, s.Username, s.Password)
}

var mechanisms = map[string]func(user, password string) sasl.Mechanism{
	"PLAIN": func(user, password string) sasl.Mechanism {
		return plain.Auth{User: user, Pass: password}.AsMechanism()
	},
	"SCRAM-SHA-256": func(user, password string) sasl.Mechanism {
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	},
	"SCRAM-SHA-512": func(user, password string) sasl.Mechanism {
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	},
}

// Options are the options of a client that connects so.
func (s Security) Options() []kgo.Opt {
	var opts []kgo.Opt
	if s.TLS != nil {
		opts = append(opts, kgo.DialTLSConfig(s.TLS))
	}
	if s.SASL != nil {
		opts = append(opts, s.SASL.Option())
	}
	return opts
}

// FromEnvironment reads KAFKA_TLS and KAFKA_SASL: YAML maps with the keys that `tls` and `auth::sasl` have in the Collector's
// configuration. Unset or empty means none.
func FromEnvironment() (Security, error) {
	var security Security
	var settings *tlsSettings
	if err := unmarshal("KAFKA_TLS", &settings); err != nil {
		return Security{}, err
	}
	if settings != nil {
		var err error
		if security.TLS, err = settings.load(); err != nil {
			return Security{}, fmt.Errorf("load the certificates of KAFKA_TLS: %w", err)
		}
	}
	if err := unmarshal("KAFKA_SASL", &security.SASL); err != nil {
		return Security{}, err
	}
	if security.SASL != nil {
		if err := security.SASL.Validate(); err != nil {
			return Security{}, fmt.Errorf("read KAFKA_SASL: %w", err)
		}
	}
	return security, nil
}

// unmarshal reads the YAML of an environment variable.
func unmarshal(variable string, into any) error {
	decoder := yaml.NewDecoder(strings.NewReader(os.Getenv(variable)))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil && !errors.Is(err, io.EOF) { // io.EOF: it is empty
		return fmt.Errorf("read %s: %w", variable, err)
	}
	return nil
}
