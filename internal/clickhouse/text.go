package clickhouse

import (
	"math"
	"slices"
	"unsafe"

	"github.com/ClickHouse/ch-go/proto"
)

// text is a column of strings. It refers to the strings until they are sent. ch-go's own column copies them, and
// copies them again when it writes them.
type text struct{ values []string }

// Type is String.
func (*text) Type() proto.ColumnType { return proto.ColumnTypeString }

// Rows returns the number of values.
func (t *text) Rows() int { return len(t.values) }

func (t *text) append(value string) { t.values = append(t.values, value) }

func (t *text) reset() {
	clear(t.values) // releases the batch that they refer to
	t.values = t.values[:0]
}

// EncodeColumn writes the values to memory, where they are compressed.
func (t *text) EncodeColumn(b *proto.Buffer) {
	for _, value := range t.values {
		b.PutString(value)
	}
}

// sentInPlace is the size in bytes from which a value is sent without a copy. For smaller ones a system call with
// many pieces takes longer than the copies.
const sentInPlace = 1 << 10

// WriteColumn sends the values.
func (t *text) WriteColumn(w *proto.Writer) {
	w.ChainBuffer(t.reserve)
	rest := t.values
	for len(rest) > 0 {
		w.ChainBuffer(func(b *proto.Buffer) {
			for i, value := range rest {
				if len(value) >= sentInPlace {
					b.PutLen(len(value))
					rest = rest[i:]
					return
				}
				b.PutString(value)
			}
			rest = nil
		})
		if len(rest) > 0 {
			w.ChainWrite(unsafe.Slice(unsafe.StringData(rest[0]), len(rest[0]))) //nolint:gosec // read only
			rest = rest[1:]
		}
	}
}

// reserve makes room for the values that are copied. A buffer that grows value by value is copied again and again.
func (t *text) reserve(b *proto.Buffer) {
	size := 0
	for _, value := range t.values {
		size += 2 // the length below 1 << 14
		if len(value) < sentInPlace {
			size += len(value)
		}
	}
	b.Buf = slices.Grow(b.Buf, size)
}

// stringTable is a LowCardinality(String) column. Most values repeat one of the last two distinct ones, so it
// compares with those first. ch-go's own column looks up every value.
type stringTable struct {
	proto.ColLowCardinalityRaw

	index   *proto.ColStr
	values  []string
	indexes map[string]uint32
	// keys are the indexes of the rows' values. last and before are the indexes of the two latest distinct values.
	keys         []uint32
	last, before uint32
}

func newStringTable() *stringTable {
	index := new(proto.ColStr)
	return &stringTable{ColLowCardinalityRaw: proto.ColLowCardinalityRaw{Index: index}, index: index, indexes: map[string]uint32{}}
}

// Rows returns the number of values.
func (d *stringTable) Rows() int { return len(d.keys) }

func (d *stringTable) append(value string) {
	if len(d.values) > 0 {
		switch value {
		case d.values[d.last]:
			d.keys = append(d.keys, d.last)
			return
		case d.values[d.before]:
			d.last, d.before = d.before, d.last
			d.keys = append(d.keys, d.last)
			return
		}
	}
	key, ok := d.indexes[value]
	if !ok {
		key = uint32(len(d.values)) // an insert has fewer rows
		d.indexes[value] = key
		d.values = append(d.values, value)
		d.index.Append(value)
	}
	d.last, d.before = key, d.last
	d.keys = append(d.keys, key)
}

func (d *stringTable) reset() {
	d.Reset()
	clear(d.indexes)
	clear(d.values)
	d.values, d.keys, d.last, d.before = d.values[:0], d.keys[:0], 0, 0
}

// Prepare makes the keys as wide as they must be.
func (d *stringTable) Prepare() error {
	switch n := len(d.values); {
	case n <= math.MaxUint8+1:
		d.Key, d.Keys8 = proto.KeyUInt8, narrowed(d.Keys8, d.keys)
	case n <= math.MaxUint16+1:
		d.Key, d.Keys16 = proto.KeyUInt16, narrowed(d.Keys16, d.keys)
	default:
		d.Key, d.Keys32 = proto.KeyUInt32, narrowed(d.Keys32, d.keys)
	}
	return nil
}

func narrowed[K ~[]N, N uint8 | uint16 | uint32](to K, keys []uint32) K {
	to = to[:0]
	for _, key := range keys {
		to = append(to, N(key))
	}
	return to
}

// stringColumn is a column of strings: text or stringTable.
type stringColumn interface {
	proto.ColInput
	append(value string)
	reset()
}

// lists is a column of lists of strings. Unlike ch-go's, it releases its strings on reset: a string may be part of a
// record of the queue and keep all of it in memory.
type lists[C stringColumn] struct {
	// ends holds for each list the number of strings up to its end.
	ends    proto.ColUInt64
	strings C
}

// Type is Array(String) or Array(LowCardinality(String)).
func (l *lists[C]) Type() proto.ColumnType { return proto.ColumnTypeArray.Sub(l.strings.Type()) }

// Rows returns the number of lists.
func (l *lists[C]) Rows() int { return len(l.ends) }

func (l *lists[C]) append(list []string) {
	for _, value := range list {
		l.strings.append(value)
	}
	l.end()
}

// end ends the list of the strings that were appended.
func (l *lists[C]) end() { l.ends = append(l.ends, uint64(l.strings.Rows())) }

func (l *lists[C]) reset() {
	l.strings.reset()
	l.ends = l.ends[:0]
}

// EncodeState writes what precedes the column.
func (l *lists[C]) EncodeState(b *proto.Buffer) {
	if state, ok := any(l.strings).(proto.StateEncoder); ok {
		state.EncodeState(b)
	}
}

// Prepare makes keys as wide as they must be.
func (l *lists[C]) Prepare() error {
	if keys, ok := any(l.strings).(proto.Preparable); ok {
		return keys.Prepare()
	}
	return nil
}

// EncodeColumn writes the lists to memory, where they are compressed.
func (l *lists[C]) EncodeColumn(b *proto.Buffer) {
	l.ends.EncodeColumn(b)
	l.strings.EncodeColumn(b)
}

// WriteColumn sends the lists.
func (l *lists[C]) WriteColumn(w *proto.Writer) {
	l.ends.WriteColumn(w)
	l.strings.WriteColumn(w)
}

// textMaps is a column of maps: a list of low-cardinality keys and one of values.
type textMaps struct {
	lists[*stringTable]

	values text
}

func newTextMaps() *textMaps { return &textMaps{lists: lists[*stringTable]{strings: newStringTable()}} }

// Type is Map(LowCardinality(String), String).
func (m *textMaps) Type() proto.ColumnType {
	return proto.ColumnTypeMap.Sub(m.strings.Type(), m.values.Type())
}

func (m *textMaps) append(texts map[string]string) {
	for key, value := range texts {
		m.strings.append(key)
		m.values.append(value)
	}
	m.end()
}

func (m *textMaps) reset() {
	m.lists.reset()
	m.values.reset()
}

// EncodeColumn writes the maps to memory, where they are compressed.
func (m *textMaps) EncodeColumn(b *proto.Buffer) {
	m.lists.EncodeColumn(b)
	m.values.EncodeColumn(b)
}

// WriteColumn sends the maps.
func (m *textMaps) WriteColumn(w *proto.Writer) {
	m.lists.WriteColumn(w)
	m.values.WriteColumn(w)
}
