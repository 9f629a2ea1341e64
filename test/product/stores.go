package product

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/looptrace/looptrace/internal/clickhouse"
)

// Password reads a password of the instance's data folder: "postgres", "clickhouse" or "queue".
func (p *Product) Password(tb testing.TB, store string) string {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join(p.Data, store+"-password"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(bytes.TrimSpace(raw))
}

// ClickHouse opens the instance's run store.
func (p *Product) ClickHouse(tb testing.TB) driver.Conn {
	tb.Helper()
	conn, err := clickhouse.Open(ClickHouseURL(p.Ports, p.Password(tb, "clickhouse"), "looptrace"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() }) // nothing is pending
	return conn
}

// ClickHouseURL returns the address of a database.
func ClickHouseURL(ports Ports, password, database string) string {
	return fmt.Sprintf("clickhouse://looptrace:%s@%s/%s", password, ports.Addr(ClickHouse), database)
}

// QueueLogin returns the login to the embedded queue for KAFKA_SASL.
func QueueLogin(password string) string {
	return fmt.Sprintf("{mechanism: SCRAM-SHA-256, username: looptrace, password: %q}", password)
}

// Queue opens a client of the instance's queue.
func (p *Product) Queue(tb testing.TB, opts ...kgo.Opt) *kgo.Client {
	tb.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(p.Ports.Addr(Broker)), kgo.SASL(scram.Auth{User: "looptrace", Pass: p.Password(tb, "queue")}.AsSha256Mechanism()))...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	return client
}
