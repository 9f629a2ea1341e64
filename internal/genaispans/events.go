package genaispans

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/looptrace/looptrace/internal/genailogs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Events that carry content (docs/gen-ai/gen-ai-events.md of the conventions, and those before v1.37).
const (
	eventPrefix      = "gen_ai."
	eventDetails     = "gen_ai.client.inference.operation.details"
	eventEvaluation  = runmodel.EventEvaluation
	eventLangWatch   = "langwatch.evaluation.custom"
	eventChoice      = "gen_ai.choice"
	eventPrompt      = "gen_ai.content.prompt"
	eventCompletion  = "gen_ai.content.completion"
	eventMessage     = ".message"
	eventContent     = "gen_ai.event.content"
	inputMessagesKey = runmodel.KeyInputMessages
)

// readEvents offers the content of the span's events.
func (x *span) readEvents() {
	if x.Events().Len() == 0 {
		return
	}
	input, output := writer{b: []byte{'['}}, writer{b: []byte{'['}}
	for _, event := range x.Events().All() {
		name := event.Name()
		if !x.fromLog && !strings.HasPrefix(name, eventPrefix) && name != eventLangWatch {
			continue
		}
		e := eventReader{name: name, attrs: event.Attributes()}
		if x.fromLog {
			x.gatherRecord(&e)
			x.recordOutcome(&e)
		}
		switch {
		case x.fromLog && x.readBody(&e, &input, &output):
		case name == eventDetails:
			x.readDetails(&e, &input, &output)
		case name == eventEvaluation:
			x.evaluationEvent(&e)
		case name == eventLangWatch:
			x.langWatchEvent(&e)
		case name == eventChoice:
			x.readChoice(&e, &output)
		case name == eventPrompt:
			if text := e.plain("gen_ai.prompt"); text != "" {
				x.promptLines(&input, text)
			}
		case name == eventCompletion:
			if text := e.plain("gen_ai.completion"); text != "" {
				output.value(text, "assistant")
			}
		case strings.HasSuffix(name, eventMessage):
			x.readMessage(&e, &input)
		}
	}
	x.offerEvents(toInputMessages, &input)
	x.offerEvents(toOutputMessages, &output)
}

func (x *span) offerEvents(to target, w *writer) {
	if w.messages > 0 {
		x.offer(to, otelGenAIOld, fromCanonical, string(append(w.b, ']')), "events")
	}
}

// recordOutcome reads how a call went that a record names.
func (x *span) recordOutcome(e *eventReader) {
	if x.recordOf == "" {
		return
	}
	if n, ok := e.attrs.Get("tool_token_count"); ok && x.found.has(geminiCLI) {
		x.toolUse = n.Int()
	}
	if e.plain("success") == "false" {
		x.fail("success")
	}
	if isRefusal(e.plain("decision")) {
		x.cancel(e.name, e.plain("source"))
	}
}

// isRefusal reports whether a decision about a call of a tool refused it.
func isRefusal(decision string) bool {
	switch decision {
	case "reject", "rejected", "deny", "denied", "abort", "aborted":
		return true
	}
	return false
}

// cancel marks a call that never ran, since a person or a rule refused it.
func (x *span) cancel(source, by string) {
	x.attrs.PutStr(runmodel.KeyStatus, runmodel.StatusCancelled)
	x.offer(toErrorMessage, otelGenAI, fromText, strings.TrimSuffix("refused by "+by, " by "), source)
}

// isOfSpan reports whether a record that names no call may fill a field of its span. Coding agents write what happened
// in a turn with the id of the turn, or of whatever step is open.
func (x *span) isOfSpan(to target) bool {
	if x.recordOf != "" || !x.found.has(claudeCode) && !x.found.has(codex) && !x.found.has(geminiCLI) {
		return true
	}
	switch to {
	case toSessionID, toConversationID, toUserID, toEnvironment, toRelease, toInputs, toOutputs:
		return true
	}
	return false
}

// gatherRecord reads the attributes of a log record like those of a span, and finds its body.
func (x *span) gatherRecord(e *eventReader) {
	if body, ok := e.attrs.Get(genailogs.KeyBody); ok {
		switch body.Type() {
		case pcommon.ValueTypeMap:
			e.body, e.hasBody = body.Map(), true
		case pcommon.ValueTypeStr:
			e.text = body.Str()
		}
	}
	apply := x.found | setOf(otelGenAI, otelGenAIOld)
	for key, value := range e.attrs.All() {
		for _, u := range shared.uses[key] {
			if u.dialect != standard && !apply.has(u.dialect) {
				continue
			}
			if best := &x.best[u.to]; u.to != toInputMessages && u.to != toOutputMessages && x.isOfSpan(u.to) && (best.kind == none || u.rank < best.rank) && usable(value, u.as) {
				*best = candidate{value: value, source: "log record " + e.name, as: u.as, kind: fromAttribute, rank: u.rank}
			}
		}
	}
}

// readBody reads content from a record's body: AWS's {input: {messages}, output: {messages}}, Spring AI's text, and
// the request and response bodies of Claude Code.
func (x *span) readBody(e *eventReader, input, output *writer) bool {
	if e.hasBody {
		in, hasInput := e.body.Get("input")
		out, hasOutput := e.body.Get("output")
		if hasInput {
			input.value(valueText(in), "user")
		}
		if hasOutput {
			output.value(valueText(out), "assistant")
		}
		return hasInput || hasOutput
	}
	for prefix, w := range map[string]*writer{"Chat Model Prompt Content:": input, "Chat Model Completion:": output} {
		if text, ok := strings.CutPrefix(e.text, prefix); ok {
			role := "user"
			if w == output {
				role = "assistant"
			}
			w.value(strings.TrimSpace(text), role)
			return true
		}
	}
	switch strings.TrimPrefix(e.name, "claude_code.") {
	case "api_request_body":
		x.readRequest(e.plain("body", "request_body"), input)
		return true
	case "api_response_body":
		output.value(e.plain("body", "response_body"), "assistant")
		return true
	case "user_prompt":
		input.value(e.plain("prompt"), "user")
		return true
	case "assistant_response":
		output.plainMessage(e.plain("response"), "assistant")
		return true
	}
	return false
}

// readRequest reads the body of a request to a model.
func (x *span) readRequest(text string, input *writer) {
	input.value(text, "user")
	if body, ok := parseObject(text); ok {
		x.offerRequest(claudeCode, body, "log record")
	}
}

// eventReader reads the attributes of an event, and the body of a log record.
type eventReader struct {
	name    string
	attrs   pcommon.Map
	body    pcommon.Map // of a log record
	hasBody bool
	// text is the body if it is a string.
	text string
}

func (e *eventReader) value(key string) (pcommon.Value, bool) {
	if v, ok := e.attrs.Get(key); ok {
		return v, true
	}
	if e.hasBody {
		return e.body.Get(key)
	}
	return pcommon.Value{}, false
}

// plain returns a value as text: a string unchanged, any other value as JSON.
func (e *eventReader) plain(keys ...string) string {
	for _, key := range keys {
		if v, ok := e.value(key); ok {
			if text := valueText(v); text != "" {
				return text
			}
		}
	}
	return ""
}

// readDetails takes the attributes of an event that carries span attributes. Strands sends several: their messages
// are concatenated.
func (x *span) readDetails(e *eventReader, input, output *writer) {
	for key, value := range e.attrs.All() {
		switch key {
		case inputMessagesKey:
			input.value(valueText(value), "user")
		case runmodel.KeyOutputMessages:
			output.value(valueText(value), "assistant")
		default:
			for _, u := range shared.uses[key] {
				best := &x.best[u.to]
				if u.dialect == standard && best.kind == none && usable(value, u.as) {
					*best = candidate{value: value, source: "event " + key, as: u.as, kind: fromAttribute, rank: rankDialect - 1}
				}
			}
		}
	}
}

// readChoice reads an output: {index, finish_reason, message} with the message as a structure or as JSON, or the
// content alone.
func (x *span) readChoice(e *eventReader, output *writer) {
	finish := e.plain("finish_reason")
	if text := firstOf(e.plain(eventContent), e.text); text != "" {
		if o, ok := parseObject(text); ok {
			if finish = o.str("finish_reason"); o.at("message") != nil {
				output.choice(o.at("message"), o)
			} else {
				output.message(o, "assistant")
			}
		}
	} else if text := e.plain("message", "content"); text != "" || e.plain("tool_calls") != "" {
		if x.kind == runmodel.KindTool {
			x.offer(toToolCallResult, otelGenAIOld, fromText, unwrapResult(text), e.name)
			return
		}
		x.eventMessage(e, output, "assistant", text, finish)
	}
	if finish != "" && x.kind != runmodel.KindTool {
		x.offer(toFinishReasons, otelGenAIOld, fromText, finish, e.name)
	}
}

// unwrapResult takes a tool's result out of its content blocks.
func unwrapResult(text string) string {
	if blocksOf(text) == nil {
		return text
	}
	value := contentValue(text)
	if plain, ok := jsonString(value); ok {
		return plain
	}
	return value
}

// readMessage reads one input message. Its role is in the event's name.
func (x *span) readMessage(e *eventReader, input *writer) {
	role := strings.TrimSuffix(strings.TrimPrefix(e.name, eventPrefix), eventMessage)
	if text := firstOf(e.plain(eventContent), e.text); text != "" {
		if o, ok := parseObject(text); ok {
			input.message(o, role)
			return
		}
	}
	text := e.plain("content", "message")
	if x.kind == runmodel.KindTool && role == "tool" {
		x.offer(toToolCallArguments, otelGenAIOld, fromText, text, e.name)
		return
	}
	if sent := e.plain("role"); sent != "" {
		role = sent
	}
	x.eventMessage(e, input, role, text, "")
}

// eventMessage writes the message of an event. Its content is text or, in some dialects, blocks or JSON strings.
func (x *span) eventMessage(e *eventReader, w *writer, role, text, finish string) {
	if x.found.has(liveKit) {
		text = unquoted(text)
	}
	if o, ok := parseObject(text); ok && (o.get("role", "content", "tool_calls", "parts") != "") {
		if finish != "" && o.get("finish_reason") == "" {
			o = append(o, member{"finish_reason", string(appendString(nil, finish))})
		}
		w.message(o, role)
		return
	}
	o := object{{"role", string(appendString(nil, canonicalRoleOf(role)))}}
	if blocks := blocksOf(text); blocks != nil {
		o = append(o, member{"content", text})
	} else if text != "" {
		o = append(o, member{"content", string(appendString(nil, text))})
	}
	if calls := e.plain("tool_calls"); calls != "" {
		o = append(o, member{"tool_calls", calls})
	}
	if id := e.plain("id", "tool_call_id"); id != "" && canonicalRoleOf(role) == "tool" {
		o = append(o, member{"tool_call_id", string(appendString(nil, id))})
	}
	if name := e.plain("name"); name != "" && canonicalRoleOf(role) != "tool" {
		o = append(o, member{"name", string(appendString(nil, name))})
	}
	if finish != "" {
		o = append(o, member{"finish_reason", string(appendString(nil, finish))})
	}
	w.message(o, role)
}

// promptLines reads OpenLIT's prompt: lines that begin with a role.
func (x *span) promptLines(w *writer, text string) {
	if trimmed := strings.TrimSpace(text); isContainer(trimmed) && isJSON(trimmed) {
		w.value(trimmed, "user")
		return
	}
	role, lines := "user", ""
	flush := func() {
		if lines != "" {
			w.plainMessage(lines, role)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if before, after, found := strings.Cut(line, ": "); found && isRole(before) {
			flush()
			role, lines = before, after
			continue
		}
		if lines != "" {
			lines += "\n"
		}
		lines += line
	}
	flush()
}

func isRole(s string) bool {
	switch s {
	case "system", "user", "assistant", "tool", "developer":
		return true
	}
	return false
}
