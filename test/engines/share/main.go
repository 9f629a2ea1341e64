// Command share starts ClickHouse and PostgreSQL, and runs a command whose tests use them:
//
//	go run ./test/engines/share go test ./controlplane/...
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/looptrace/looptrace/test/engines"
)

func main() {
	if len(os.Args) == 1 {
		fmt.Fprintln(os.Stderr, "share: name a command to run with the engines, such as: go test ./controlplane/...")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := engines.Share(ctx, os.Args[1], os.Args[2:]...)
	stop()
	if err == nil {
		return
	}
	if failed := (&exec.ExitError{}); errors.As(err, &failed) {
		os.Exit(max(failed.ExitCode(), 1)) // it has said why
	}
	fmt.Fprintln(os.Stderr, "share:", err)
	os.Exit(1)
}
