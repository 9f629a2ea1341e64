// Package importing reads prompts that other products export and converts them to the shapes of Looptrace: messages,
// tools and response format as in OpenAI's chat completions, and templates in the syntax of
// [github.com/looptrace/looptrace/controlplane/prompts/prompttemplate].
//
// A conversion never changes what a prompt says: a template that does more than to insert variables, and everything else
// that cannot be carried over, is rejected with its name, place and reason, or listed as left out.
package importing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// Format is the product that exported a file.
type Format string

// The formats that can be read.
const (
	// OpenAI is the JSON of prompt objects and of requests to the Responses API.
	OpenAI Format = "openai"
	// Langfuse is what its API answers: GET /api/public/v2/prompts/{name}.
	Langfuse Format = "langfuse"
	// LangSmith is a commit of a prompt, or its manifest: a prompt as LangChain serializes it.
	LangSmith Format = "langsmith"
	// Promptfoo is a promptfooconfig.yaml, or a prompt file with messages as YAML or JSON.
	Promptfoo Format = "promptfoo"
)

// File is what a file has.
type File struct {
	Format   Format
	Prompts  []Prompt
	Rejected []Rejected
}

// Prompt is a prompt with all its versions that could be read.
type Prompt struct {
	// Name is made from SourceName, see [promptName].
	Name string
	// SourceName is the name in the file. A prompt without one is named after the file.
	SourceName  string
	Description string
	Tags        []string
	// Versions are in order, the oldest first. There is at least one.
	Versions []Version
}

// Version is a version of a prompt.
type Version struct {
	// Messages is a list as in OpenAI's chat completions, in which {"type":"placeholder","name"} may stand for messages.
	Messages json.RawMessage
	// Tools is a list, or nil.
	Tools json.RawMessage
	// ResponseFormat is an object, or nil.
	ResponseFormat json.RawMessage
	ModelConfig    ModelConfig
	// Variables has what the file says about variables, by name.
	Variables map[string]Variable
	Note      string
	// Aliases are made from the labels of the version. `latest` is not among them.
	Aliases     []string
	Conversions []Conversion
	// LeftOut lists what has no place in a prompt, as "path: reason".
	LeftOut []string
}

// Variable is what a file says about a variable.
type Variable struct {
	Default json.RawMessage `json:"default,omitempty"`
	Example json.RawMessage `json:"example,omitempty"`
}

// Conversion is a change of a text. Equal conversions in a line are listed once.
type Conversion struct {
	// Path names the text, such as messages[0].content.
	Path string
	// Line is the line in this text, from 1.
	Line int
	// From and To are shortened to 200 characters.
	From, To string
}

// Rejected is a prompt, or a version of one, that could not be converted.
type Rejected struct {
	SourceName string
	// Path names the text, such as messages[0].content, or the value in the file. It is empty for the whole prompt.
	Path string
	// Line is the line in the text at Path, from 1, and for an entry of a YAML file the line in the file. It is 0 if there
	// is none.
	Line   int
	Reason string
}

// maxConversions bounds the report about a file.
const maxConversions = 100_000

var (
	errNoFormat = errors.New("the file is none of the known exports: OpenAI (prompt objects), Langfuse (GET /api/public/v2/prompts/{name}), LangSmith (a commit or manifest) and promptfoo (a list `prompts`, or messages); name its format if it is one of them")
	errEmpty    = errors.New("the file is empty")
	errNone     = errors.New("the file has no prompts")
)

// Parse reads a file. The name of the file is used for prompts that have none. Without a format, the content decides.
func Parse(content []byte, fileName string, format Format) (File, error) {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	if !utf8.Valid(content) {
		return File{}, errors.New("the file is not UTF-8: save it as UTF-8")
	}
	trimmed := bytes.TrimSpace(content)
	if len(trimmed) == 0 {
		return File{}, errEmpty
	}
	var (
		root value
		err  error
	)
	if trimmed[0] == '{' || trimmed[0] == '[' {
		root, err = readJSON(content)
	} else {
		root, err = readYAML(content)
	}
	if err != nil {
		return File{}, err
	}
	if format == "" {
		if format = recognize(root); format == "" {
			return File{}, errNoFormat
		}
	}
	r := &reader{fileName: fileName, file: File{Format: format}, byID: map[string]*source{}}
	switch format {
	case OpenAI:
		err = r.each(root, "data", r.openAI)
	case Langfuse:
		err = r.each(root, "data", r.langfuse)
	case LangSmith:
		err = r.each(root, "commits", r.langSmith)
	case Promptfoo:
		err = r.promptfoo(root)
	default:
		err = fmt.Errorf("the format %q is unknown: use openai, langfuse, langsmith or promptfoo", format)
	}
	if err != nil {
		return File{}, err
	}
	r.finish()
	if len(r.file.Prompts)+len(r.file.Rejected) == 0 {
		return File{}, errNone
	}
	return r.file, r.err
}

// readJSON checks the text of a JSON file.
func readJSON(content []byte) (value, error) {
	var raw json.RawMessage
	if err := json.Unmarshal(content, &raw); err != nil {
		var syntax *json.SyntaxError
		if !errors.As(err, &syntax) {
			return value{}, fmt.Errorf("read the file as JSON: %w", err)
		}
		before := content[:max(0, min(int(syntax.Offset)-1, len(content)))]
		if syntax.Offset >= int64(len(content)) { // the end is missing
			before = content
		}
		line := bytes.Count(before, []byte("\n")) + 1
		column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
		return value{}, fmt.Errorf("line %d, column %d: the file is no JSON: %s", line, column, syntax.Error())
	}
	return value{raw: raw}, nil
}

// value is a value of a file as JSON, with its line if it comes from YAML.
type value struct {
	raw  json.RawMessage
	line int
	// items are the values of a list in YAML, members those of an object; they have their own lines.
	items   []value
	members []member
}

type member struct {
	name  string
	value value
}

// list returns the items of a list.
func (v value) list() ([]value, bool) {
	if !jsontext.IsArray(v.raw) {
		return nil, false
	}
	if v.items != nil {
		return v.items, true
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(v.raw, &raws); err != nil {
		return nil, false
	}
	items := make([]value, len(raws))
	for i, raw := range raws {
		items[i] = value{raw: raw}
	}
	return items, true
}

// object is a JSON object whose members are read one by one.
type object map[string]json.RawMessage

func (v value) object() (object, bool) { return asObject(v.raw) }

func asObject(raw json.RawMessage) (object, bool) {
	if !jsontext.IsObject(raw) {
		return nil, false
	}
	var o object
	err := json.Unmarshal(raw, &o)
	return o, err == nil
}

func (v value) member(name string) value {
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	o, _ := v.object()
	return value{raw: o[name]}
}

// text returns a JSON string.
func text(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// text returns a member that is a text, and nothing for any other.
func (o object) text(name string) string {
	s, _ := text(o[name])
	return s
}

func (o object) has(names ...string) bool {
	for _, name := range names {
		if jsontext.IsNull(o[name]) {
			return false
		}
	}
	return true
}

// texts returns the texts of a list.
func texts(raw json.RawMessage) []string {
	items, _ := value{raw: raw}.list()
	var list []string
	for _, item := range items {
		if s, ok := text(item.raw); ok {
			list = append(list, s)
		}
	}
	return list
}

// recognize finds the format by what only one of them has.
func recognize(root value) Format {
	items, isList := root.list()
	if !isList {
		o, isObject := root.object()
		if !isObject {
			return ""
		}
		if format := recognizeObject(o); format != "" {
			return format
		}
		for _, name := range []string{"data", "commits", "repos"} {
			if inner, ok := root.member(name).list(); ok {
				items = append(items, inner...)
			}
		}
	}
	for _, item := range items {
		if o, ok := item.object(); ok {
			if format := recognizeObject(o); format != "" {
				return format
			}
		}
	}
	return ""
}

func recognizeObject(o object) Format {
	_, promptIsText := text(o["prompt"])
	switch {
	case o.has("lc", "id"), jsontext.IsObject(o["manifest"]), o.has("repo_handle"):
		return LangSmith
	case strings.HasPrefix(o.text("id"), "pmpt_"), o.text("object") == "prompt", o.has("model", "input"), o.has("model", "instructions"), o.has("model", "messages"), isOpenAIReference(o["prompt"]):
		return OpenAI
	case o.has("name") && (promptIsText || jsontext.IsArray(o["prompt"])), o.has("name", "versions", "lastUpdatedAt"):
		return Langfuse
	case o.has("prompts"), o.has("role", "content"), o.has("messages"):
		return Promptfoo
	default:
		return ""
	}
}
