package diff

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/text/unicode/norm"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Fields in which steps differ.
const (
	fieldName         = "name"
	fieldStatus       = "status"
	fieldModel        = "model"
	fieldInstructions = "instructions"
	fieldTools        = "tools"
	fieldInput        = "input"
	fieldToolCalls    = "tool_calls"
	fieldOutput       = "output"
	fieldError        = "error"
)

// step is a span as it is compared.
type step struct {
	kind, name, status string
	took               runmodel.Interval
	// args are what the step was given, results what came of it, each in the order of their names.
	args, results []*field
}

// field is one of the values that steps are compared by.
type field struct {
	name string
	raw  string // as it was recorded, for people
	// masked is the value without ids and times, as canonical JSON where it is JSON.
	masked string
	behind []string // what the masks of ids stand for
	masker *masker  // of its run, nil where nothing is masked
	tree   any      // where it is JSON
	isTree bool
	hash   uint64
	cut    bool     // the store has more than was read
	words  []uint64 // sorted hashes of the words of masked, nil until they are needed
}

// reader makes steps of one run's spans.
type reader struct {
	masker *masker
	// shared are fields of contents that many spans name.
	shared map[sharedField]*field
}

type sharedField struct {
	name string
	id   uint64
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

func add(fields []*field, f *field) []*field {
	if f == nil {
		return fields
	}
	return append(fields, f)
}

func plain(name, text string) *field {
	if text == "" {
		return nil
	}
	return &field{name: name, raw: text, masked: text, hash: xxhash.Sum64String(text)}
}

// text is a field for people: Unicode in its composed form, white space collapsed. Of a text that was cut, the hash of the
// whole stays.
func (r *reader) text(name, text string) *field {
	if text == "" {
		return nil
	}
	f := &field{name: name, masker: r.masker}
	var raw, masked strings.Builder
	for {
		piece, rest, cut := strings.Cut(text, runs.TextEnd)
		if cut {
			piece = wholeLetters(piece)
		}
		raw.WriteString(piece)
		said, ids := r.masker.mask(strings.Join(strings.Fields(norm.NFC.String(piece)), " "))
		masked.WriteString(said)
		f.behind = append(f.behind, ids...)
		if !cut {
			break
		}
		f.cut = true
		hash := rest[:min(runs.TextHash, len(rest))]
		raw.WriteString("…")
		masked.WriteString(runs.TextEnd + hash)
		text = rest[len(hash):]
	}
	f.raw, f.masked = raw.String(), masked.String()
	f.hash = xxhash.Sum64String(f.masked)
	return f
}

// value is JSON where the text is, else text.
func (r *reader) value(name, text string) *field {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return r.text(name, text)
	}
	var tree any
	decoder := json.NewDecoder(strings.NewReader(trimmed))
	decoder.UseNumber()
	if decoder.Decode(&tree) != nil || decoder.More() {
		return r.text(name, text)
	}
	return r.tree(name, tree, text)
}

func (r *reader) tree(name string, tree any, raw string) *field {
	f := &field{name: name, masker: r.masker, raw: raw, isTree: true}
	f.tree = r.normal(tree, f)
	var b strings.Builder
	writeCanonical(&b, f.tree)
	f.masked = b.String()
	f.hash = xxhash.Sum64String(f.masked)
	return f
}

// normal masks the strings of a field's JSON value, members in the order of their names, and writes numbers in one way. Of a
// string that was cut, the hash of the whole stays.
func (r *reader) normal(tree any, f *field) any {
	switch v := tree.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			v[key] = r.normal(v[key], f)
		}
	case []any:
		for i := range v {
			v[i] = r.normal(v[i], f)
		}
	case string:
		beginning, hash := cutString(v)
		masked, ids := r.masker.mask(norm.NFC.String(beginning))
		f.behind = append(f.behind, ids...)
		if hash != "" {
			f.cut = true
			masked += runs.TextEnd + hash
		}
		return masked
	case json.Number:
		if masked, _ := r.masker.mask(v.String()); masked == timeMask {
			return timeMask
		}
		// Numbers up to 2^53 are what JSON readers agree on (RFC 8785); others are told apart by their digits.
		const agreed = 1 << 53
		if n, err := v.Float64(); err == nil && math.Abs(n) <= agreed {
			return n
		}
		return v
	}
	return tree
}

// cutString parts the beginning of a string of a JSON value from the hash of the whole, "" where the string was not cut. A
// shorter one with such an end was recorded so.
func cutString(text string) (beginning, hash string) {
	at := len(text) - len(runs.TextEnd) - runs.TextHash
	if at < runs.MaxText || !strings.HasPrefix(text[at:], runs.TextEnd) {
		return text, ""
	}
	return wholeLetters(text[:at]), text[at+len(runs.TextEnd):]
}

// wholeLetters leaves out at the end of a text that was cut what is left of a letter.
func wholeLetters(text string) string {
	return strings.TrimRight(strings.ToValidUTF8(text, "\uFFFD"), "\uFFFD")
}

// shownTree is a JSON value with an ellipsis at the end of strings that were cut.
func shownTree(tree any) any {
	switch v := tree.(type) {
	case map[string]any:
		shown := make(map[string]any, len(v))
		for key := range v {
			shown[key] = shownTree(v[key])
		}
		return shown
	case []any:
		shown := make([]any, len(v))
		for i := range v {
			shown[i] = shownTree(v[i])
		}
		return shown
	case string:
		if beginning, hash := cutString(v); hash != "" {
			return beginning + "…"
		}
	}
	return tree
}

func sortedKeys(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

func writeCanonical(b *strings.Builder, tree any) {
	switch v := tree.(type) {
	case map[string]any:
		b.WriteByte('{')
		for i, key := range sortedKeys(v) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Quote(key))
			b.WriteByte(':')
			writeCanonical(b, v[key])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeCanonical(b, v[i])
		}
		b.WriteByte(']')
	case string:
		b.WriteString(strconv.Quote(v))
	case float64:
		b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
	case json.Number:
		b.WriteString(v.String())
	case bool:
		b.WriteString(strconv.FormatBool(v))
	default:
		b.WriteString("null")
	}
}

// content is a field of what many spans name; its id is a hash of it.
func (r *reader) content(name string, id uint64, elements []json.RawMessage) *field {
	if len(elements) == 0 {
		return nil
	}
	key := sharedField{name, id}
	if known, ok := r.shared[key]; ok && id != 0 {
		return known
	}
	var b strings.Builder
	for i, element := range elements {
		if i > 0 {
			b.WriteByte('\n')
		}
		var part runmodel.MessagePart
		if json.Unmarshal(element, &part) == nil && len(part.Content) > 0 {
			b.WriteString(runmodel.PlainJSON(part.Content))
		} else {
			b.WriteString(runmodel.PlainJSON(element))
		}
	}
	f := r.text(name, b.String())
	r.shared[key] = f
	return f
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

// rawTree reads the field's JSON as it was recorded.
func (f *field) rawTree() any {
	var tree any
	decoder := json.NewDecoder(strings.NewReader(f.raw))
	decoder.UseNumber()
	if decoder.Decode(&tree) != nil {
		return f.raw
	}
	return tree
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
