package collector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/product/load"
	"github.com/looptrace/looptrace/test/programs"
)

// service is a program with the stock SDK of its language, in clients/<language>.
type service struct {
	language string
	// endpoint is where its exporters send: load.GRPC or load.OTLPProtobuf.
	endpoint load.Endpoint
	command  []string
}

// buildServices builds those whose tools are installed.
func buildServices(t *testing.T) []service {
	t.Helper()
	var services []service
	for _, language := range []struct {
		name     string
		endpoint load.Endpoint
		tools    []string
		build    func() (command []string)
	}{
		{"python", load.GRPC, []string{"python3"}, func() []string {
			return []string{programs.Python(t, "collector-python", "clients/python/requirements.txt"), "clients/python/client.py"}
		}},
		{"node", load.OTLPProtobuf, []string{"node", "npm"}, func() []string {
			return []string{"node", filepath.Join(programs.Node(t, "collector-node", os.DirFS("clients/node")), "client.mjs")}
		}},
		{"java", load.GRPC, []string{"javac", "mvn"}, func() []string {
			return []string{"java", "-cp", programs.Java(t, "collector-java", "clients/java"), "Client"}
		}},
		{"go", load.GRPC, []string{"go"}, func() []string {
			client := filepath.Join(t.TempDir(), "client")
			programs.Output(t, programs.Command(t.Context(), "go", "build", "-o", client, "./clients/go"))
			return []string{client}
		}},
		{"rust", load.OTLPProtobuf, []string{"cargo"}, func() []string {
			return []string{filepath.Join(programs.Rust(t, "collector-rust", "clients/rust"), "client")}
		}},
	} {
		missing := ""
		for _, tool := range language.tools {
			if _, err := exec.LookPath(tool); err != nil {
				missing = tool
			}
		}
		if missing != "" {
			t.Logf("NOT RUN: the client in %s. Install %s.", language.name, missing)
			continue
		}
		begin := time.Now()
		services = append(services, service{language.name, language.endpoint, language.build()})
		t.Logf("built the client in %s in %.1f s", language.name, time.Since(begin).Seconds())
	}
	return services
}

// runServices runs the services, which send to the ports, and returns the ids of all items and the traces, as they are to be read.
func (s *site) runServices(t *testing.T, services []service, to product.Ports) (ids []string, runs []load.Run) {
	t.Helper()
	begin := time.Now()
	var (
		mu    sync.Mutex
		group errgroup.Group
	)
	for _, service := range services {
		group.Go(func() error {
			cmd := programs.Command(t.Context(), service.command[0], service.command[1:]...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			protocol, endpoint := "http/protobuf", to.URL(product.OTLPHTTP)
			if service.endpoint == load.GRPC {
				protocol, endpoint = "grpc", to.URL(product.OTLPGRPC)
			}
			cmd.Env = append(cmd.Env, "OTEL_SERVICE_NAME="+service.language, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol, "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint)
			if s.key != "" {
				cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20"+s.key)
			}
			output, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("the client in %s: %w\n%s", service.language, err, stderr.Bytes())
			}
			var sent struct {
				IDs    []string    `json:"ids"`
				Traces []uuid.UUID `json:"traces"`
			}
			if err := json.Unmarshal(output, &sent); err != nil {
				return fmt.Errorf("the client in %s: %w", service.language, err)
			}
			mu.Lock()
			defer mu.Unlock()
			ids = append(ids, sent.IDs...)
			for _, trace := range sent.Traces {
				runs = append(runs, load.Run{
					ID: trace, Endpoint: service.endpoint, Spans: 2, LLMCalls: 1, InputTokens: 120, OutputTokens: 30, CostUSD: 0.000036, Start: begin,
				})
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	t.Logf("%d clients sent %d items in %d traces, in %.1f s", len(services), len(ids), len(runs), time.Since(begin).Seconds())
	return ids, runs
}
