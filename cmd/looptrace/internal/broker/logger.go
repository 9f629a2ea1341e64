package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
)

// logger hands the broker's warnings and errors on.
type logger struct {
	log  *slog.Logger
	fail func(error)
}

// fatal are the warnings after which what is on the disk no longer matches what clients get as answers. A batch that
// could not be written is counted as seen: the producer's next attempt would be acknowledged as a duplicate of
// something that is nowhere. Entries behind a torn one of a group are not found at the next start. A topic
// that could not be written would be gone with it.
var fatal = []string{"persist batch ", "persist group entry ", "persist topics"}

// Logf implements kfake.Logger.
func (l logger) Logf(level kfake.LogLevel, format string, args ...any) {
	if level > kfake.LogLevelWarn {
		return
	}
	message := fmt.Sprintf(format, args...)
	for _, prefix := range fatal {
		if strings.HasPrefix(message, prefix) {
			l.fail(errors.New(message))
			return
		}
	}
	severity := slog.LevelWarn
	if level == kfake.LogLevelError {
		severity = slog.LevelError
	}
	l.log.Log(context.Background(), severity, "the broker warns", "cause", message)
}
