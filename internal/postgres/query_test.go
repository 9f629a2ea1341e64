package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/alecthomas/assert/v2"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestAvailable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want bool
	}{
		{&pgconn.PgError{Code: "57P01"}, true},
		{&pgconn.PgError{Code: "53300"}, true},
		{&pgconn.PgError{Code: "23505"}, false},
		{fmt.Errorf("wait: %w", context.DeadlineExceeded), true},
		{fmt.Errorf("query: %w", context.Canceled), false},
		{errors.New("a bug"), false},
	} {
		assert.Equal(t, test.want, errors.Is(available(test.err), ErrUnavailable), test.err)
	}
	assert.NoError(t, available(nil))
}
