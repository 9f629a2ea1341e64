package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
)

// logger forwards the broker's warnings and errors.
type logger struct {
	log  *slog.Logger
	fail func(error)
}

// fatal are the warnings after which the disk no longer matches the broker's answers. A batch that could not be
// written counts as seen: the producer's retry would be acknowledged as a duplicate although it is stored nowhere.
// Entries behind a torn entry of a group are lost at the next start. A topic that could not be written is lost.
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
