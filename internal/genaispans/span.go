package genaispans

import (
	"strconv"
	"strings"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// candidate is a possible value of a target.
type candidate struct {
	// value is the received attribute. If it is unset, text is the value as JSON or plain text.
	value pcommon.Value
	text  string
	n     int64
	// source is the key of the attribute or event that the value comes from.
	source string
	as     form
	kind   candidateKind
	// isWhole is true for input tokens that are known to include cached ones.
	isWhole bool
	rank    uint16
}

type candidateKind uint8

const (
	none candidateKind = iota
	fromAttribute
	fromJSON      // text is JSON
	fromText      // text is plain
	fromCanonical // text has the target's format already
	fromCount     // n is the value
)

// span is the state of one span during the mapping. It is reused for the next span to avoid allocations.
type span struct {
	ptrace.Span
	attrs    pcommon.Map
	scope    *scopeInfo
	resource pcommon.Map
	found    dialectSet
	kind     string
	// fromLog is true for a span that was made from log records. The actual span states its kind.
	fromLog bool
	// recordOf is the kind of the call that the log records name, empty if they belong to their span.
	recordOf string
	// keys has a bit for the length of each key without an index. It rules out most lookups of absent keys.
	keys uint64
	// known caches what the span's keys imply, in their order.
	known []knownKey
	// exclusive is true if the input tokens exclude cached ones.
	exclusive bool
	best      [targetCount]candidate
	flat      flattened
	// usage are the counts of tokens and the costs in attributes that no rule reads.
	usage []usageEntry
	// toolUse are the tokens of results of tools that the input tokens exclude.
	toolUse int64
	// history is the last list of input messages in the newest format, of this span or an earlier one.
	history string
	// free is the unused rest of a block of memory for JSON: see buffer and keep.
	free []byte
	// added are the attributes that the mapping added. lists caches the lists of their keys.
	added addedSet
	lists map[addedSet]string
	// trace, if set, is called with the source of each target.
	trace func(target, source string)
}

func (x *span) reset(s ptrace.Span, scope *scopeInfo, resource pcommon.Map, found dialectSet) {
	x.Span, x.attrs, x.scope, x.resource, x.found = s, s.Attributes(), scope, resource, found
	x.kind, x.fromLog, x.recordOf, x.exclusive, x.keys, x.added = "", false, "", false, allKeys, addedSet{}
	for to := range x.best {
		x.best[to].kind = none
	}
	x.flat.reset()
	x.usage, x.toolUse = x.usage[:0], 0
}

// release drops references to the values of a batch.
func (x *span) release() {
	x.flat.release()
	clear(x.known)
	clear(x.usage[:cap(x.usage)])
	*x = span{flat: x.flat, usage: x.usage[:0], free: x.free, known: x.known, lists: x.lists}
	const maxKnown = 1 << 10
	if cap(x.known) > maxKnown {
		x.known = nil
	}
}

// blockSize is the size of an allocation for several strings. Strings in one block cost less than separate
// allocations. A string that outlives the others retains at most this much memory.
const blockSize = 1 << 16

// buffer returns an empty buffer for about n bytes. There is only one: the next call reuses it unless keep is called.
func (x *span) buffer(n int) []byte {
	if cap(x.free) < n {
		var block strings.Builder // does not clear its memory
		block.Grow(max(n, blockSize))
		block.WriteByte(0)                                                        // forces the allocation
		x.free = unsafe.Slice(unsafe.StringData(block.String()), block.Cap())[:0] //nolint:gosec // nothing else refers to the block
	}
	return x.free
}

// keep returns bytes that were written into the buffer as a string.
func (x *span) keep(b []byte) string {
	if cap(b) != cap(x.free) { // append has reallocated it
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
			k.usage = usageKey{}
			if k.uses == nil {
				k.usage = usageKeyOf(key)
			}
		}
		if k.indexedKey.list != notFlat {
			x.flat.add(&k.indexedKey, value)
			continue
		}
		x.keys |= 1 << (len(key) % wordBits)
		if k.usage.name != "" {
			x.usage = append(x.usage, usageEntry{&k.usage, value})
			continue
		}
		for _, u := range k.uses {
			if u.dialect != standard && !apply.has(u.dialect) {
				continue
			}
			// Of two attributes with one key, the last wins, as it does in the store.
			if best := &x.best[u.to]; (best.kind == none || u.rank <= best.rank) && usable(value, u.as) {
				*best = candidate{value: value, source: key, as: u.as, kind: fromAttribute, rank: u.rank}
			}
		}
	}
}

// usable reports whether a value is set. Instrumentations write empty strings, -1 and empty lists for "not set".
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
		return v.Slice().Len() > 0 && as != asCount && as != asNumber && as != asName
	case pcommon.ValueTypeMap:
		return as != asCount && as != asNumber && as != asName
	default:
		return as != asCount && as != asNumber
	}
}

// offer proposes a dialect's value for a target. It is used if no candidate ranks higher.
func (x *span) offer(to target, id dialectID, kind candidateKind, text, source string) {
	if text == "" || text == "null" && kind == fromJSON {
		return
	}
	rank := uint16(rankDialect + int(id)*rankStep + rankStep - 1)
	if best := &x.best[to]; best.kind == none || rank < best.rank {
		*best = candidate{text: text, source: source, as: fields[to].form, kind: kind, rank: rank}
	}
}

// override proposes a JSON value that wins over the target's own attribute.
func (x *span) override(to target, id dialectID, text, source string) {
	if text == "" || text == "null" {
		return
	}
	if best := &x.best[to]; best.kind == none || uint16(id) < best.rank {
		*best = candidate{text: text, source: source, as: fields[to].form, kind: fromJSON, rank: uint16(id)}
	}
}

// has reports whether a target has a candidate.
func (x *span) has(to target) bool { return x.best[to].kind != none }

// text returns the candidate of a target as text, "" if there is none.
func (x *span) text(to target) string { return x.best[to].plain() }

const (
	wordBits = 64
	allKeys  = ^uint64(0)
)

// get returns an attribute. It does not find keys with an index.
func (x *span) get(key string) (pcommon.Value, bool) {
	if x.keys&(1<<(len(key)%wordBits)) == 0 {
		return pcommon.Value{}, false
	}
	return x.attrs.Get(key)
}

// str returns a string attribute, "" if there is none.
func (x *span) str(key string) string {
	if v, ok := x.get(key); ok && v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	return ""
}

// plainStr returns a string attribute without JSON quotes that an exporter has added.
func (x *span) plainStr(key string) string { return unquoted(x.str(key)) }

func unquoted(s string) string {
	if len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' {
		if plain, ok := jsonString(s); ok {
			return plain
		}
	}
	return s
}

// plain returns a candidate as text: a string unchanged, anything else as JSON.
func (c *candidate) plain() string {
	switch c.kind {
	case none:
		return ""
	case fromAttribute:
		return plainOf(c.value, c.as)
	case fromCount:
		return strconv.FormatInt(c.n, 10)
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
	if as == asName || as == asOperation || as == asProvider {
		return unquoted(v.Str())
	}
	return v.Str()
}

// valueText returns a value as text: a string unchanged, anything else as JSON.
func valueText(v pcommon.Value) string {
	if v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	if v.Type() == pcommon.ValueTypeDouble && !isFinite(v.Double()) {
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	}
	return v.AsString()
}

// count returns a candidate as a count.
func (x *span) count(to target) (int64, bool) {
	c := &x.best[to]
	switch c.kind {
	case none:
		return 0, false
	case fromCount:
		return c.n, true
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

// number returns a candidate as a number.
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

// putString writes a target's attribute. It keeps a different received value under the original key.
func (x *span) putString(to target, value string) {
	key := fields[to].key
	if old, ok := x.attrs.GetOrPutEmpty(key); !ok {
		old.SetStr(value)
		x.added.add(uint(to))
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
		x.added.add(uint(to))
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
		x.added.add(uint(to))
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
		x.added.add(uint(to))
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
	} else {
		x.added.add(uint(to))
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

// keepOriginal keeps a value before its replacement. Only the first original is kept.
func (x *span) keepOriginal(key string, old pcommon.Value) {
	original := runmodel.KeyOriginalPrefix + key
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

// apply writes the targets that have a candidate.
func (x *span) apply() {
	x.applyUsage()
	x.applyProvider()
	for to := range targetCount {
		c := &x.best[to]
		if c.kind == none || fields[to].key == "" && to != toMetadata {
			continue
		}
		switch fields[to].form {
		case asString, asName, asText:
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

// applyAny writes a tool's arguments or result: the received value, or JSON text.
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
	if old, ok := x.attrs.Get(fields[to].key); ok {
		x.keepOriginal(fields[to].key, old)
	} else {
		x.added.add(uint(to))
	}
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
