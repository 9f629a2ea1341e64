package kafkaclient

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// tlsSettings are those settings of the Collector's configtls.ClientConfig that a client of ours may need. The control
// plane cannot use that type: it links no Collector package.
type tlsSettings struct {
	CAFile                   string `yaml:"ca_file"`
	CAPem                    string `yaml:"ca_pem"`
	IncludeSystemCACertsPool bool   `yaml:"include_system_ca_certs_pool"`
	CertFile                 string `yaml:"cert_file"`
	CertPem                  string `yaml:"cert_pem"`
	KeyFile                  string `yaml:"key_file"`
	KeyPem                   string `yaml:"key_pem"`
	MinVersion               string `yaml:"min_version"`
	MaxVersion               string `yaml:"max_version"`
	Insecure                 bool   `yaml:"insecure"`
	InsecureSkipVerify       bool   `yaml:"insecure_skip_verify"`
	ServerNameOverride       string `yaml:"server_name_override"`
}

var tlsVersions = map[string]uint16{
	"": 0, "1.0": tls.VersionTLS10, "1.1": tls.VersionTLS11, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13,
}

// load returns nil for a connection without TLS.
func (s *tlsSettings) load() (*tls.Config, error) {
	ca, err := readPEM(s.CAFile, s.CAPem)
	if err != nil {
		return nil, err
	}
	if s.Insecure && ca == nil {
		return nil, nil
	}
	minVersion, minKnown := tlsVersions[s.MinVersion]
	maxVersion, maxKnown := tlsVersions[s.MaxVersion]
	if !minKnown || !maxKnown {
		return nil, errors.New("min_version and max_version must be 1.0, 1.1, 1.2 or 1.3")
	}
	config := &tls.Config{
		MinVersion: cmp.Or(minVersion, tls.VersionTLS12), MaxVersion: maxVersion,
		ServerName: s.ServerNameOverride, InsecureSkipVerify: s.InsecureSkipVerify, //nolint:gosec // the operator's choice
	}
	if ca != nil {
		config.RootCAs = x509.NewCertPool()
		if s.IncludeSystemCACertsPool {
			if config.RootCAs, err = x509.SystemCertPool(); err != nil {
				return nil, fmt.Errorf("read the system's certificate authorities: %w", err)
			}
		}
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("ca_file or ca_pem has no certificate")
		}
	}
	certificate, err := readPEM(s.CertFile, s.CertPem)
	if err != nil {
		return nil, err
	}
	key, err := readPEM(s.KeyFile, s.KeyPem)
	if err != nil {
		return nil, err
	}
	if certificate == nil && key == nil {
		return config, nil
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read the client's certificate and key: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// readPEM returns what is set of a file's content and a text; nil for neither.
func readPEM(file, text string) ([]byte, error) {
	switch {
	case file != "" && text != "":
		return nil, fmt.Errorf("%s and its PEM form are both set: remove one", file)
	case file != "":
		return os.ReadFile(file)
	case text != "":
		return []byte(text), nil
	}
	return nil, nil
}
