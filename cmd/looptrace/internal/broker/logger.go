package broker

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
)

// logger hands the broker's warnings and errors on.
type logger struct{ log *slog.Logger }

// exit ends the process; a test may look on instead.
var exit = os.Exit

// Logf implements kfake.Logger. A batch that could not be written ends the process before the producer is
// answered: the broker has counted the batch as seen by then, so it would acknowledge the producer's next
// attempt as a duplicate of something that is nowhere. A new process knows only what is on the disk.
func (l logger) Logf(level kfake.LogLevel, format string, args ...any) {
	if level > kfake.LogLevelWarn {
		return
	}
	message := fmt.Sprintf(format, args...)
	if strings.HasPrefix(format, "persist batch ") {
		l.log.Error("a record could not be written, starting anew", "cause", message)
		exit(1)
		return
	}
	severity := slog.LevelWarn
	if level == kfake.LogLevelError {
		severity = slog.LevelError
	}
	l.log.Log(context.Background(), severity, "the broker warns", "cause", message)
}
