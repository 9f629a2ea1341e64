package engines

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// The addresses of the engines that test binaries share, with %s for the database.
const (
	clickhouseVariable = "LOOPTRACE_TEST_CLICKHOUSE"
	postgresVariable   = "LOOPTRACE_TEST_POSTGRES"
)

// Share starts both engines, and runs a command whose test binaries use them. It ends them with the command, whose error it
// returns.
func Share(ctx context.Context, name string, args ...string) error {
	clickhouse, err := startClickHouse() //nolint:contextcheck // it outlives what starts it, and has its own time
	if err != nil {
		return err
	}
	defer clickhouse.remove()
	postgres, err := startPostgres() //nolint:contextcheck // it outlives what starts it, and has its own time
	if err != nil {
		return err
	}
	defer postgres.remove()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), clickhouseVariable+"="+clickhouse.url, postgresVariable+"="+postgres.url)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// remove ends the engine and removes its folder.
func (s *Server) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	_ = os.RemoveAll(s.folder)
}

// given returns the engine that Share has started, or else starts one.
func given(variable string, start func() (*Server, error)) (*Server, error) {
	if url := os.Getenv(variable); url != "" {
		return &Server{url: url}, nil
	}
	return start()
}
