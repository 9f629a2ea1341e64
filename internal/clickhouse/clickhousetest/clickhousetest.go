// Package clickhousetest records statements for tests that compare them with files.
package clickhousetest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Row has the values of a row by its columns.
type Row map[string]any

// Recorder is a connection that records statements instead of sending them.
type Recorder struct {
	driver.Conn
	// Answer returns the rows of a statement, or why it fails. If it is nil, no statement has any.
	Answer func(statement string) ([]Row, error)
	// Shorten maps texts of statements to what is recorded in their place.
	Shorten map[string]string

	mutex    sync.Mutex
	recorded strings.Builder
}

func (r *Recorder) record(statement string, args []any) ([]Row, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	short := strings.TrimSpace(statement)
	for text, name := range r.Shorten {
		short = strings.ReplaceAll(short, text, name)
	}
	fmt.Fprintf(&r.recorded, "%s;\n-- arguments: %v\n", strings.ReplaceAll(short, " AND ", "\n\tAND "), args)
	if r.Answer == nil {
		return nil, nil
	}
	return r.Answer(statement)
}

// Query implements driver.Conn.
func (r *Recorder) Query(_ context.Context, statement string, args ...any) (driver.Rows, error) {
	found, err := r.record(statement, args)
	if err != nil {
		return nil, err
	}
	return &rows{left: found}, nil
}

// Select implements driver.Conn. dest is a slice of structs with ch tags.
func (r *Recorder) Select(_ context.Context, dest any, statement string, args ...any) error {
	found, err := r.record(statement, args)
	list := reflect.ValueOf(dest).Elem()
	for _, row := range found {
		one := reflect.New(list.Type().Elem()).Elem()
		for _, field := range reflect.VisibleFields(one.Type()) {
			if value, ok := row[field.Tag.Get("ch")]; ok {
				one.FieldByIndex(field.Index).Set(reflect.ValueOf(value))
			}
		}
		list.Set(reflect.Append(list, one))
	}
	return err
}

// Exec implements driver.Conn.
func (r *Recorder) Exec(_ context.Context, statement string, args ...any) error {
	_, err := r.record(statement, args)
	return err
}

// String returns what was recorded.
func (r *Recorder) String() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.recorded.String()
}

// Compare compares statements with the file testdata/NAME.sql, or writes it.
func Compare(tb testing.TB, name, statements string, update bool) {
	tb.Helper()
	file := filepath.Join("testdata", name+".sql")
	if update {
		require.NoError(tb, os.WriteFile(file, []byte(statements), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(tb, err, "run the test with -update")
	assert.Equal(tb, string(want), statements)
}

// rows are the rows of an answer. The columns are those of the first.
type rows struct {
	driver.Rows
	left    []Row
	current Row
}

func columnsOf(row Row) []string { return slices.Sorted(maps.Keys(row)) }

func (r *rows) Columns() []string {
	if len(r.left) == 0 {
		return nil
	}
	return columnsOf(r.left[0])
}

func (r *rows) Next() bool {
	if len(r.left) == 0 {
		return false
	}
	r.current, r.left = r.left[0], r.left[1:]
	return true
}

func (r *rows) Scan(dest ...any) error {
	for i, column := range columnsOf(r.current) {
		reflect.ValueOf(dest[i]).Elem().Set(reflect.ValueOf(r.current[column]))
	}
	return nil
}

func (*rows) Close() error { return nil }
func (*rows) Err() error   { return nil }
