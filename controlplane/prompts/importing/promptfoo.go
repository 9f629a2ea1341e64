package importing

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// promptfoo reads the prompts of a configuration, or a file that is one prompt: a list of messages.
func (r *reader) promptfoo(root value) error {
	if items, ok := root.list(); ok {
		if r.isChat(items) {
			r.promptfooPrompt(promptfooEntry{raw: root, name: r.baseName()})
			return nil
		}
		r.promptfooList(items, "")
		return nil
	}
	if !jsontext.IsObject(root.raw) {
		return errors.New("a file of the format promptfoo has a list `prompts`, or is a list of messages")
	}
	prompts := root.member("prompts")
	switch {
	case jsontext.IsNull(prompts.raw):
		return errors.New("a file of the format promptfoo has a list `prompts`, or is a list of messages")
	case jsontext.IsObject(prompts.raw): // an old form: the file or text, and its label
		for _, m := range prompts.ordered() {
			label, _ := text(m.value.raw)
			encoded, err := jsontext.Encode(m.name)
			if err != nil {
				return err
			}
			r.promptfooPrompt(promptfooEntry{raw: value{raw: encoded, line: m.value.line}, place: "prompts." + m.name, name: label})
		}
	default:
		items, isList := prompts.list()
		if !isList {
			items = []value{prompts}
		}
		r.promptfooList(items, "prompts")
	}
	return nil
}

// ordered returns the members of an object, sorted if they are JSON.
func (v value) ordered() []member {
	if v.members != nil {
		return v.members
	}
	o, _ := v.object()
	var members []member
	for _, name := range slices.Sorted(maps.Keys(o)) {
		members = append(members, member{name, value{raw: o[name]}})
	}
	return members
}

func (r *reader) isChat(items []value) bool {
	for _, item := range items {
		if o, ok := item.object(); !ok || !o.has("role") {
			return false
		}
	}
	return len(items) > 0
}

// promptfooEntry is an entry of a list of prompts.
type promptfooEntry struct {
	raw value
	// place is where it is in the file, name what it is called there.
	place, name string
	config      object
}

func (r *reader) promptfooList(items []value, place string) {
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", place, i)
		o, isObject := item.object()
		if !isObject || r.isChat([]value{item}) {
			r.promptfooPrompt(promptfooEntry{raw: item, place: at})
			continue
		}
		raw := item.member("raw")
		if jsontext.IsNull(raw.raw) {
			raw = item.member("id")
		}
		raw.line = cmp.Or(raw.line, item.line)
		name := o.text("label")
		if id := o.text("id"); name == "" && !jsontext.IsNull(o["raw"]) {
			name = id
		}
		config, _ := asObject(o["config"])
		r.promptfooPrompt(promptfooEntry{raw: raw, place: at, name: name, config: config})
	}
}

// promptfooPrompt reads one prompt: a text, messages as JSON or YAML in a text, or messages.
func (r *reader) promptfooPrompt(e promptfooEntry) {
	b := newBuilder(nunjucks)
	sourceName := e.name
	if s, ok := text(e.raw.raw); ok {
		sourceName = cmp.Or(e.name, strings.TrimSpace(utf8text.Cut(strings.TrimSpace(s), 60)))
		if reason := notPromptfooText(s); reason != "" {
			r.reject(sourceName, &rejection{e.place, e.raw.line, reason})
			return
		}
		if !b.promptfooChat(s) {
			b.addText("user", s)
		}
	} else {
		b.promptfooMessages(e.raw)
	}
	if e.config != nil {
		b.settings(e.config, "config")
	}
	v, err := b.finish()
	if err != nil {
		var rejection *rejection
		if errors.As(err, &rejection) && rejection.path == "" {
			rejection.path, rejection.line = e.place, e.raw.line
		}
		r.reject(cmp.Or(sourceName, e.place), err)
		return
	}
	r.add("", e.name, numbered{Version: v}).shown = sourceName
}

var promptfooFiles = []string{".cjs", ".cts", ".csv", ".j2", ".js", ".json", ".jsonl", ".md", ".mjs", ".mts", ".py", ".ts", ".txt", ".yml", ".yaml", ".sh", ".rb"}

// notPromptfooText says why an entry of the list is not the text of a prompt.
func notPromptfooText(s string) string {
	for _, scheme := range []string{"portkey://", "langfuse://", "helicone://", "package:"} {
		if strings.HasPrefix(s, scheme) {
			return "the prompt is in another product or package: " + shown(s)
		}
	}
	if strings.HasPrefix(s, "exec:") {
		return "the prompt is made by a program: " + shown(s)
	}
	if strings.HasPrefix(s, "file://") || isFileName(s) {
		return "the prompt is in another file, " + shown(s) + ": import that file, or put its text here"
	}
	return ""
}

// isFileName reports whether promptfoo takes a text for the name of a file, or for a pattern. promptfoo takes every line
// with a slash for one, but then finds no file for a sentence.
func isFileName(s string) bool {
	if strings.ContainsAny(s, "\n{") {
		return false
	}
	for part := range strings.SplitSeq(s, ":") { // prompts.py:function
		if slices.ContainsFunc(promptfooFiles, func(extension string) bool { return strings.HasSuffix(part, extension) }) {
			return true
		}
	}
	return strings.ContainsAny(s, `/\*`) && !strings.ContainsAny(s, " \t")
}

// promptfooChat adds the messages of a text that is JSON, or YAML that begins with a message, and reports whether it is.
func (b *builder) promptfooChat(s string) bool {
	trimmed := strings.TrimSpace(s)
	var messages value
	switch {
	case strings.HasPrefix(trimmed, "[") || strings.HasPrefix(trimmed, "{"):
		if !json.Valid([]byte(trimmed)) {
			return false
		}
		messages = value{raw: json.RawMessage(trimmed)}
		if jsontext.IsObject(messages.raw) && jsontext.IsNull(messages.member("messages").raw) && jsontext.IsNull(messages.member("role").raw) {
			return false
		}
	case strings.HasPrefix(trimmed, "- role:"):
		var err error
		if messages, err = readYAML([]byte(s)); err != nil {
			b.fail(reject("", "its messages are no YAML: %s", err.Error()))
			return true
		}
	default:
		return false
	}
	b.promptfooMessages(messages)
	return true
}

func (b *builder) promptfooMessages(messages value) {
	if jsontext.IsObject(messages.raw) {
		if inner := messages.member("messages"); !jsontext.IsNull(inner.raw) {
			o, _ := messages.object()
			delete(o, "messages")
			b.settings(o, "")
			messages = inner
		} else {
			messages = value{items: []value{messages}, raw: json.RawMessage("[]")}
		}
	}
	items, ok := messages.list()
	if !ok {
		b.fail(reject("", "is neither a text nor a list of messages"))
		return
	}
	for _, item := range items {
		o, isObject := item.object()
		if !isObject {
			b.fail(reject(b.place(), "is no message"))
			return
		}
		b.promptfooTemplates(o)
		b.addMessage(o)
	}
}

// promptfooTemplates refuses templates outside of the content: promptfoo renders all texts of a message.
func (b *builder) promptfooTemplates(o object) {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if raw := string(o[name]); name != "content" && (strings.Contains(raw, "{{") || strings.Contains(raw, "{%")) {
			b.fail(reject(b.place()+"."+name, "is a template: only the content of messages is rendered"))
		}
	}
}
