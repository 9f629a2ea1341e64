// Package validate checks values that people enter, and says what is wrong with them.
package validate

import (
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/looptrace/looptrace/internal/problem"
)

// Name returns a name without space around it. One that cannot be shown is [problem.Invalid].
func Name(location, name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return "", problem.InvalidField(location, "must not be blank")
	}
	return name, Printable(location, name)
}

// Email returns a bare address without space around it. Another text is [problem.Invalid].
func Email(location, email string) (string, error) {
	email = strings.TrimSpace(email)
	if err := Printable(location, email); err != nil {
		return "", err
	}
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email {
		return "", problem.InvalidField(location, "must be an email address")
	}
	return email, nil
}

// Printable refuses control characters.
func Printable(location, text string) error {
	if i := strings.IndexFunc(text, unicode.IsControl); i >= 0 {
		return problem.InvalidField(location, fmt.Sprintf("must not contain control characters (at byte %d)", i))
	}
	return nil
}

// Text refuses a text that is not UTF-8, and control characters other than line breaks and tabs.
func Text(location, text string) error {
	if !utf8.ValidString(text) {
		return problem.InvalidField(location, "must be UTF-8")
	}
	i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' })
	if i >= 0 {
		return problem.InvalidField(location, fmt.Sprintf("must not contain control characters (at byte %d)", i))
	}
	return nil
}

// Times that the stores hold: ClickHouse keeps 64 bits of nanoseconds.
var (
	earliest = time.Unix(0, 0)
	latest   = time.Date(2261, time.December, 31, 23, 59, 59, 0, time.UTC)
)

// Time refuses a time that the stores cannot hold.
func Time(location string, t time.Time) error {
	if t.Before(earliest) || t.After(latest) {
		return problem.InvalidFields(problem.Field{
			Location: location, Message: "must be between 1970 and 2261", Value: t.Format(time.RFC3339Nano),
		})
	}
	return nil
}
