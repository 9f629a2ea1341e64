package mapping

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// shapes make items of the rows of known exports.
var shapes = map[Shape]func(r *record){
	Looptrace:   (*record).looptrace,
	OpenAIChat:  (*record).openAIChat,
	OpenAIEvals: (*record).openAIEvals,
	Promptfoo:   (*record).promptfoo,
	Langfuse:    (*record).langfuse,
	Phoenix:     (*record).phoenix,
	LangSmith:   (*record).langSmith,
}

// known tell the known exports, the most specific first.
var known = []struct {
	shape Shape
	match func(s *sample) bool
}{
	{Looptrace, (*sample).isLooptrace},
	{Langfuse, (*sample).isLangfuse},
	{Phoenix, (*sample).isPhoenix},
	{LangSmith, (*sample).isLangSmith},
	{Promptfoo, (*sample).isPromptfoo},
	{OpenAIEvals, (*sample).isOpenAIEvals},
	{OpenAIChat, (*sample).isOpenAIChat},
}

// knownShape returns the mapping of a known export.
func (s *sample) knownShape() (Mapping, bool) {
	if len(s.columns) == 0 {
		return Mapping{}, false
	}
	for _, k := range known {
		if !k.match(s) {
			continue
		}
		m := Mapping{Shape: k.shape, Types: s.types()}
		switch k.shape {
		case Looptrace:
			m.Types = s.looptraceTypes()
		case Promptfoo:
			m.Types = nil // all cells of its CSV are texts
		}
		return m, true
	}
	return Mapping{}, false
}

// has reports whether the sample has all of the columns.
func (s *sample) has(names ...string) bool {
	for _, name := range names {
		if s.byName[name] == nil {
			return false
		}
	}
	return true
}

// only reports whether the sample has no other columns.
func (s *sample) only(names ...string) bool {
	for _, c := range s.columns {
		if !slices.Contains(names, c.name) {
			return false
		}
	}
	return true
}

// mostly is the share of rows that must be as an export has them: a few bad ones do not make another file of it.
func mostly(n, of int) bool { return of > 0 && n*10 >= of*9 }

// all reports whether the values of a column are mostly of these kinds.
func (s *sample) all(name string, kinds ...string) bool {
	c := s.byName[name]
	if c == nil || c.filled == 0 {
		return false
	}
	n := 0
	for _, kind := range kinds {
		n += c.kinds[kind]
	}
	return mostly(n, c.filled)
}

// text reports whether the cells of the format are texts, of which JSON is written.
func (s *sample) text() bool { return s.format == datasetfile.CSV || s.format == datasetfile.XLSX }

func (s *sample) isLooptrace() bool {
	return s.has(datasetfile.LooptraceColumns...) && s.only(datasetfile.LooptraceColumns...)
}

// looptraceTypes are those of an export as CSV or Parquet, in which JSON is text.
func (s *sample) looptraceTypes() map[string]ColumnType {
	if s.format == datasetfile.JSONL || s.format == datasetfile.JSON || s.format == datasetfile.YAML {
		return nil
	}
	return map[string]ColumnType{"input": JSONType, "reference_output": JSONType, "metadata": JSONType, "tags": JSONType}
}

// looptrace makes an item of a row of an export. Its input may be null, but not an empty cell.
func (r *record) looptrace() {
	if value, found := r.find("input"); found {
		r.item.Input = value
	}
	for _, c := range r.row.Cells {
		if c.Column == "input" && jsontext.IsNull(c.Value) && r.types["input"] == JSONType {
			r.item.Input = nil
		}
	}
	if value := r.get("reference_output"); !jsontext.IsNull(value) {
		r.item.ReferenceOutput = value
	}
	r.metadata("metadata", r.get("metadata"))
	r.key("key")
	r.split("split")
	r.tags("tags")
	r.source("source_run_id", "source_span_id")
	for _, c := range r.row.Cells {
		if !slices.Contains(datasetfile.LooptraceColumns, c.Column) && !jsontext.IsNull(c.Value) {
			r.refuse(c.Column, "is not a member of an item: put it into metadata, or import with the shape columns", c.Value)
		}
	}
}

// chatColumns are those of examples of OpenAI's fine-tuning of chat models, and what people add to them.
var chatColumns = []string{
	"messages", "tools", "functions", "function_call", "tool_choice", "parallel_tool_calls", "response_format", "id", "key", "metadata", "split", "tags",
}

var preferenceColumns = []string{"input", "preferred_output", "non_preferred_output"}

func (s *sample) isOpenAIChat() bool {
	if s.has(preferenceColumns...) {
		return s.all("input", datasetfile.KindObject) && s.all("preferred_output", datasetfile.KindArray)
	}
	return s.only(chatColumns...) && s.all("messages", datasetfile.KindArray) && s.hasMessages()
}

// hasMessages reports whether the members messages are mostly lists of messages with roles.
func (s *sample) hasMessages() bool {
	n, of := 0, 0
	for _, row := range s.rows {
		for _, c := range row.Cells {
			if c.Column != "messages" || jsontext.IsNull(c.Value) {
				continue
			}
			of++
			value := c.Value
			if jsontext.IsString(value) {
				value = json.RawMessage(datasetfile.Unquote(value))
			}
			if !slices.ContainsFunc(datasetfile.Elements(value), func(m json.RawMessage) bool { return !jsontext.IsString(memberOf(m, "role")) }) {
				n++
			}
		}
	}
	return mostly(n, of)
}

func memberOf(object []byte, name string) []byte {
	for _, m := range datasetfile.Members(object) {
		if m.Column == name {
			return m.Value
		}
	}
	return nil
}

// openAIChat makes an item of an example of fine-tuning: the messages before the last are the input, with the tools, and
// the last is the reference output if it is the assistant's. Of a pair of preferences the preferred output is it.
// Described at https://platform.openai.com/docs/guides/supervised-fine-tuning and …/direct-preference-optimization.
func (r *record) openAIChat() {
	if r.get("messages") == nil {
		r.preference()
		return
	}
	list := datasetfile.Elements(r.get("messages"))
	for i, message := range list {
		if !jsontext.IsString(memberOf(message, "role")) {
			r.refuse("messages", fmt.Sprintf("has no role in message %d: each is an object with role and content", i+1), message)
			return
		}
	}
	if len(list) == 0 {
		r.refuse("messages", "has no messages: it must be a list of them", r.get("messages"))
		return
	}
	if last := list[len(list)-1]; len(list) > 1 && string(memberOf(last, "role")) == `"assistant"` {
		r.item.ReferenceOutput = last
		list = list[:len(list)-1]
	}
	r.take("messages")
	input := []datasetfile.Cell{{Column: "messages", Value: datasetfile.ListOf(list)}}
	for _, name := range []string{"tools", "functions", "function_call", "tool_choice", "parallel_tool_calls", "response_format"} {
		if value := r.take(name); !jsontext.IsNull(value) {
			input = append(input, datasetfile.Cell{Column: name, Value: value})
		}
	}
	r.item.Input = datasetfile.AppendObject(nil, input)
	for _, name := range []string{"key", "id"} {
		if r.item.Key == nil {
			r.key(name)
		}
	}
	r.split("split")
	r.tags("tags")
	r.takeMetadata()
}

func (r *record) preference() {
	r.item.Input = r.take("input")
	if value := r.take("preferred_output"); !jsontext.IsNull(value) {
		if r.item.ReferenceOutput = value; len(datasetfile.Elements(value)) == 1 {
			r.item.ReferenceOutput = datasetfile.Elements(value)[0]
		}
	}
	r.takeMetadata()
}

// takeMetadata makes the metadata of the column of this name and of the columns that have no place.
func (r *record) takeMetadata() {
	r.mark("metadata")
	r.merge("metadata", r.rest())
}

func (s *sample) isOpenAIEvals() bool {
	if s.all("item", datasetfile.KindObject) && s.only("item", "sample") {
		return true
	}
	if s.text() || !s.has("ideal") {
		return false
	}
	return s.has("input") || s.all("messages", datasetfile.KindArray)
}

// openAIEvals makes an item of a sample of the evals: input and ideal, or the item of a run of the Evals API, of whose
// members one may have the name of a reference output. Described at
// https://github.com/openai/evals/blob/main/docs/build-eval.md and https://platform.openai.com/docs/api-reference/evals.
func (r *record) openAIEvals() {
	if value := r.get("item"); jsontext.IsObject(value) {
		r.mark("item")
		r.item.Input = value
		all := datasetfile.Members(value)
		for _, name := range referenceNames {
			i := slices.IndexFunc(all, func(m datasetfile.Cell) bool { return normal(m.Column) == name })
			if i >= 0 && len(all) > 1 && !jsontext.IsNull(all[i].Value) {
				r.item.ReferenceOutput = all[i].Value
				r.item.Input = datasetfile.AppendObject(nil, slices.Delete(all, i, i+1))
				break
			}
		}
		r.takeMetadata()
		return
	}
	if value := r.take("ideal"); !jsontext.IsNull(value) {
		r.item.ReferenceOutput = value
	}
	if value := r.get("input"); !jsontext.IsNull(value) {
		r.item.Input = r.take("input")
	} else if value := r.take("messages"); !jsontext.IsNull(value) {
		r.item.Input = datasetfile.AppendObject(nil, []datasetfile.Cell{{Column: "messages", Value: value}})
	}
	r.takeMetadata()
}

func (s *sample) isLangfuse() bool {
	return s.has("id", "input", "expectedOutput") && (s.has("datasetId") || s.has("datasetName") || s.has("sourceTraceId"))
}

// langfuse makes an item of an item of Langfuse: of its API (schema DatasetItem) or of its export as CSV or JSON, which
// has the same members and htmlSourcePath. What only Langfuse has goes to the member langfuse of the metadata.
func (r *record) langfuse() {
	r.product("langfuse", "input", "expectedOutput")
}

// product makes an item of an export that has input, reference output, metadata and an id. Other columns are a member of
// the metadata that has the name of the product.
func (r *record) product(name, input, output string) {
	if value := r.take(input); !jsontext.IsNull(value) {
		r.item.Input = value
	}
	if value := r.take(output); !jsontext.IsNull(value) && string(value) != "{}" {
		r.item.ReferenceOutput = value
	}
	r.key("id")
	r.ownMembers(name)
}

func (r *record) ownMembers(name string) {
	r.mark("metadata")
	var more []datasetfile.Cell
	if rest := r.rest(); len(rest) > 0 {
		more = []datasetfile.Cell{{Column: name, Value: datasetfile.AppendObject(nil, rest)}}
	}
	r.merge("metadata", more)
}

var phoenixColumns = []string{"id", "node_id", "input", "output", "metadata", "splits", "updated_at"}

func (s *sample) isPhoenix() bool {
	if s.text() {
		return s.has("id", "node_id") && s.hasPrefix("input.") && s.onlyPrefixed([]string{"id", "node_id", "splits"}, "input.", "output.", "metadata.")
	}
	return s.has("id", "input", "output", "metadata") && (s.has("node_id") || s.has("updated_at")) && s.only(phoenixColumns...)
}

func (s *sample) hasPrefix(prefix string) bool {
	return slices.ContainsFunc(s.columns, func(c *column) bool { return strings.HasPrefix(c.name, prefix) })
}

// onlyPrefixed reports whether all columns are these or begin with one of the prefixes.
func (s *sample) onlyPrefixed(names []string, prefixes ...string) bool {
	for _, c := range s.columns {
		if !slices.Contains(names, c.name) && !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(c.name, p) }) {
			return false
		}
	}
	return true
}

// phoenix makes an item of an example of Phoenix: of its JSONL (/v1/datasets/{id}/jsonl), its API (…/examples), or its
// CSV (…/csv), whose columns, such as input.question, are the members of the example. As described in
// src/phoenix/server/api/routers/v1/datasets.py.
func (r *record) phoenix() {
	if r.get("input") == nil {
		r.item.Input = r.unflatten("input.", ".")
		r.item.ReferenceOutput = r.unflatten("output.", ".")
		r.cells = append(r.cells, datasetfile.Cell{Column: "metadata", Value: r.unflatten("metadata.", ".")})
	}
	r.oneSplit("splits")
	if r.item.Input != nil {
		r.key("id")
		r.ownMembers("phoenix")
		return
	}
	r.product("phoenix", "input", "output")
}

// oneSplit takes the split of a list of splits, or of a text with one. Several stay in the metadata.
func (r *record) oneSplit(column string) {
	value := r.get(column)
	if jsontext.IsString(value) {
		if parsed, err := datasetfile.ParseJSON(datasetfile.Unquote(value)); err == nil && jsontext.IsArray(parsed) {
			value = parsed
		}
	}
	switch list := datasetfile.Elements(value); {
	case jsontext.IsString(value):
		r.split(column)
	case len(list) == 0:
		r.mark(column)
	case len(list) == 1 && jsontext.IsString(list[0]):
		r.set(column, list[0])
		r.split(column)
	}
}
