package diff

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// step is a span as it is compared.
type step struct {
	kind, name, status string
	took               runmodel.Interval
	// args are what the step was given, results what came of it, each in the order of their names.
	args, results []*field
}

// reader makes steps of one run's spans.
type reader struct {
	masker *masker
	// shared are fields of contents that many spans name.
	shared map[sharedField]*field
}

func newReader(run Run, others map[string]struct{}) *reader {
	return &reader{masker: &masker{start: run.Outline.Run.StartTime, others: others}, shared: map[sharedField]*field{}}
}

func (r *reader) steps(spans []runs.Span) []step {
	steps := make([]step, len(spans))
	for i := range spans {
		steps[i] = r.step(&spans[i])
	}
	return steps
}

func (r *reader) step(span *runs.Span) step {
	s := step{
		kind: span.EffectiveKind(), status: span.EffectiveStatus(), name: r.nameOf(span),
		took: runmodel.Interval{Start: span.StartTime, End: endOf(&span.Span)},
	}
	model := span.RequestModel
	if model == "" {
		model = span.ResponseModel
	}
	s.args = add(s.args, plain(fieldModel, model))
	s.args = add(s.args, r.content(fieldInstructions, span.InstructionsID, span.SystemInstructions))
	s.args = add(s.args, r.content(fieldTools, span.ToolDefinitionsID, span.ToolDefinitions))
	switch {
	case len(span.InputMessages) > 0:
		user, others := runmodel.SinceAssistant(span.InputMessages)
		s.args = add(s.args, r.text(fieldInput, said(slices.Concat(others, user), true)))
	case span.ToolArguments != "":
		s.args = add(s.args, r.value(fieldInput, span.ToolArguments))
	case span.Inputs != nil:
		s.args = add(s.args, r.value(fieldInput, *span.Inputs))
	}
	switch {
	case len(span.OutputMessages) > 0:
		s.results = add(s.results, r.calls(span.OutputMessages))
		s.results = add(s.results, r.text(fieldOutput, said(span.OutputMessages, false)))
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

// nameOf leaves out of a name what makes it another one in another run of the same program: ids, and the model, which
// the conventions put behind the operation.
func (r *reader) nameOf(span *runs.Span) string {
	name := span.Name
	for _, model := range []string{span.RequestModel, span.ResponseModel} {
		if model != "" {
			name = strings.TrimSuffix(name, " "+model)
		}
	}
	name, _ = r.masker.mask(name)
	return name
}

// said writes what messages say, with who says it where that is not one and the same, without calls of tools where these
// are compared by themselves.
func said(messages []json.RawMessage, roles bool) string {
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

// cutInJSON is the end of a string that was cut within JSON that is compared as text.
var cutInJSON = regexp.MustCompile(`\\u0000([0-9A-F]{16})"`)

// calls is the list of tool calls that messages ask for, without their ids.
func (r *reader) calls(messages []json.RawMessage) *field {
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
	var raw strings.Builder
	encoder := json.NewEncoder(&raw)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(shownTree(list)) != nil {
		return nil // of JSON values: it always encodes
	}
	return r.tree(fieldToolCalls, list, strings.TrimSpace(raw.String()))
}

// hashes are those of what the step was asked, and of that and what came of it.
func (s *step) hashes() (asked, own uint64) {
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
	asked = d.Sum64()
	write(s.status)
	fields(s.results)
	return asked, d.Sum64()
}

// says tells that the step has something to be known by besides its name.
func (s *step) says() bool { return len(s.args)+len(s.results) > 0 }
