package genaisemconvprocessor

import (
	"strconv"
	"strings"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// keyOriginalPrefix is put before the key of an attribute whose value was replaced, where the new value does not hold
// all of the old one.
const keyOriginalPrefix = "looptrace.original."

// candidate is a value that a target may take.
type candidate struct {
	// value is the attribute that was received. Where it is absent, text is the value as JSON or plain text.
	value pcommon.Value
	text  string
	// source is the key of the attribute or event that the value comes from.
	source string
	as     form
	kind   candidateKind
	rank   uint16
}

type candidateKind uint8

const (
	none candidateKind = iota
	fromAttribute
	fromJSON // text is JSON
	fromText // text is plain
	isDone   // text is written as it is
)

// span is one span under way through the tables. It is used again for the next span, so that nothing is allocated for
// a span but what is written into it.
type span struct {
	ptrace.Span
	attrs    pcommon.Map
	scope    *scopeInfo
	resource pcommon.Map
	found    dialectSet
	kind     string
	// fromLog is true for a span that stands for log records: what it is, the span itself says.
	fromLog bool
	// keys marks the lengths of the span's keys, but for those with an index, while it is read: a key that is looked for in
	// vain is mostly known by it.
	keys uint64
	// known is what the keys of the span tell, in their order.
	known []knownKey
	// exclusive is true where a dialect says that input tokens come without the cached ones.
	exclusive bool
	best      [targetCount]candidate
	flat      flattened
	// history is the last list of input messages that had the newest shape already, of this span or one before it.
	history string
	// free is the rest of a block of memory, in which JSON is put together and stays: see room and keep.
	free []byte
	// trace, if set, is called with the source of each target.
	trace func(target, source string)
}

func (x *span) reset(s ptrace.Span, scope *scopeInfo, resource pcommon.Map, found dialectSet) {
	x.Span, x.attrs, x.scope, x.resource, x.found = s, s.Attributes(), scope, resource, found
	x.kind, x.fromLog, x.exclusive, x.keys = "", false, false, allKeys
	for to := range x.best {
		x.best[to].kind = none
	}
	x.flat.reset()
}

// release lets go of the values of a batch.
func (x *span) release() {
	x.flat.release()
	clear(x.known)
	*x = span{flat: x.flat, free: x.free, known: x.known}
	const maxKnown = 1 << 10
	if cap(x.known) > maxKnown {
		x.known = nil
	}
}

// blockSize is the memory that is asked for at once. Strings of a batch that stand in one block cost less than separate
// allocations, and one that outlives the others keeps no more than this in memory.
const blockSize = 1 << 16

// room is an empty buffer for about n bytes. Only one is used at a time; what is put together in it is lost with the next
// unless keep is called.
func (x *span) room(n int) []byte {
	if cap(x.free) < n {
		var block strings.Builder // it does not clear what it asks for
		block.Grow(max(n, blockSize))
		block.WriteByte(0)                                                        // so that it has an address
		x.free = unsafe.Slice(unsafe.StringData(block.String()), block.Cap())[:0] //nolint:gosec // nobody else has the block
	}
	return x.free
}

// keep is what was put together in room, as a string.
func (x *span) keep(b []byte) string {
	if cap(b) != cap(x.free) { // it has grown out of the block, by doubling
		return string(b)
	}
	x.free = x.free[len(b):len(b)]
	return aliasOf(b)
}

// gather reads every attribute once and keeps the best candidate of each target.
func (x *span) gather(uses map[string][]use) {
	apply := x.found | setOf(otelGenAI, otelGenAIOld, generic)
	x.keys = 0
	i := -1
	for key, value := range x.attrs.All() {
		i++
		k := &x.known[i]
		if !k.isRead {
			k.isRead, k.uses, k.indexedKey = true, uses[key], indexedKeyOf(key)
		}
		if k.indexedKey.list != notFlat {
			x.flat.add(&k.indexedKey, value)
			continue
		}
		x.keys |= 1 << (len(key) % wordBits)
		for _, u := range k.uses {
			if u.dialect != own && !apply.has(u.dialect) {
				continue
			}
			if best := &x.best[u.to]; (best.kind == none || u.rank < best.rank) && usable(value, u.as) {
				*best = candidate{value: value, source: key, as: u.as, kind: fromAttribute, rank: u.rank}
			}
		}
	}
}

// usable tells whether a value says anything: instrumentations write empty strings, -1 and empty lists for "not set".
func usable(v pcommon.Value, as form) bool {
	switch v.Type() {
	case pcommon.ValueTypeEmpty:
		return false
	case pcommon.ValueTypeStr:
		s := v.Str()
		switch as {
		case asCount:
			_, ok := parseCount(s)
			return ok
		case asNumber, asSeconds, asMillis:
			_, ok := parseNumber(s)
			return ok
		case asMetadata:
			return strings.HasPrefix(strings.TrimSpace(s), "{")
		default:
			return s != "" && s != "null"
		}
	case pcommon.ValueTypeInt:
		return as != asCount || v.Int() >= 0
	case pcommon.ValueTypeDouble:
		if as == asCount {
			_, ok := countOf(v.Double())
			return ok
		}
		return isFinite(v.Double())
	case pcommon.ValueTypeSlice:
		return v.Slice().Len() > 0 && as != asCount && as != asNumber && as != asWord
	case pcommon.ValueTypeMap:
		return as != asCount && as != asNumber && as != asWord
	default:
		return as != asCount && as != asNumber
	}
}

// offer proposes a value of a dialect, for a target that no better one has.
func (x *span) offer(to target, id dialectID, kind candidateKind, text, source string) {
	if text == "" || text == "null" && kind == fromJSON {
		return
	}
	rank := uint16(rankDialect + int(id)*rankStep + rankStep - 1)
	if best := &x.best[to]; best.kind == none || rank < best.rank {
		*best = candidate{text: text, source: source, as: fields[to].form, kind: kind, rank: rank}
	}
}

// insist proposes a JSON value that wins over the target's own attribute.
func (x *span) insist(to target, id dialectID, text, source string) {
	if text == "" || text == "null" {
		return
	}
	if best := &x.best[to]; best.kind == none || uint16(id) < best.rank {
		*best = candidate{text: text, source: source, as: fields[to].form, kind: fromJSON, rank: uint16(id)}
	}
}

// has tells whether a target has a candidate.
func (x *span) has(to target) bool { return x.best[to].kind != none }

// text is the candidate of a target as text, "" where there is none.
func (x *span) text(to target) string { return x.best[to].plain() }

const (
	wordBits = 64
	allKeys  = ^uint64(0)
)

// get is an attribute without an index in its key.
func (x *span) get(key string) (pcommon.Value, bool) {
	if x.keys&(1<<(len(key)%wordBits)) == 0 {
		return pcommon.Value{}, false
	}
	return x.attrs.Get(key)
}

// str is a string attribute, "" where there is none.
func (x *span) str(key string) string {
	if v, ok := x.get(key); ok && v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	return ""
}

// plainStr is a string attribute without the quotes that an exporter of JSON puts around it.
func (x *span) plainStr(key string) string { return unquoted(x.str(key)) }

func unquoted(s string) string {
	if len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' {
		if plain, ok := jsonString(s); ok {
			return plain
		}
	}
	return s
}

// plain is a candidate as text: a string as it is, anything else as JSON.
func (c *candidate) plain() string {
	switch c.kind {
	case none:
		return ""
	case fromAttribute:
		return plainOf(c.value, c.as)
	case fromJSON:
		if plain, ok := jsonString(c.text); ok {
			return plain
		}
	}
	return c.text
}

func plainOf(v pcommon.Value, as form) string {
	if v.Type() != pcommon.ValueTypeStr {
		return valueText(v)
	}
	if as == asWord || as == asOperation || as == asProvider {
		return unquoted(v.Str())
	}
	return v.Str()
}

// valueText is a value as text: JSON unless it is a string.
func valueText(v pcommon.Value) string {
	if v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	if v.Type() == pcommon.ValueTypeDouble && !isFinite(v.Double()) {
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	}
	return v.AsString()
}

// count is a candidate as a count.
func (x *span) count(to target) (int64, bool) {
	c := &x.best[to]
	switch c.kind {
	case none:
		return 0, false
	case fromAttribute:
		switch c.value.Type() {
		case pcommon.ValueTypeInt:
			return c.value.Int(), true
		case pcommon.ValueTypeDouble:
			return countOf(c.value.Double())
		}
	}
	return parseCount(c.plain())
}

// number is a candidate as a number.
func (x *span) number(to target) (float64, bool) {
	c := &x.best[to]
	var f float64
	switch {
	case c.kind == none:
		return 0, false
	case c.kind == fromAttribute && c.value.Type() == pcommon.ValueTypeInt:
		f = float64(c.value.Int())
	case c.kind == fromAttribute && c.value.Type() == pcommon.ValueTypeDouble:
		f = c.value.Double()
	default:
		var ok bool
		if f, ok = parseNumber(c.plain()); !ok {
			return 0, false
		}
	}
	if c.as == asMillis {
		const millisPerSecond = 1000
		f /= millisPerSecond
	}
	return f, isFinite(f)
}

// put writes a target's attribute. Of a value that the span came with under the same key, the original is kept.
func (x *span) putString(to target, value string) {
	key := fields[to].key
	if old, ok := x.attrs.GetOrPutEmpty(key); !ok {
		old.SetStr(value)
	} else {
		if old.Type() == pcommon.ValueTypeStr && old.Str() == value {
			return
		}
		x.keepOriginal(key, old)
		x.attrs.PutStr(key, value)
	}
	x.traceSource(to)
}

func (x *span) putCount(to target, value int64) {
	key := fields[to].key
	if old, ok := x.attrs.GetOrPutEmpty(key); !ok {
		old.SetInt(value)
	} else {
		if old.Type() == pcommon.ValueTypeInt && old.Int() == value {
			return
		}
		x.keepOriginal(key, old)
		x.attrs.PutInt(key, value)
	}
	x.traceSource(to)
}

func (x *span) putNumber(to target, value float64) {
	key := fields[to].key
	if old, ok := x.attrs.GetOrPutEmpty(key); !ok {
		old.SetDouble(value)
	} else {
		if old.Type() == pcommon.ValueTypeDouble && old.Double() == value ||
			old.Type() == pcommon.ValueTypeInt && float64(old.Int()) == value {
			return
		}
		x.keepOriginal(key, old)
		x.attrs.PutDouble(key, value)
	}
	x.traceSource(to)
}

func (x *span) putBool(to target, value bool) {
	key := fields[to].key
	if old, ok := x.attrs.GetOrPutEmpty(key); !ok {
		old.SetBool(value)
	} else {
		if old.Type() == pcommon.ValueTypeBool && old.Bool() == value {
			return
		}
		x.keepOriginal(key, old)
		x.attrs.PutBool(key, value)
	}
	x.traceSource(to)
}

func (x *span) putStrings(to target, list []string) {
	key := fields[to].key
	if old, ok := x.attrs.Get(key); ok {
		if sameStrings(old, list) {
			return
		}
		x.keepOriginal(key, old)
	}
	slice := x.attrs.PutEmptySlice(key)
	slice.EnsureCapacity(len(list))
	for _, s := range list {
		slice.AppendEmpty().SetStr(s)
	}
	x.traceSource(to)
}

func sameStrings(v pcommon.Value, list []string) bool {
	if v.Type() != pcommon.ValueTypeSlice || v.Slice().Len() != len(list) {
		return false
	}
	for i, s := range list {
		if e := v.Slice().At(i); e.Type() != pcommon.ValueTypeStr || e.Str() != s {
			return false
		}
	}
	return true
}

// keepOriginal keeps a value that is about to be replaced. Of a second replacement the first original stays.
func (x *span) keepOriginal(key string, old pcommon.Value) {
	original := keyOriginalPrefix + key
	if _, ok := x.attrs.Get(original); ok {
		return
	}
	kept := pcommon.NewValueEmpty()
	old.CopyTo(kept)
	kept.CopyTo(x.attrs.PutEmpty(original))
}

func (x *span) traceSource(to target) {
	if x.trace != nil {
		x.trace(fields[to].key, x.best[to].source)
	}
}

// apply writes the targets for which a candidate was found.
func (x *span) apply() {
	x.applyUsage()
	x.applyProvider()
	for to := range targetCount {
		c := &x.best[to]
		if c.kind == none || fields[to].key == "" && to != toMetadata {
			continue
		}
		switch fields[to].form {
		case asString, asWord, asText:
			x.applyText(to, c)
		case asNumber, asSeconds:
			if f, ok := x.number(to); ok && (f >= 0 || to != toCost && to != toTimeToFirstChunk) {
				x.putNumber(to, f)
			}
		case asCount:
			if n, ok := x.count(to); ok {
				x.putCount(to, n)
			}
		case asStrings:
			if list := stringsOf(c); len(list) > 0 {
				x.putStrings(to, list)
			}
		case asBool:
			if b, ok := boolOf(c); ok {
				x.putBool(to, b)
			}
		case asMessages, asAnswer:
			x.applyMessages(to, c)
		case asParts:
			x.applyInstructions(c)
		case asTools:
			x.applyTools(c)
		case asJSON:
			x.applyDocuments(c)
		case asAny:
			x.applyAny(to, c)
		case asMetadata:
			x.applyMetadata(c)
		}
	}
}

func (x *span) applyText(to target, c *candidate) {
	if text := c.plain(); text != "" {
		x.putString(to, text)
	}
}

// applyAny writes a tool's arguments or result: a value as it was received, or JSON text.
func (x *span) applyAny(to target, c *candidate) {
	if c.kind != fromAttribute {
		x.putString(to, c.plain())
		return
	}
	if c.source == fields[to].key {
		return
	}
	if c.value.Type() == pcommon.ValueTypeStr {
		x.putString(to, c.value.Str())
		return
	}
	kept := pcommon.NewValueEmpty()
	c.value.CopyTo(kept)
	kept.CopyTo(x.attrs.PutEmpty(fields[to].key))
	x.traceSource(to)
}

func (x *span) applyMetadata(c *candidate) {
	o, ok := parseObject(c.plain())
	if !ok {
		return
	}
	for _, m := range o {
		if len(m.key) == 0 || len(m.key) > maxMetadataKey {
			continue
		}
		key := runmodel.KeyMetadataPrefix + m.key
		if _, exists := x.attrs.Get(key); exists {
			continue
		}
		if plain, isString := jsonString(m.value); isString {
			x.attrs.PutStr(key, plain)
		} else {
			x.attrs.PutStr(key, m.value)
		}
	}
}

const maxMetadataKey = 256
