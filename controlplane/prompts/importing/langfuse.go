package importing

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// langfuseTag inserts another prompt.
var langfuseTag = regexp.MustCompile(`@@@langfusePrompt:[^@]*@@@`)

// langfuse reads an answer of GET /api/public/v2/prompts/{name}.
func (r *reader) langfuse(o object, place string) {
	name := o.text("name")
	number, _ := strconv.ParseInt(string(o["version"]), 10, 64)
	label := name
	if number > 0 {
		label += " version " + strconv.FormatInt(number, 10)
	}
	v, err := langfuseVersion(o)
	if err == nil && number > 0 && r.hasVersion(name, number) {
		err = reject("version", "the file has this version twice")
	}
	if err != nil {
		r.reject(cmp.Or(label, place), err)
		return
	}
	note := o.text("commitMessage")
	if number > 0 {
		note = strings.TrimSuffix("Version "+strconv.FormatInt(number, 10)+" in Langfuse: "+note, ": ")
	}
	v.note(note)
	v.aliases(texts(o["labels"]))
	s := r.add(name, name, numbered{Version: v, number: number})
	s.tags = append(s.tags, texts(o["tags"])...)
}

func (r *reader) hasVersion(id string, number int64) bool {
	s := r.byID[id]
	return s != nil && id != "" && s.numbers[number]
}

func langfuseVersion(o object) (Version, error) {
	b := newBuilder(strictDoubleBraces)
	if s, isText := text(o["prompt"]); isText {
		b.langfuseReferences("messages[0].content", s)
		b.addText("user", s)
	} else if items, isList := (value{raw: o["prompt"]}).list(); isList {
		for _, item := range items {
			m, isObject := item.object()
			if !isObject {
				return Version{}, reject(b.place(), "is no message")
			}
			b.langfuseReferences(b.place()+".content", m.text("content"))
			b.addMessage(m)
		}
	} else {
		return Version{}, reject("prompt", "has no text: a list of prompts has none; export each version with GET /api/public/v2/prompts/NAME?version=N")
	}
	if config, ok := asObject(o["config"]); ok {
		b.settings(config, "config")
	} else if !jsontext.IsNull(o["config"]) {
		b.version.leaveOut("config", "is no object")
	}
	if !jsontext.IsNull(o["resolutionGraph"]) {
		b.version.leaveOut("resolutionGraph", "the text has the prompts that it refers to as they were at the export")
	}
	return b.finish()
}

// langfuseReferences refuses tags that insert other prompts.
func (b *builder) langfuseReferences(path, s string) {
	if at := langfuseTag.FindStringIndex(s); at != nil {
		b.fail(&rejection{path, 1 + strings.Count(s[:at[0]], "\n"), shown(s[at[0]:at[1]]) + " inserts another prompt: export the prompt with resolve=true"})
	}
}
