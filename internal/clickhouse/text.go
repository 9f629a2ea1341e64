package clickhouse

import (
	"math"
	"slices"
	"unsafe"

	"github.com/ClickHouse/ch-go/proto"
)

// text is a column of strings. It refers to them until they are sent; ch-go's own copies them, and once more when it
// writes them.
type text struct{ values []string }

// Type is String.
func (*text) Type() proto.ColumnType { return proto.ColumnTypeString }

// Rows is how many values the column has.
func (t *text) Rows() int { return len(t.values) }

func (t *text) append(value string) { t.values = append(t.values, value) }

func (t *text) reset() {
	clear(t.values) // what they refer to is a batch
	t.values = t.values[:0]
}

// EncodeColumn writes the values into memory, where they are compressed.
func (t *text) EncodeColumn(b *proto.Buffer) {
	for _, value := range t.values {
		b.PutString(value)
	}
}

// sentInPlace is from how many bytes on a value is sent from where it is. The system call takes longer for many pieces
// than copying shorter ones.
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
			w.ChainWrite(unsafe.Slice(unsafe.StringData(rest[0]), len(rest[0]))) //nolint:gosec // it is only read
			rest = rest[1:]
		}
	}
}

// reserve makes room for what is copied of the values. A buffer that grows value by value is copied again and again.
func (t *text) reserve(b *proto.Buffer) {
	size := 0
	for _, value := range t.values {
		size += 2 // of a length below 1 << 14
		if len(value) < sentInPlace {
			size += len(value)
		}
	}
	b.Buf = slices.Grow(b.Buf, size)
}

// stringTable is a column LowCardinality(String). Most values are those of a row or two before; ch-go's own looks all of
// them up.
type stringTable struct {
	proto.ColLowCardinalityRaw

	index *proto.ColStr
	words []string
	place map[string]uint32
	// keys are the places of the rows' words; last and before are the two newest different ones.
	keys         []uint32
	last, before uint32
}

func newStringTable() *stringTable {
	index := new(proto.ColStr)
	return &stringTable{ColLowCardinalityRaw: proto.ColLowCardinalityRaw{Index: index}, index: index, place: map[string]uint32{}}
}

// Rows is how many values the column has.
func (d *stringTable) Rows() int { return len(d.keys) }

func (d *stringTable) append(value string) {
	if len(d.words) > 0 {
		switch value {
		case d.words[d.last]:
			d.keys = append(d.keys, d.last)
			return
		case d.words[d.before]:
			d.last, d.before = d.before, d.last
			d.keys = append(d.keys, d.last)
			return
		}
	}
	key, ok := d.place[value]
	if !ok {
		key = uint32(len(d.words)) // an insert has fewer rows
		d.place[value] = key
		d.words = append(d.words, value)
		d.index.Append(value)
	}
	d.last, d.before = key, d.last
	d.keys = append(d.keys, key)
}

func (d *stringTable) reset() {
	d.Reset()
	clear(d.place)
	clear(d.words)
	d.words, d.keys, d.last, d.before = d.words[:0], d.keys[:0], 0, 0
}

// Prepare makes the keys as wide as they must be.
func (d *stringTable) Prepare() error {
	switch n := len(d.words); {
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

// stringColumn is a column of strings: text or dictionary.
type stringColumn interface {
	proto.ColInput
	append(value string)
	reset()
}

// lists is a column of lists of strings. Unlike those of ch-go it lets go of what it held when it is reset: a string may be
// part of a record of the queue, of which all would stay.
type lists[C stringColumn] struct {
	// ends is, for each list, how many strings it and those before it have.
	ends    proto.ColUInt64
	strings C
}

// Type is Array(String) or Array(LowCardinality(String)).
func (l *lists[C]) Type() proto.ColumnType { return proto.ColumnTypeArray.Sub(l.strings.Type()) }

// Rows is how many lists the column has.
func (l *lists[C]) Rows() int { return len(l.ends) }

func (l *lists[C]) append(list []string) {
	for _, value := range list {
		l.strings.append(value)
	}
	l.end()
}

// end ends the list of what was appended to strings.
func (l *lists[C]) end() { l.ends = append(l.ends, uint64(l.strings.Rows())) }

func (l *lists[C]) reset() {
	l.strings.reset()
	l.ends = l.ends[:0]
}

// EncodeState writes what stands before the column.
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

// EncodeColumn writes the lists into memory, where they are compressed.
func (l *lists[C]) EncodeColumn(b *proto.Buffer) {
	l.ends.EncodeColumn(b)
	l.strings.EncodeColumn(b)
}

// WriteColumn sends the lists.
func (l *lists[C]) WriteColumn(w *proto.Writer) {
	l.ends.WriteColumn(w)
	l.strings.WriteColumn(w)
}

// textMaps is a column of maps from words to strings: a list of keys and one of values.
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

// EncodeColumn writes the maps into memory, where they are compressed.
func (m *textMaps) EncodeColumn(b *proto.Buffer) {
	m.lists.EncodeColumn(b)
	m.values.EncodeColumn(b)
}

// WriteColumn sends the maps.
func (m *textMaps) WriteColumn(w *proto.Writer) {
	m.lists.WriteColumn(w)
	m.values.WriteColumn(w)
}
