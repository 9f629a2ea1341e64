// Command looptrace runs and looks after Looptrace on one machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/command"
)

func main() {
	if err := command.New().ExecuteContext(context.Background()); err != nil {
		for line := range strings.Lines(err.Error()) {
			_, _ = fmt.Fprintln(os.Stderr, "looptrace:", strings.TrimSuffix(line, "\n"))
		}
		var coded interface{ ExitCode() int }
		if errors.As(err, &coded) {
			os.Exit(coded.ExitCode())
		}
		os.Exit(1)
	}
}
