// Package layout defines the locations on one machine: the built parts next to the executable, the data folder and
// the ports.
package layout

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Tree is the location of the built parts.
type Tree struct {
	// Root is the folder of the checkout.
	Root string
}

// FindTree finds the parts relative to the running executable, which is in ROOT/_build.
func FindTree() (Tree, error) {
	exe, err := os.Executable()
	if err != nil {
		return Tree{}, fmt.Errorf("find our own executable: %w", err)
	}
	if exe, err = filepath.EvalSymlinks(exe); err != nil {
		return Tree{}, fmt.Errorf("find our own executable: %w", err)
	}
	return Tree{Root: filepath.Dir(filepath.Dir(exe))}, nil
}

// Engines returns the folder where npm installed the engines.
func (t Tree) Engines() string { return filepath.Join(t.Root, "_build", "engines") }

// Collector returns the path of the collector's executable.
func (t Tree) Collector() string { return filepath.Join(t.Root, "_build", "looptrace-collector") }

// CollectorConfig returns the path of the collector's configuration.
func (t Tree) CollectorConfig() string { return filepath.Join(t.Root, "otelcol-config.yaml") }

// ControlPlane returns the path of the control plane's executable.
func (t Tree) ControlPlane() string { return filepath.Join(t.Root, "_build", "looptrace-controlplane") }

// UI returns the folder of the built UI.
func (t Tree) UI() string { return filepath.Join(t.Root, "ui", "dist") }

// DataDir returns the data folder: the given one, else LOOPTRACE_DATA, else ~/.looptrace.
func DataDir(dir string) (string, error) {
	if dir == "" {
		dir = os.Getenv("LOOPTRACE_DATA")
	}
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the home folder (name a data folder with --data): %w", err)
		}
		dir = filepath.Join(home, ".looptrace")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the data folder: %w", err)
	}
	return abs, nil
}

// Port is one port of the product.
type Port struct {
	Number int
	// Use says what listens there.
	Use string
}

// Addr returns the loopback address of the port.
func (p Port) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Number)) }

// Ports are all ports of the product on one machine.
type Ports struct {
	Ingest, API, CollectorHealth, CollectorMetrics, Broker, BrokerMetrics, Web Port
	ClickHouse, Postgres, OTLPGRPC, OTLPHTTP                                   Port
}

// NewPorts returns the default ports, each increased by offset.
func NewPorts(offset int) Ports {
	at := func(number int, use string) Port { return Port{Number: number + offset, Use: use} }
	return Ports{
		Web:              at(7090, "the web UI"),
		API:              at(7081, "the API"),
		Ingest:           at(7080, "ingest"),
		CollectorHealth:  at(7082, "the collector's health"),
		CollectorMetrics: at(7083, "the collector's metrics"),
		Broker:           at(7084, "the queue"),
		ClickHouse:       at(7085, "ClickHouse"),
		Postgres:         at(7087, "PostgreSQL"),
		BrokerMetrics:    at(7088, "the queue's metrics"),
		OTLPGRPC:         at(4317, "OTLP over gRPC"),
		OTLPHTTP:         at(4318, "OTLP over HTTP"),
	}
}

// All returns the ports in ascending order.
func (p Ports) All() []Port {
	return []Port{
		p.OTLPGRPC, p.OTLPHTTP, p.Ingest, p.API, p.CollectorHealth, p.CollectorMetrics,
		p.Broker, p.ClickHouse, p.Postgres, p.BrokerMetrics, p.Web,
	}
}
