package importing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/rest"
	"github.com/looptrace/looptrace/internal/utf8text"
)

const (
	// maxPreviewItems is how many items of a preview are printed, and maxValue how many characters of a value.
	maxPreviewItems = 5
	maxValue        = 300
)

// imported is Import of the API.
type imported struct {
	ID         string   `json:"id"`
	Status     string   `json:"status"`
	Phase      *string  `json:"phase"`
	SizeBytes  int64    `json:"size_bytes"`
	BytesRead  int64    `json:"bytes_read"`
	Processed  int64    `json:"processed"`
	Added      *int64   `json:"added"`
	Updated    *int64   `json:"updated"`
	Removed    *int64   `json:"removed"`
	Unchanged  *int64   `json:"unchanged"`
	Rejected   int64    `json:"rejected"`
	ErrorsKept int64    `json:"errors_kept"`
	Revision   *int     `json:"revision"`
	Error      *failure `json:"error"`
}

type failure struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// rowError is ImportError of the API.
type rowError struct {
	Line   int64   `json:"line"`
	Column *string `json:"column"`
	Reason string  `json:"reason"`
	Value  *string `json:"value"`
}

func (e *rowError) print(b *strings.Builder) {
	fmt.Fprintf(b, "rejected  line %d", e.Line)
	if e.Column != nil {
		fmt.Fprintf(b, ", column %s", rest.Printable(*e.Column))
	}
	b.WriteString(": " + rest.Printable(e.Reason))
	if e.Value != nil {
		fmt.Fprintf(b, " (%s)", rest.Printable(cut(*e.Value)))
	}
	b.WriteByte('\n')
}

func (i *imported) ended() bool {
	return i.Status == "succeeded" || i.Status == "failed" || i.Status == "cancelled"
}

// describe says how far the import is.
func (i *imported) describe() string {
	rows := fmt.Sprintf("%d rows, %d rejected", i.Processed, i.Rejected)
	switch {
	case i.Phase == nil:
		return "waiting for the import to begin"
	case *i.Phase == "writing":
		return "writing: " + rows
	default:
		return "reading: " + share(i.BytesRead, i.SizeBytes) + ", " + rows
	}
}

// printRejected prints the first rejected rows, and how to get all.
func (i *imported) printRejected(out io.Writer, rows []rowError, file string) error {
	var b strings.Builder
	for k := range rows {
		rows[k].print(&b)
	}
	if more := i.ErrorsKept - int64(len(rows)); more > 0 && file == "" {
		fmt.Fprintf(&b, "and %d errors more: save them with --errors FILE.csv the next time, or read GET /v1/imports/%s/errors?format=csv now\n", more, i.ID)
	} else if more > 0 {
		fmt.Fprintf(&b, "and %d errors more, all in %s\n", more, rest.Printable(file))
	}
	return write(out, b.String())
}

// print prints the outcome, and returns it as an error if nothing was imported.
func (i *imported) print(out io.Writer, dataset string) error {
	switch i.Status {
	case "cancelled":
		return errors.New("cancelled: nothing was imported")
	case "failed":
		if i.Error == nil {
			return errors.New("the import failed")
		}
		return fmt.Errorf("the import failed: %s", rest.Printable(i.Error.Detail))
	}
	revision := "no new revision"
	if i.Revision != nil {
		revision = fmt.Sprintf("revision %d", *i.Revision)
	}
	return write(out, fmt.Sprintf("%s: %s, %s added, %s updated, %s removed, %s unchanged, %d rejected\n", rest.Printable(dataset), revision,
		number(i.Added), number(i.Updated), number(i.Removed), number(i.Unchanged), i.Rejected))
}

func number(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return strconv.FormatInt(*n, 10)
}

// preview is ImportPreview of the API.
type preview struct {
	Format    string          `json:"format"`
	Encoding  *string         `json:"encoding"`
	Delimiter *string         `json:"delimiter"`
	Sheet     *string         `json:"sheet"`
	Mapping   json.RawMessage `json:"mapping"`
	Columns   []struct {
		Name     string   `json:"name"`
		Type     string   `json:"type"`
		Examples []string `json:"examples"`
	} `json:"columns"`
	Rows []struct {
		Line   int64           `json:"line"`
		Item   json.RawMessage `json:"item"`
		Errors []rowError      `json:"errors"`
	} `json:"rows"`
	Complete bool `json:"complete"`
}

// rejected returns how many of the rows make no item.
func (p *preview) rejected() int {
	n := 0
	for i := range p.Rows {
		if len(p.Rows[i].Errors) > 0 {
			n++
		}
	}
	return n
}

func (p *preview) print(out io.Writer) error {
	var b strings.Builder
	b.WriteString(rest.Printable(p.Format))
	if p.Encoding != nil {
		b.WriteString(", " + rest.Printable(*p.Encoding))
	}
	if p.Delimiter != nil {
		fmt.Fprintf(&b, ", delimiter %q", *p.Delimiter)
	}
	if p.Sheet != nil {
		fmt.Fprintf(&b, ", sheet %s", rest.Printable(*p.Sheet))
	}
	b.WriteByte('\n')
	for _, c := range p.Columns {
		fmt.Fprintf(&b, "column    %s, %s", rest.Printable(c.Name), rest.Printable(c.Type))
		if len(c.Examples) > 0 {
			b.WriteString(", such as " + rest.Printable(cut(c.Examples[0])))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "mapping   %s\n", jsonText(p.Mapping))
	items, errs := 0, 0
	for i := range p.Rows {
		row := &p.Rows[i]
		if len(row.Errors) == 0 && items < maxPreviewItems {
			items++
			fmt.Fprintf(&b, "item      line %d: %s\n", row.Line, cut(jsonText(row.Item)))
		}
		for k := range row.Errors {
			if errs++; errs <= maxRejected {
				row.Errors[k].print(&b)
			}
		}
	}
	if errs > maxRejected {
		fmt.Fprintf(&b, "and %d errors more\n", errs-maxRejected)
	}
	what := "the first"
	if p.Complete && len(p.Rows) < 50 {
		what = "all"
	}
	fmt.Fprintf(&b, "Nothing was imported. Of %s %d rows, %d would be rejected.\n", what, len(p.Rows), p.rejected())
	return write(out, b.String())
}

func write(out io.Writer, text string) error {
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}

// cut returns the beginning of a text.
func cut(text string) string {
	return utf8text.Cut(text, maxValue)
}

// jsonText returns JSON for a terminal. It is the same JSON, with escapes for what cannot be printed.
func jsonText(text json.RawMessage) string {
	var b strings.Builder
	for _, r := range string(text) {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
