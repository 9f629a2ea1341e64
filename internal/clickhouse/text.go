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

// texts is a column of lists of strings, which are sent as those of text.
type texts struct {
	// ends is, for each list, how many strings it and those before it have.
	ends proto.ColUInt64
	text
}

// Type is Array(String).
func (*texts) Type() proto.ColumnType { return proto.ColumnTypeArray.Sub(proto.ColumnTypeString) }

// Rows is how many lists the column has.
func (t *texts) Rows() int { return len(t.ends) }

func (t *texts) append(list []string) {
	t.values = append(t.values, list...)
	t.ends = append(t.ends, uint64(len(t.values)))
}

func (t *texts) reset() {
	t.text.reset()
	t.ends = t.ends[:0]
}

// EncodeColumn writes the lists into memory, where they are compressed.
func (t *texts) EncodeColumn(b *proto.Buffer) {
	t.ends.EncodeColumn(b)
	t.text.EncodeColumn(b)
}

// WriteColumn sends the lists.
func (t *texts) WriteColumn(w *proto.Writer) {
	t.ends.WriteColumn(w)
	t.text.WriteColumn(w)
}

// dictionary is a column LowCardinality(String). Most values are those of a row or two before; ch-go's own looks all of
// them up.
type dictionary struct {
	proto.ColLowCardinalityRaw

	index *proto.ColStr
	words []string
	place map[string]uint32
	// keys are the places of the rows' words; last and before are the two newest different ones.
	keys         []uint32
	last, before uint32
}

func newDictionary() *dictionary {
	index := new(proto.ColStr)
	return &dictionary{ColLowCardinalityRaw: proto.ColLowCardinalityRaw{Index: index}, index: index, place: map[string]uint32{}}
}

// Rows is how many values the column has.
func (d *dictionary) Rows() int { return len(d.keys) }

func (d *dictionary) append(value string) {
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

func (d *dictionary) reset() {
	d.Reset()
	clear(d.place)
	clear(d.words)
	d.words, d.keys, d.last, d.before = d.words[:0], d.keys[:0], 0, 0
}

// Prepare makes the keys as wide as they must be.
func (d *dictionary) Prepare() error {
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

// wordLists is a column of lists of words. Unlike ch-go's it lets go of what it held: a word may be part of a record of the
// queue, of which all would stay.
type wordLists struct {
	ends proto.ColUInt64
	*dictionary
}

// Type is Array(LowCardinality(String)).
func (l *wordLists) Type() proto.ColumnType { return proto.ColumnTypeArray.Sub(l.dictionary.Type()) }

// Rows is how many lists the column has.
func (l *wordLists) Rows() int { return len(l.ends) }

func (l *wordLists) append(list []string) {
	for _, word := range list {
		l.dictionary.append(word)
	}
	l.ends = append(l.ends, uint64(l.dictionary.Rows()))
}

func (l *wordLists) reset() {
	l.dictionary.reset()
	l.ends = l.ends[:0]
}

// EncodeColumn writes the lists into memory, where they are compressed.
func (l *wordLists) EncodeColumn(b *proto.Buffer) {
	l.ends.EncodeColumn(b)
	l.dictionary.EncodeColumn(b)
}

// WriteColumn sends the lists.
func (l *wordLists) WriteColumn(w *proto.Writer) {
	l.ends.WriteColumn(w)
	l.dictionary.WriteColumn(w)
}

// textMaps is a column of maps from words to strings.
type textMaps struct {
	keys   wordLists
	values text
}

// Type is Map(LowCardinality(String), String).
func (m *textMaps) Type() proto.ColumnType {
	return proto.ColumnTypeMap.Sub(m.keys.dictionary.Type(), m.values.Type())
}

// Rows is how many maps the column has.
func (m *textMaps) Rows() int { return m.keys.Rows() }

func (m *textMaps) append(texts map[string]string) {
	for key, value := range texts {
		m.keys.dictionary.append(key)
		m.values.append(value)
	}
	m.keys.append(nil)
}

func (m *textMaps) reset() {
	m.keys.reset()
	m.values.reset()
}

// EncodeState writes what stands before the column.
func (m *textMaps) EncodeState(b *proto.Buffer) { m.keys.EncodeState(b) }

// Prepare makes the keys as wide as they must be.
func (m *textMaps) Prepare() error { return m.keys.Prepare() }

// EncodeColumn writes the maps into memory, where they are compressed.
func (m *textMaps) EncodeColumn(b *proto.Buffer) {
	m.keys.EncodeColumn(b)
	m.values.EncodeColumn(b)
}

// WriteColumn sends the maps.
func (m *textMaps) WriteColumn(w *proto.Writer) {
	m.keys.WriteColumn(w)
	m.values.WriteColumn(w)
}
