package kafka

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/looptrace/looptrace/test/freeport"
)

// Secured is a broker that requires TLS and a login by PLAIN or SCRAM-SHA-512.
type Secured struct {
	*Broker

	// CAFile has the certificate that clients must trust.
	CAFile             string
	Username, Password string
	// Plain is an address for tests without TLS and login.
	Plain string
}

// Environment returns the environment for a process of the product to reach the broker.
func (s *Secured) Environment() []string {
	return []string{
		"KAFKA_BROKERS=" + s.Address,
		fmt.Sprintf("KAFKA_TLS={ca_file: %s}", s.CAFile),
		fmt.Sprintf("KAFKA_SASL={mechanism: SCRAM-SHA-512, username: %s, password: %s}", s.Username, s.Password),
	}
}

// StartSecured is Start for a secured broker.
func StartSecured(tb testing.TB) *Secured {
	tb.Helper()
	free := freeport.Take(tb, 3)
	b := &Broker{Address: free[0], internal: free[1], jars: fetched(tb), folder: tb.TempDir()}
	s := &Secured{
		Broker: b, CAFile: filepath.Join(b.folder, "ca.pem"), Username: "looptrace", Password: "secret-of-looptrace", Plain: b.internal,
	}
	controller := free[2]
	listeners := fmt.Sprintf("SASL_SSL://%s,PLAINTEXT://%s", b.Address, b.internal)
	const jaas = "listener.name.sasl_ssl.%s.sasl.jaas.config=org.apache.kafka.common.security.%s required%s;"
	b.format(tb, append([]string{
		"node.id=1",
		"controller.quorum.voters=1@" + controller,
		fmt.Sprintf("listeners=%s,CONTROLLER://%s", listeners, controller),
		"advertised.listeners=" + listeners,
		"listener.security.protocol.map=SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"transaction.state.log.replication.factor=1",
		"ssl.keystore.type=PEM",
		"ssl.keystore.location=" + s.certify(tb),
		"sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512",
		fmt.Sprintf(jaas, "plain", "plain.PlainLoginModule", fmt.Sprintf(` user_%s="%s"`, s.Username, s.Password)),
		fmt.Sprintf(jaas, "scram-sha-512", "scram.ScramLoginModule", ""),
	}, alone...), "--add-scram", fmt.Sprintf(`SCRAM-SHA-512=[name="%s",password="%s"]`, s.Username, s.Password))
	b.Resume(tb)
	return s
}

// certify creates a self-signed certificate, and returns the files of it and its key.
func (s *Secured) certify(tb testing.TB) string {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kafka"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	store := filepath.Join(s.folder, "keystore.pem")
	for file, text := range map[string][]byte{
		s.CAFile: public,
		store:    append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), public...),
	} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return store
}
