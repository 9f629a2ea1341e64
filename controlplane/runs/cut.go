package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// What a row of a list has at most of what clients send, in bytes of JSON: a page is bounded however large its runs are. One run or span
// by itself is read whole.
const (
	// MostText is how much of one text: a name, an id, a message.
	MostText = 1 << 10
	// mostList is how much of the tags, models and tools, each.
	mostList = 4 << 10
	// mostMetadata is how much of the metadata.
	mostMetadata = 8 << 10
	// mostPage is about how much a page has. A page of spans ends there; one span may have more.
	mostPage = 16 << 20
)

// The SQL of what is cut has a little more than its bound, which tells that there is more.
var (
	// listedRunColumns are runColumns cut. They read a SELECT of these: conditions see the columns as they are stored.
	listedRunColumns = strings.Join(cutColumns(columnsOf(runColumns), map[string]string{
		"name": beginning(MostText), "error_type": beginning(MostText), "error_message": beginning(MostText),
		"session_id": beginning(MostText), "conversation_id": beginning(MostText), "user_id": beginning(MostText),
		"agent_name": beginning(MostText), "environment": beginning(MostText), "release": beginning(MostText),
		"prompt_id": beginning(MostText), "prompt_name": beginning(MostText), "prompt_version": beginning(MostText),
		"tags": cutList, "models": cutList, "tools": cutList, "metadata": cutMap,
		"failing_name": beginning(MostText), "failing_type": beginning(MostText),
	}), ", ")
	// cutList takes the elements that fit, and one more.
	cutList = fmt.Sprintf(`if(byteSize(%%[1]s) <= %[1]d, CAST(%%[1]s AS Array(String)), arrayMap(v -> substring(v, 1, %[1]d),
		arraySlice(CAST(%%[1]s AS Array(String)), 1, 1 + arrayCount(s -> s <= %[1]d, arrayCumSum(arrayMap(v -> length(v) + 3, %%[1]s))))))`, mostList)
	// cutMap takes the smallest members that fit, and one more. (No lambda names a column: ClickHouse would copy it for each member.)
	cutMap = fmt.Sprintf(`if(byteSize(%%[1]s) <= %[1]d, CAST(%%[1]s AS Map(String, String)), CAST(arrayMap(t -> (substring(t.1, 1, %[1]d), substring(t.2, 1, %[1]d)),
		arraySlice(%[2]s, 1, 1 + arrayCount(s -> s <= %[1]d, arrayCumSum(arrayMap(t -> length(t.1) + length(t.2) + 6, %[2]s))))) AS Map(String, String)))`,
		mostMetadata, `arraySort(t -> (length(t.1) + length(t.2), t.1), arrayZip(CAST(mapKeys(%[1]s) AS Array(String)), mapValues(%[1]s)))`)
)

// beginning takes a byte more than most.
func beginning(most int) string { return fmt.Sprintf("substring(%%[1]s, 1, %d)", most+1) }

// columnsOf takes a list of columns apart.
func columnsOf(list string) []string {
	return strings.Split(strings.Join(strings.Fields(list), ""), ",")
}

// cutColumns writes the expressions of some columns in their places.
func cutColumns(columns []string, expressions map[string]string) []string {
	cut := slices.Clone(columns)
	for i, name := range cut {
		if expression := expressions[name]; expression != "" {
			cut[i] = fmt.Sprintf(expression, name) + " AS " + name
		}
	}
	return cut
}

// readListed reads runs as lists show them. Most pages are small, and read as they are: the expressions that cut take ClickHouse longer to plan
// than such a page to read. Where the rows have more bytes than a page may, they are cut; and where ClickHouse, which finds the rows of a
// page first and then reads what is shown of them all at once, has no memory for that, each is cut as it is read, which takes longest. more are
// columns that rows have besides, rest is what follows the conditions, and settings are those of the statement.
func readListed[T any](ctx context.Context, s *Service, projects access.Projects, rows *[]T, more string, w where, rest string, settings func(...string) string, args ...any) error {
	stored := `SELECT ` + more + runColumns + ` FROM runs FINAL WHERE ` + w.String() + ` ` + rest
	cut := `SELECT ` + more + runColumns + ` FROM (SELECT ` + listedRunColumns + ` FROM (SELECT ` + runColumns + ` FROM runs FINAL WHERE ` + w.String() + `)) ` + rest
	args = append(slices.Clone(w.args), args...)
	var err error
	for _, statement := range []string{
		stored + settings(fmt.Sprintf("max_result_bytes = %d", mostPage)),
		cut + settings(),
		cut + settings("query_plan_optimize_lazy_materialization = 0", "query_plan_execute_functions_after_sorting = 0"),
	} {
		var exception *ch.Exception
		if err = query(ctx, s.conn, projects, rows, statement, args...); !errors.As(err, &exception) ||
			exception.Code != codeTooManyBytesRows && exception.Code != codeMemoryLimit {
			break
		}
	}
	return err
}

// cutter cuts what is read for a list, and notes which members of the answer have more.
type cutter struct {
	members []string
}

func (c *cutter) note(member string) {
	if !slices.Contains(c.members, member) {
		c.members = append(c.members, member)
	}
}

func (c *cutter) text(member string, text *string, most int) {
	var cut bool
	if *text, cut = fitting(*text, most); cut {
		c.note(member)
	}
}

func (c *cutter) list(member string, list []string) []string {
	left := mostList
	for i := range list {
		text, cut := fitting(list[i], left)
		if left -= jsonSize(text) + len(`"",`); cut || left < 0 {
			c.note(member)
			return list[:i]
		}
	}
	return list
}

// metadata keeps the smallest members that fit, and the beginning of the first that does not.
func (c *cutter) metadata(object map[string]string) map[string]string {
	sizes := make(map[string]int, len(object))
	total := 0
	for key, value := range object {
		sizes[key] = jsonSize(key) + jsonSize(value) + len(`"":"",`)
		total += sizes[key]
	}
	if total <= mostMetadata {
		return object
	}
	c.note("metadata")
	keys := slices.SortedFunc(maps.Keys(object), func(a, b string) int { return cmp.Or(cmp.Compare(sizes[a], sizes[b]), cmp.Compare(a, b)) })
	left := mostMetadata
	kept := map[string]string{}
	for _, key := range keys {
		if left < sizes[key] {
			if left -= jsonSize(key) + len(`"":"",`); left > 0 {
				kept[key], _ = fitting(object[key], left)
			}
			break
		}
		kept[key] = object[key]
		left -= sizes[key]
	}
	return kept
}

// cutRun cuts what was read as listedRunColumns.
func cutRun(r *runmodel.Run) []string {
	var c cutter
	for _, member := range []struct {
		name string
		text *string
	}{
		{"name", &r.Name},
		{"error", &r.ErrorType},
		{"error", &r.ErrorMessage},
		{"session_id", &r.SessionID},
		{"conversation_id", &r.ConversationID},
		{"user_id", &r.UserID},
		{"agent_name", &r.AgentName},
		{"environment", &r.Environment},
		{"release", &r.Release},
		{"prompt", &r.PromptID},
		{"prompt", &r.PromptName},
		{"prompt", &r.PromptVersion},
		{"failure", &r.FailingName},
		{"failure", &r.FailingType},
	} {
		c.text(member.name, member.text, MostText)
	}
	r.Tags, r.Models, r.Tools = c.list("tags", r.Tags), c.list("models", r.Models), c.list("tools", r.Tools)
	r.Metadata = c.metadata(r.Metadata)
	return c.members
}

// cutSpan cuts what was read as listedColumns, inputs and outputs apart.
func cutSpan(s *runmodel.Span) []string {
	var c cutter
	for _, member := range []struct {
		name string
		text *string
	}{
		{"name", &s.Name},
		{"kind", &s.Kind},
		{"operation", &s.Operation},
		{"status", &s.Status},
		{"error", &s.ErrorType},
		{"service_name", &s.ServiceName},
		{"dialect", &s.Dialect},
		{"framework", &s.Framework},
		{"provider", &s.Provider},
		{"request_model", &s.RequestModel},
		{"response_model", &s.ResponseModel},
		{"tool", &s.ToolName},
		{"tool", &s.ToolCallID},
		{"agent_name", &s.AgentName},
		{"session_id", &s.SessionID},
		{"conversation_id", &s.ConversationID},
		{"user_id", &s.UserID},
		{"prompt", &s.PromptID},
		{"prompt", &s.PromptName},
		{"prompt", &s.PromptVersion},
		{"price_version", &s.PriceVersion},
	} {
		c.text(member.name, member.text, MostText)
	}
	c.text("error", &s.ErrorMessage, cutAt)
	c.text("error", &s.ErrorStack, cutAt)
	if len(s.ToolArguments) > cutAt || len(s.ToolResult) > cutAt {
		c.note("tool")
	}
	s.FinishReasons = c.list("finish_reasons", s.FinishReasons)
	return c.members
}

// fitting is the beginning of a text that has at most so many bytes in JSON, and whether there is more.
func fitting(text string, most int) (string, bool) {
	if len(text)*largestInJSON <= most {
		return text, false
	}
	size := 0
	for i, r := range text {
		if size += runeSize(r); size > most {
			return text[:i], true
		}
	}
	return text, false
}

// jsonSize is how many bytes a text has in JSON, without its quotes.
func jsonSize(text string) int {
	size := 0
	for _, r := range text {
		size += runeSize(r)
	}
	return size
}

// largestInJSON is how many bytes one of a text may be in JSON: \u0000.
const largestInJSON = 6

func runeSize(r rune) int {
	switch r {
	case '"', '\\', '\n', '\r', '\t', '\b', '\f':
		return len(`\n`)
	case '<', '>', '&', '\u2028', '\u2029', utf8.RuneError: // escaped, or in place of what is no character
		return largestInJSON
	}
	if r < ' ' {
		return largestInJSON
	}
	return utf8.RuneLen(r)
}
