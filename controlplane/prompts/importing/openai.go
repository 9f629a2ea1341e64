package importing

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// isOpenAIReference reports whether a value names a prompt object, as requests to the Responses API do.
func isOpenAIReference(raw json.RawMessage) bool {
	o, _ := asObject(raw)
	return strings.HasPrefix(cmp.Or(o.text("id"), o.text("prompt_id")), "pmpt_")
}

// openAI reads a prompt object of OpenAI, or a request to its Responses API. OpenAI has no export of prompt objects:
// what people have is the JSON of the dashboard and of requests, so this takes what the two have in common.
func (r *reader) openAI(o object, place string) {
	id, name, version := o.text("id"), o.text("name"), o.text("version")
	// The content is in the object itself, or in its member prompt.
	if inner, ok := asObject(o["prompt"]); ok {
		if id == "" || !strings.HasPrefix(id, "pmpt_") {
			id = cmp.Or(inner.text("id"), inner.text("prompt_id"))
		}
		name, version = cmp.Or(name, inner.text("name")), cmp.Or(version, inner.text("version"))
		merged := maps.Clone(o)
		delete(merged, "prompt")
		for name, raw := range inner {
			if jsontext.IsNull(merged[name]) {
				merged[name] = raw
			}
		}
		o = merged
	}
	if version == "" {
		version = string(o["version"]) // a number
	}
	number, _ := strconv.ParseInt(version, 10, 64)
	label := cmp.Or(name, id)
	if number > 0 {
		label += " version " + strconv.FormatInt(number, 10)
	}
	b := newBuilder(doubleBraces)
	b.openAI(o)
	v, err := b.finish()
	key := id
	if number == 0 || !strings.HasPrefix(id, "pmpt_") {
		key = ""
	}
	if err == nil && r.hasVersion(key, number) {
		err = reject("version", "the file has this version twice")
	}
	if err != nil {
		r.reject(cmp.Or(label, place), err)
		return
	}
	if number > 0 {
		v.note("Version " + strconv.FormatInt(number, 10) + " at OpenAI")
	}
	s := r.add(key, cmp.Or(name, id), numbered{Version: v, number: number})
	s.description = cmp.Or(s.description, o.text("description"))
	s.tags = append(s.tags, texts(o["tags"])...)
}

// openAIMembers are read elsewhere, or say nothing about the prompt.
var openAIMembers = []string{
	"id", "prompt_id", "object", "name", "description", "version", "tags", "created_at", "created", "updated_at", "created_by",
	"instructions", "input", "messages", "variables", "text", "store", "stream", "is_default", "project_id", "organization_id",
}

func (b *builder) openAI(o object) {
	b.openAIInput(o["instructions"], "system")
	for _, name := range []string{"input", "messages"} {
		if !jsontext.IsNull(o[name]) {
			b.openAIInput(o[name], "user")
			break
		}
	}
	if len(b.messages) == 0 {
		b.fail(reject("", "names a prompt but has no input, instructions or messages: copy them from the dashboard of OpenAI"))
	}
	if textConfig, ok := asObject(o["text"]); ok {
		if format := textConfig["format"]; !jsontext.IsNull(format) {
			b.setResponseFormat(format, "text.format")
		}
		if !jsontext.IsNull(textConfig["verbosity"]) {
			b.settings(object{"verbosity": textConfig["verbosity"]}, "text")
		}
	}
	b.openAIVariables(o["variables"])
	settings := maps.Clone(o)
	for _, name := range openAIMembers {
		delete(settings, name)
	}
	b.settings(settings, "")
}

// openAIInput adds a text as a message of a role, or a list of items.
func (b *builder) openAIInput(raw json.RawMessage, role string) {
	if s, ok := text(raw); ok {
		if s != "" {
			b.addText(role, s)
		}
		return
	}
	items, isList := value{raw: raw}.list()
	if !isList {
		if !jsontext.IsNull(raw) {
			b.fail(reject(b.place(), "is neither a text nor a list of items"))
		}
		return
	}
	for _, item := range items {
		o, isObject := item.object()
		if !isObject {
			b.fail(reject(b.place(), "is no message"))
			return
		}
		b.addMessage(o)
	}
}

// openAIVariables takes the values that the file has for variables as examples.
func (b *builder) openAIVariables(raw json.RawMessage) {
	variables, isObject := asObject(raw)
	if !isObject {
		if list, isList := (value{raw: raw}).list(); isList && len(list) == 0 || jsontext.IsNull(raw) {
			return
		}
		b.version.leaveOut("variables", "is no object with a value for each name")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if _, isText := text(variables[name]); !isText {
			b.version.leaveOut("variables."+name, "is no text")
			continue
		}
		b.variable("variables", name, Variable{Example: variables[name]})
	}
}
