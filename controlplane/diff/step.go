package diff

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// step is a span as it is compared.
type step struct {
	kind, name, status string
	interval           runmodel.Interval
	// args are what the step was given, results what it returned, both in the order of their names.
	args, results []*field
}

// stepReader makes steps of a run's spans.
type stepReader struct {
	masker *masker
	// shared are fields of contents that several spans have.
	shared map[sharedField]*field
}

func newStepReader(run Run, others map[string]struct{}) *stepReader {
	return &stepReader{masker: &masker{start: run.Outline.Run.StartTime, others: others}, shared: map[sharedField]*field{}}
}

func (r *stepReader) steps(spans []runs.Span) []step {
	steps := make([]step, len(spans))
	for i := range spans {
		steps[i] = r.step(&spans[i])
	}
	return steps
}

func (r *stepReader) step(span *runs.Span) step {
	s := step{
		kind: span.EffectiveKind(), status: span.EffectiveStatus(), name: r.nameOf(span),
		interval: runmodel.Interval{Start: span.StartTime, End: endTime(&span.Span)},
	}
	model := span.RequestModel
	if model == "" {
		model = span.ResponseModel
	}
	s.args = add(s.args, plainField(fieldModel, model))
	s.args = add(s.args, r.content(fieldInstructions, span.InstructionsID, span.SystemInstructions))
	s.args = add(s.args, r.content(fieldTools, span.ToolDefinitionsID, span.ToolDefinitions))
	switch {
	case len(span.InputMessages) > 0:
		user, others := runmodel.SinceAssistant(span.InputMessages)
		s.args = add(s.args, r.text(fieldInput, textOf(slices.Concat(others, user), true)))
	case span.ToolArguments != "":
		s.args = add(s.args, r.value(fieldInput, span.ToolArguments))
	case span.Inputs != nil:
		s.args = add(s.args, r.value(fieldInput, *span.Inputs))
	}
	switch {
	case len(span.OutputMessages) > 0:
		s.results = add(s.results, r.calls(span.OutputMessages))
		s.results = add(s.results, r.text(fieldOutput, textOf(span.OutputMessages, false)))
	case span.ToolResult != "":
		s.results = add(s.results, r.value(fieldOutput, span.ToolResult))
	case span.Outputs != nil:
		s.results = add(s.results, r.value(fieldOutput, *span.Outputs))
	}
	if span.ErrorType != "" || span.ErrorMessage != "" {
		s.results = add(s.results, r.text(fieldError, strings.Trim(span.ErrorType+": "+span.ErrorMessage, ": ")))
	}
	return s
}

// nameOf removes from a name what differs between runs of the same program: ids, and the model, which the conventions append to the
// operation.
func (r *stepReader) nameOf(span *runs.Span) string {
	name := span.Name
	for _, model := range []string{span.RequestModel, span.ResponseModel} {
		if model != "" {
			name = strings.TrimSuffix(name, " "+model)
		}
	}
	name, _ = r.masker.mask(name)
	return name
}

// textOf returns the text of messages, with the roles of their authors where roles is true. Otherwise it leaves out tool calls, which are
// compared by themselves.
func textOf(messages []json.RawMessage, roles bool) string {
	var lines []string
	for _, raw := range messages {
		message, ok := runmodel.ReadMessage(raw)
		if !ok {
			lines = append(lines, runmodel.PlainJSON(raw))
			continue
		}
		for i := range message.Parts {
			part := &message.Parts[i]
			switch {
			case !roles && part.IsCall():
			case roles && message.Role != "":
				lines = append(lines, message.Role+": "+part.Text())
			default:
				lines = append(lines, part.Text())
			}
		}
	}
	return cutInJSON.ReplaceAllString(strings.Join(lines, "\n"), runs.TextEnd+`$1"`)
}

// cutInJSON is the end of a string that was cut, in JSON that is compared as text.
var cutInJSON = regexp.MustCompile(`\\u0000([0-9A-F]{16})"`)

// calls is the list of tool calls in messages, without their ids.
func (r *stepReader) calls(messages []json.RawMessage) *field {
	var list []any
	for _, raw := range messages {
		message, _ := runmodel.ReadMessage(raw)
		for i := range message.Parts {
			part := &message.Parts[i]
			if !part.IsCall() {
				continue
			}
			text := runmodel.PlainJSON(part.Arguments)
			arguments := r.value("", text)
			call := map[string]any{"name": part.Name}
			switch {
			case arguments == nil:
			case arguments.isTree:
				call["arguments"] = arguments.rawTree()
			default:
				call["arguments"] = text
			}
			list = append(list, call)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return r.tree(fieldToolCalls, list, string(jsontext.MustEncode(withEllipses(list))))
}

// hashes are those of what the step was given, and of that and its results.
func (s *step) hashes() (callHash, stepHash uint64) {
	d := xxhash.New()
	write := func(texts ...string) {
		for _, text := range texts {
			_, _ = d.WriteString(text) // a hash never returns an error
			_, _ = d.Write([]byte{0})
		}
	}
	fields := func(list []*field) {
		for _, f := range list {
			write(f.name, strconv.FormatUint(f.hash, 16))
		}
		write("")
	}
	write(s.kind, s.name)
	fields(s.args)
	callHash = d.Sum64()
	write(s.status)
	fields(s.results)
	return callHash, d.Sum64()
}

// hasContent reports whether the step has more than a name to identify it.
func (s *step) hasContent() bool { return len(s.args)+len(s.results) > 0 }
