package importing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// maxNesting is how deep chains within a manifest are followed.
const maxNesting = 8

// serialized is an object that LangChain serialized.
type serialized struct {
	LC     int             `json:"lc"`
	Type   string          `json:"type"`
	ID     []string        `json:"id"`
	Kwargs json.RawMessage `json:"kwargs"`
}

// class is the name of its class, such as ChatPromptTemplate.
func (s serialized) class() string {
	if len(s.ID) == 0 {
		return ""
	}
	return s.ID[len(s.ID)-1]
}

// deserialize reads an object that LangChain serialized.
func deserialize(raw json.RawMessage) (s serialized, kwargs object, ok bool) {
	if !jsontext.IsObject(raw) || json.Unmarshal(raw, &s) != nil || s.LC != 1 || s.class() == "" {
		return serialized{}, nil, false
	}
	kwargs, _ = asObject(s.Kwargs)
	return s, kwargs, true
}

// langSmith reads a commit of a prompt, or a manifest.
func (r *reader) langSmith(o object, place string) {
	manifest := o["manifest"]
	if o.has("lc") { // the manifest itself
		raw, err := jsontext.Encode(o)
		if err != nil {
			r.reject(place, err)
			return
		}
		manifest, o = raw, object{}
	}
	b := newBuilder(literal)
	if _, kwargs, ok := deserialize(manifest); ok {
		metadata, _ := asObject(kwargs["metadata"])
		o = maps.Clone(o)
		for member, key := range map[string]string{"repo": "lc_hub_repo", "owner": "lc_hub_owner", "commit_hash": "lc_hub_commit_hash"} {
			if !o.has(member) && metadata.has(key) {
				o[member] = metadata[key]
			}
		}
	}
	name := cmp.Or(o.text("repo"), o.text("repo_handle"))
	if jsontext.IsNull(manifest) {
		r.reject(cmp.Or(name, place), reject("manifest", "has no manifest: export each prompt with pull_prompt_commit, or GET /commits/OWNER/NAME/latest"))
		return
	}
	b.langChain(manifest, "manifest", 0)
	settings := o["model_config"]
	if jsontext.IsNull(settings) {
		settings = o["hub_model_config"] // in the SDK for Python
	}
	if config, ok := asObject(settings); ok {
		if b.version.ModelConfig.Model == "" {
			b.settings(config, "model_config")
		} else {
			b.leaveOutMembers(config, "model_config", "the manifest has a model")
		}
	}
	if examples, ok := (value{raw: o["examples"]}).list(); ok && len(examples) > 0 {
		b.version.leaveOut("examples", "examples have no place in a prompt")
	}
	commit := o.text("commit_hash")
	v, err := b.finish()
	if err != nil {
		label := cmp.Or(name, place)
		if commit != "" {
			label += " commit " + utf8text.Cut(commit, 12)
		}
		r.reject(label, err)
		return
	}
	note := cmp.Or(o.text("commit_description"), o.text("description"))
	if commit != "" {
		note = strings.TrimSuffix("Commit "+commit[:min(len(commit), 8)]+" in LangSmith: "+note, ": ")
	}
	v.note(note)
	id := ""
	if name != "" && commit != "" {
		id = o.text("owner") + "/" + name
	}
	s := r.add(id, name, numbered{Version: v, at: o.text("created_at")})
	s.tags = append(s.tags, texts(o["tags"])...)
}

// langChain adds what a serialized object has: a prompt, a model, or a sequence of them.
func (b *builder) langChain(raw json.RawMessage, path string, depth int) {
	s, kwargs, ok := deserialize(raw)
	switch {
	case !ok:
		b.fail(reject(path, "is no object that LangChain serialized"))
	case depth > maxNesting:
		b.fail(reject(path, "is nested more than %d deep", maxNesting))
	case s.Type == "secret":
	case s.Type == "not_implemented":
		b.fail(reject(path, "LangChain could not serialize its %s: write it as a chat prompt", s.class()))
	default:
		b.langChainObject(s.class(), kwargs, path, depth)
	}
}

func (b *builder) langChainObject(class string, kwargs object, path string, depth int) {
	inner := func(name string) {
		if !jsontext.IsNull(kwargs[name]) {
			b.langChain(kwargs[name], path+".kwargs."+name, depth+1)
		}
	}
	switch {
	case class == "RunnableSequence":
		inner("first")
		middle, _ := value{raw: kwargs["middle"]}.list()
		for i, step := range middle {
			b.langChain(step.raw, fmt.Sprintf("%s.kwargs.middle[%d]", path, i), depth+1)
		}
		inner("last")
	case class == "RunnableBinding":
		inner("bound")
		if bound, ok := asObject(kwargs["kwargs"]); ok {
			b.settings(bound, path+".kwargs.kwargs")
		}
	case class == "ChatPromptTemplate", class == "StructuredPrompt":
		b.langChainMessages(kwargs, path)
		if class == "StructuredPrompt" {
			b.langChainSchema(kwargs, path)
		}
		b.partials(kwargs)
	case class == "PromptTemplate":
		template, from := b.langChainTemplate(kwargs, path)
		b.langChainText("user", template, from)
		b.partials(kwargs)
	case strings.HasSuffix(class, "OutputParser"):
		b.version.leaveOut(path, "%s: parse the answer in your program", class)
	case strings.HasSuffix(class, "PromptTemplate"), strings.HasPrefix(class, "Runnable"):
		b.fail(reject(path, "a %s is not supported: write it as a chat prompt", class))
	default:
		b.langChainModel(class, kwargs, path)
	}
}

// modelParameters are members of LangChain's classes for models that are sent to models. Those that all formats know are
// in [modelMembers].
var modelParameters = []string{
	"frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "top_logprobs", "top_k", "n", "service_tier", "thinking",
	"verbosity", "parallel_tool_calls", "reasoning", "response_format", "tools",
}

func (b *builder) langChainModel(class string, kwargs object, path string) {
	b.version.leaveOut(path, "the class %s: choose the provider of the model", class)
	path += ".kwargs"
	sent := object{}
	if additional, ok := asObject(kwargs["model_kwargs"]); ok {
		maps.Copy(sent, additional)
	}
	for _, name := range slices.Sorted(maps.Keys(kwargs)) {
		isMember := slices.ContainsFunc(modelMembers, func(m modelMember) bool { return slices.Contains(m.names, name) })
		switch {
		case isMember || slices.Contains(modelParameters, name):
			sent[name] = kwargs[name]
		case name != "model_kwargs" && !jsontext.IsNull(kwargs[name]) && !isSecret(name):
			b.version.leaveOut(path+"."+name, "is a setting of LangChain")
		}
	}
	b.settings(sent, path)
}

// langChainMessages adds the messages of a ChatPromptTemplate.
func (b *builder) langChainMessages(kwargs object, path string) {
	items, isList := value{raw: kwargs["messages"]}.list()
	if !isList {
		b.fail(reject(path+".kwargs.messages", "is no list"))
		return
	}
	for i, item := range items {
		at := fmt.Sprintf("%s.kwargs.messages[%d]", path, i)
		s, kwargs, ok := deserialize(item.raw)
		if !ok || s.Type != "constructor" {
			b.fail(reject(at, "is no message that LangChain serialized"))
			return
		}
		b.langChainMessage(s.class(), kwargs, at)
	}
}

// langChainRoles are the roles of classes for messages, without the end Message, MessageChunk or MessagePromptTemplate.
var langChainRoles = map[string]string{"System": "system", "Human": "user", "AI": "assistant", "Tool": "tool"}

func (b *builder) langChainMessage(class string, kwargs object, path string) {
	if class == "MessagesPlaceholder" {
		name := kwargs.text("variable_name")
		if string(kwargs["optional"]) == "true" {
			b.version.leaveOut(b.place(), "the placeholder %s is optional in LangSmith: give it an empty list", name)
		}
		if !jsontext.IsNull(kwargs["n_messages"]) {
			b.version.leaveOut(b.place(), "the placeholder %s takes the last %s messages in LangSmith: shorten the list", name, kwargs["n_messages"])
		}
		b.addPlaceholder(name)
		return
	}
	name, isTemplate := strings.CutSuffix(class, "MessagePromptTemplate")
	if !isTemplate {
		name = strings.TrimSuffix(strings.TrimSuffix(class, "Chunk"), "Message")
	}
	role, known := langChainRoles[name]
	if name == "Chat" {
		role, known = kwargs.text("role"), true
	}
	if !known {
		b.fail(reject(path, "a %s is not supported", class))
		return
	}
	if isTemplate {
		b.langChainMessageTemplate(role, kwargs, path)
		return
	}
	b.langChainStatic(role, kwargs)
}

// langChainStatic adds a message whose text is no template.
func (b *builder) langChainStatic(role string, kwargs object) {
	o := object{"content": kwargs["content"], "name": kwargs["name"], "tool_call_id": kwargs["tool_call_id"]}
	o["role"], _ = jsontext.Encode(role) // a text can be encoded
	additional, _ := asObject(kwargs["additional_kwargs"])
	o["tool_calls"] = additional["tool_calls"]
	if calls, ok := (value{raw: kwargs["tool_calls"]}).list(); ok && len(calls) > 0 {
		var list []toolCall
		for _, call := range calls {
			c, _ := call.object()
			arguments, err := jsontext.Encode(c["args"])
			b.fail(err)
			list = append(list, toolCall{c.text("id"), "function", functionCall{c.text("name"), string(arguments)}})
		}
		encoded, err := jsontext.Encode(list)
		b.fail(err)
		o["tool_calls"] = encoded
	}
	b.syntax = literal
	b.addMessage(o)
}

// langChainMessageTemplate adds a message with one template, or with one for each part.
func (b *builder) langChainMessageTemplate(role string, kwargs object, path string) {
	if !jsontext.IsArray(kwargs["prompt"]) {
		_, prompt, ok := deserialize(kwargs["prompt"])
		if !ok {
			b.fail(reject(path+".kwargs.prompt", "is no template that LangChain serialized"))
			return
		}
		template, from := b.langChainTemplate(prompt, path+".kwargs.prompt")
		b.langChainText(role, template, from)
		b.partials(prompt)
		return
	}
	at := b.place()
	items, _ := value{raw: kwargs["prompt"]}.list()
	parts := make([]any, 0, len(items))
	for i, item := range items {
		s, prompt, ok := deserialize(item.raw)
		partAt := fmt.Sprintf("%s.content[%d]", at, i)
		from := b.langChainSyntax(prompt, partAt)
		image, _ := asObject(prompt["template"])
		switch {
		case ok && s.class() == "PromptTemplate":
			parts = append(parts, textPart{"text", b.converted(partAt+".text", prompt.text("template"), from)})
			b.escapes(prompt.text("template"), from)
		case ok && s.class() == "ImagePromptTemplate" && image.text("url") != "":
			parts = append(parts, imagePart{"image_url", imageURL{b.converted(partAt+".image_url.url", image.text("url"), from), image.text("detail")}})
			b.escapes(image.text("url"), from)
		default:
			b.fail(reject(partAt, "a part of the class %s is not supported", shown(s.class())))
		}
		b.partials(prompt)
	}
	b.messages = append(b.messages, message{Role: b.role(role, at), Content: parts})
}

func (b *builder) langChainText(role, template string, from syntax) {
	b.syntax = from
	b.addText(role, template)
	b.escapes(template, from)
}

// langChainTemplate returns the template of a PromptTemplate.
func (b *builder) langChainTemplate(kwargs object, path string) (string, syntax) {
	template, ok := text(kwargs["template"])
	if !ok {
		b.fail(reject(path+".kwargs.template", "is no text"))
	}
	return template, b.langChainSyntax(kwargs, path)
}

func (b *builder) langChainSyntax(kwargs object, path string) syntax {
	switch format := kwargs.text("template_format"); format {
	case "f-string", "":
		return fString
	case "mustache":
		return mustache
	case "jinja2":
		return jinja
	default:
		b.fail(reject(path, "the template format %s is unknown", shown(format)))
		return literal
	}
}

// htmlEscape is listed once.
const htmlEscape = "LangChain for Python writes &, <, > and \" in values of {{name}} as HTML; Looptrace inserts values as they are"

func (b *builder) escapes(template string, from syntax) {
	const path = "HTML escape"
	if from == mustache && strings.Contains(strings.ReplaceAll(template, "{{{", ""), "{{") && !slices.Contains(b.version.LeftOut, path+": "+htmlEscape) {
		b.version.leaveOut(path, "%s", htmlEscape)
	}
}

// langChainSchema makes the response format of a StructuredPrompt.
func (b *builder) langChainSchema(kwargs object, path string) {
	schema := kwargs["schema_"]
	if jsontext.IsNull(schema) {
		schema = kwargs["schema"]
	}
	o, ok := asObject(schema)
	if !ok {
		b.version.leaveOut(path+".kwargs.schema_", "is no JSON Schema")
		return
	}
	name, err := jsontext.Encode(schemaName(cmp.Or(o.text("title"), o.text("name"))))
	b.fail(err)
	options, _ := asObject(kwargs["structured_output_kwargs"])
	if b.version.ResponseFormat, err = jsonSchema(object{"name": name, "schema": schema, "strict": options["strict"]}); err != nil {
		b.fail(err)
	}
}

// partials makes defaults of the values that a template has for some of its variables.
func (b *builder) partials(kwargs object) {
	values, _ := asObject(kwargs["partial_variables"])
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, isText := text(values[name]); !isText {
			if !jsontext.IsArray(values[name]) { // the empty list of an optional placeholder
				b.version.leaveOut("partial_variables."+name, "is no text")
			}
			continue
		}
		b.variable("partial_variables", name, Variable{Default: values[name]})
	}
}
