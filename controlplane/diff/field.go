package diff

import (
	"encoding/json"
	"math"
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

// field is one of the values that steps are compared by.
type field struct {
	name string
	raw  string // as recorded, for people
	// masked is the value without ids and times, as canonical JSON if it is JSON.
	masked    string
	maskedIDs []string // the ids that were masked
	masker    *masker  // of its run, nil if nothing is masked
	tree      any      // the value if it is JSON
	isTree    bool
	hash      uint64
	cut       bool     // the store has more than was read
	words     []uint64 // sorted hashes of the words of masked, nil until they are needed
}

type sharedField struct {
	name string
	id   uint64
}

func add(fields []*field, f *field) []*field {
	if f == nil {
		return fields
	}
	return append(fields, f)
}

func plainField(name, text string) *field {
	if text == "" {
		return nil
	}
	return &field{name: name, raw: text, masked: text, hash: xxhash.Sum64String(text)}
}

// text is a field of text: Unicode in composed form, white space collapsed. A text that was cut is followed by the hash of the whole.
func (r *stepReader) text(name, text string) *field {
	if text == "" {
		return nil
	}
	f := &field{name: name, masker: r.masker}
	var raw, masked strings.Builder
	for {
		piece, rest, cut := strings.Cut(text, runs.TextEnd)
		if cut {
			piece = trimPartialRune(piece)
		}
		raw.WriteString(piece)
		words, ids := r.masker.mask(strings.Join(strings.Fields(norm.NFC.String(piece)), " "))
		masked.WriteString(words)
		f.maskedIDs = append(f.maskedIDs, ids...)
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

// value is a JSON field if the text is JSON, else a text field.
func (r *stepReader) value(name, text string) *field {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return r.text(name, text)
	}
	if tree, ok := readJSON(trimmed); ok {
		return r.tree(name, tree, text)
	}
	return r.text(name, text)
}

func (r *stepReader) tree(name string, tree any, raw string) *field {
	f := &field{name: name, masker: r.masker, raw: raw, isTree: true}
	f.tree = r.normalize(tree, f)
	var b strings.Builder
	writeCanonical(&b, f.tree)
	f.masked = b.String()
	f.hash = xxhash.Sum64String(f.masked)
	return f
}

// normalize masks the strings of a field's JSON value, in the order of the members' names, and unifies numbers. A string that was cut is
// followed by the hash of the whole.
func (r *stepReader) normalize(tree any, f *field) any {
	switch v := tree.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			v[key] = r.normalize(v[key], f)
		}
	case []any:
		for i := range v {
			v[i] = r.normalize(v[i], f)
		}
	case string:
		beginning, hash := cutString(v)
		masked, ids := r.masker.mask(norm.NFC.String(beginning))
		f.maskedIDs = append(f.maskedIDs, ids...)
		if hash != "" {
			f.cut = true
			masked += runs.TextEnd + hash
		}
		return masked
	case json.Number:
		if masked, _ := r.masker.mask(v.String()); masked == timeMask {
			return timeMask
		}
		// JSON readers agree on numbers up to 2^53 (RFC 8785). Others are compared by their digits.
		const agreed = 1 << 53
		if n, err := v.Float64(); err == nil && math.Abs(n) <= agreed {
			return n
		}
		return v
	}
	return tree
}

// content is a field of a content that several spans have. Its id is a hash of it.
func (r *stepReader) content(name string, id uint64, elements []json.RawMessage) *field {
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
