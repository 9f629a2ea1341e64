package product

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/looptrace/looptrace/test/freeport"
)

// The default ports.
const (
	OTLPGRPC         = 4317
	OTLPHTTP         = 4318
	Ingest           = 7080
	API              = 7081
	CollectorHealth  = 7082
	CollectorMetrics = 7083
	Broker           = 7084
	ClickHouse       = 7085
	Postgres         = 7087
	BrokerMetrics    = 7088
	Web              = 7090
)

var allPorts = []int{
	OTLPGRPC, OTLPHTTP, Ingest, API, CollectorHealth, CollectorMetrics, Broker, ClickHouse, Postgres,
	BrokerMetrics, Web,
}

// Ports are the ports of one instance: the default ones, shifted.
type Ports struct{ Offset int }

// Addr returns the address of the given default port.
func (p Ports) Addr(port int) string { return fmt.Sprintf("127.0.0.1:%d", port+p.Offset) }

// URL returns the HTTP address of the given default port.
func (p Ports) URL(port int) string { return "http://" + p.Addr(port) }

// FreePorts finds an offset at which every port is free, and reserves them while the process lives.
func FreePorts() (Ports, error) {
	const attempts = 100
	lowest, highest := freeport.Lowest-slices.Min(allPorts), freeport.Highest-slices.Max(allPorts)
	for range attempts {
		p := Ports{Offset: lowest + rand.IntN(highest-lowest)}
		ports := make([]int, len(allPorts))
		for i, port := range allPorts {
			ports[i] = port + p.Offset
		}
		held, err := freeport.Hold(ports...)
		if err != nil {
			return Ports{}, fmt.Errorf("find free ports: %w", err)
		}
		if held {
			return p, nil
		}
	}
	return Ports{}, fmt.Errorf("find free ports: none in %d attempts", attempts)
}
