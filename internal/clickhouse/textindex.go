package clickhouse

import (
	"context"
	"errors"
	"fmt"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

// The searched texts of the tables spans, contents and shared_contents. The text indexes are on these expressions,
// and a query uses an index only if it has the same expression.
const (
	SpansText    = `lowerUTF8(concat(name, ' ', inputs, ' ', outputs, ' ', tool_arguments, ' ', tool_result, ' ', error_message, ' ', escaped_words))`
	ContentsText = `lowerUTF8(arrayStringConcat(texts, ' '))`
)

// TextIndex says whether the text indexes exist. They make a search over much data fast, at the cost of disk and of
// work when spans are stored. A search finds the same with and without them.
type TextIndex string

// A new database has text indexes.
const (
	TextIndexAsIs TextIndex = ""
	TextIndexOn   TextIndex = "on"
	TextIndexOff  TextIndex = "off"
)

// Set implements the value of a command's flag: on or off.
func (t *TextIndex) Set(value string) error {
	if value != string(TextIndexOn) && value != string(TextIndexOff) {
		return errors.New("must be on or off")
	}
	*t = TextIndex(value)
	return nil
}

// String returns the value as it was given.
func (t *TextIndex) String() string { return string(*t) }

// Type names the value in a command's help.
func (*TextIndex) Type() string { return "on|off" }

// textIndex is an index on the searched text of a table.
type textIndex struct{ table, name, text string }

var textIndexes = []textIndex{
	{"spans", "spans_text", SpansText},
	{"contents", "contents_text", ContentsText},
	{"shared_contents", "shared_contents_text", ContentsText},
}

// SetTextIndex creates or drops the text indexes of the database at url. Stored data is indexed in the background,
// part by part.
func SetTextIndex(ctx context.Context, url string, wanted TextIndex) error {
	var statements []string
	for _, index := range textIndexes {
		switch wanted {
		case TextIndexAsIs:
		case TextIndexOn:
			statements = append(statements,
				"ALTER TABLE "+index.table+" ADD INDEX IF NOT EXISTS "+index.name+" "+index.text+" TYPE text(tokenizer = splitByNonAlpha)",
				"ALTER TABLE "+index.table+" MATERIALIZE INDEX "+index.name+" SETTINGS mutations_sync = 0")
		case TextIndexOff:
			statements = append(statements, "ALTER TABLE "+index.table+" DROP INDEX IF EXISTS "+index.name+" SETTINGS mutations_sync = 0")
		}
	}
	if len(statements) == 0 {
		return nil
	}
	opts, err := ch.ParseDSN(url)
	if err != nil {
		return fmt.Errorf("parse ClickHouse URL: %w", err)
	}
	db := ch.OpenDB(opts)
	defer func() { _ = db.Close() }() // nothing is buffered in a connection pool
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("set the text index: %w", err)
		}
	}
	return nil
}
