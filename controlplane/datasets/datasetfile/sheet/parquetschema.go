package sheet

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
)

// schemaBuilder makes nodes of the elements of a schema, which are in the order of a walk through the tree.
type schemaBuilder struct {
	elements []format.SchemaElement
	at       int
	leaves   int
}

func (b *schemaBuilder) node(definition, repetition, depth int) (*parquetNode, error) {
	const deepest = 100
	if b.at >= len(b.elements) || depth > deepest {
		return nil, errors.New("it is damaged, or nests too deep")
	}
	isRoot := b.at == 0
	e := &b.elements[b.at]
	b.at++
	n := &parquetNode{name: e.Name, definition: definition, repetition: repetition, first: b.leaves}
	if !isRoot {
		switch e.RepetitionType.V {
		case format.Optional:
			n.optional = true
			n.definition++
		case format.Repeated:
			n.repeated = true
			n.definition++
			n.repetition++
		}
	}
	if e.Type.Valid {
		b.leaves++
		n.last = b.leaves
		n.leaf = leafOf(e)
		return n, nil
	}
	if e.NumChildren.V <= 0 && !isRoot {
		return nil, fmt.Errorf("%s has neither a type nor members", e.Name)
	}
	for range e.NumChildren.V {
		child, err := b.node(n.definition, n.repetition, depth+1)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, child)
	}
	n.last = b.leaves
	n.container(e)
	return n, nil
}

// container finds out whether a group is a list or a map. Older files have lists without a group for the element: see
// https://github.com/apache/parquet-format/blob/master/LogicalTypes.md#lists.
func (n *parquetNode) container(e *format.SchemaElement) {
	if len(n.children) != 1 || !n.children[0].repeated {
		return
	}
	_, isList := e.LogicalType.Value.(*format.ListType)
	_, isMap := e.LogicalType.Value.(*format.MapType)
	if c := e.ConvertedType; c.Valid {
		isList = isList || c.V == deprecated.List
		isMap = isMap || c.V == deprecated.Map || c.V == deprecated.MapKeyValue
	}
	child := n.children[0]
	switch {
	case isMap && len(child.children) == 2 && len(child.children[0].children) == 0:
		n.isMap = true
	case isList && len(child.children) == 1 && child.name != "array" && child.name != n.name+"_tuple":
		n.element = child.children[0]
	case isList:
		n.element = child
	}
}

// parquetLeaf writes the values of a column.
type parquetLeaf struct {
	kind    format.Type
	logical any
	scale   int
}

// leafOf returns how to write the values of a column. Files of older writers have converted types only.
func leafOf(e *format.SchemaElement) parquetLeaf {
	l := parquetLeaf{kind: e.Type.V, logical: e.LogicalType.Value, scale: int(e.Scale.V)}
	if d, ok := l.logical.(*format.DecimalType); ok {
		l.scale = int(d.Scale)
	}
	if l.logical != nil || !e.ConvertedType.Valid {
		return l
	}
	timestamp := func(unit format.TimeUnitValue) *format.TimestampType {
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: unit}}
	}
	switch e.ConvertedType.V {
	case deprecated.UTF8:
		l.logical = &format.StringType{}
	case deprecated.Enum:
		l.logical = &format.EnumType{}
	case deprecated.Json:
		l.logical = &format.JsonType{}
	case deprecated.Bson:
		l.logical = &format.BsonType{}
	case deprecated.Decimal:
		l.logical = &format.DecimalType{Scale: e.Scale.V}
	case deprecated.Date:
		l.logical = &format.DateType{}
	case deprecated.TimeMillis:
		l.logical = &format.TimeType{Unit: format.TimeUnit{Value: &format.MilliSeconds{}}}
	case deprecated.TimeMicros:
		l.logical = &format.TimeType{Unit: format.TimeUnit{Value: &format.MicroSeconds{}}}
	case deprecated.TimestampMillis:
		l.logical = timestamp(&format.MilliSeconds{})
	case deprecated.TimestampMicros:
		l.logical = timestamp(&format.MicroSeconds{})
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		l.logical = &format.IntType{}
	case deprecated.Interval:
		l.logical = interval{}
	}
	return l
}

// interval is a logical type that has no members.
type interval struct{}

func (l parquetLeaf) isText() bool {
	if l.kind != format.ByteArray {
		return false
	}
	switch l.logical.(type) {
	case nil, *format.StringType, *format.EnumType:
		return true
	}
	return false
}

// append appends a value as JSON: decimals as numbers with all digits, dates and times as in RFC 3339. A timestamp that
// is not in UTC has no zone.
func (l parquetLeaf) append(to []byte, v parquet.Value) ([]byte, *datasetfile.FieldError) {
	switch l.kind {
	case format.Boolean:
		return strconv.AppendBool(to, v.Boolean()), nil
	case format.Int32, format.Int64:
		i := v.Int64()
		if l.kind == format.Int32 {
			i = int64(v.Int32())
		}
		return l.integer(to, i), nil
	case format.Int96:
		return appendText(to, int96Time(v.Int96()).Format(time.RFC3339Nano)), nil
	case format.Float:
		return appendFloat(to, float64(v.Float()), 32)
	case format.Double:
		return appendFloat(to, v.Double(), 64)
	}
	return l.bytes(to, v.ByteArray())
}

func appendText(to []byte, s string) []byte { return datasetfile.AppendString(to, []byte(s)) }

func (l parquetLeaf) integer(to []byte, i int64) []byte {
	switch t := l.logical.(type) {
	case *format.DecimalType:
		return append(to, decimal(big.NewInt(i), l.scale)...)
	case *format.DateType:
		return appendText(to, time.Unix(0, 0).UTC().AddDate(0, 0, int(i)).Format(time.DateOnly))
	case *format.TimeType:
		return appendText(to, sinceEpoch(i, t.Unit).Format("15:04:05.999999999"))
	case *format.TimestampType:
		layout := "2006-01-02T15:04:05.999999999"
		if t.IsAdjustedToUTC {
			layout = time.RFC3339Nano
		}
		return appendText(to, sinceEpoch(i, t.Unit).Format(layout))
	case *format.IntType:
		if !t.IsSigned && l.kind == format.Int32 {
			return strconv.AppendUint(to, uint64(uint32(i)), 10)
		}
		if !t.IsSigned {
			return strconv.AppendUint(to, uint64(i), 10)
		}
	}
	return strconv.AppendInt(to, i, 10)
}

func sinceEpoch(i int64, unit format.TimeUnit) time.Time {
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		return time.UnixMilli(i).UTC()
	case *format.MicroSeconds:
		return time.UnixMicro(i).UTC()
	}
	return time.Unix(i/int64(time.Second), i%int64(time.Second)).UTC()
}

// int96Time returns a time as Spark and Impala write it: nanoseconds of a Julian day, in UTC.
func int96Time(v deprecated.Int96) time.Time {
	const unixEpoch = 2_440_588
	nanoseconds := int64(uint64(v[1])<<32 | uint64(v[0]))
	return time.Unix((int64(v[2])-unixEpoch)*24*60*60, nanoseconds).UTC()
}

func decimal(unscaled *big.Int, scale int) string {
	digits := new(big.Int).Abs(unscaled).String()
	const maxScale = 1000
	if scale > 0 && scale <= maxScale {
		if missing := scale + 1 - len(digits); missing > 0 {
			digits = strings.Repeat("0", missing) + digits
		}
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if unscaled.Sign() < 0 {
		return "-" + digits
	}
	return digits
}

func appendFloat(to []byte, f float64, bits int) ([]byte, *datasetfile.FieldError) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return to, &datasetfile.FieldError{Reason: "is " + strconv.FormatFloat(f, 'g', -1, bits) + ": JSON has no NaN and no Infinity; write null or a text"}
	}
	const least, most = 1e-6, 1e21
	notation := byte('f')
	if size := math.Abs(f); size != 0 && (size < least || size >= most) {
		notation = 'e'
	}
	return strconv.AppendFloat(to, f, notation, -1, bits), nil
}

func (l parquetLeaf) bytes(to, content []byte) ([]byte, *datasetfile.FieldError) {
	switch l.logical.(type) {
	case *format.DecimalType:
		unscaled := new(big.Int).SetBytes(content)
		if len(content) > 0 && content[0] >= 0x80 {
			unscaled.Sub(unscaled, new(big.Int).Lsh(big.NewInt(1), uint(8*len(content))))
		}
		return append(to, decimal(unscaled, l.scale)...), nil
	case *format.UUIDType:
		if len(content) == 16 {
			text := hex.EncodeToString(content)
			return appendText(to, strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")), nil
		}
	case *format.Float16Type:
		if len(content) == 2 {
			return appendFloat(to, float16(uint16(content[1])<<8|uint16(content[0])), 32)
		}
	case *format.JsonType:
		value, err := datasetfile.ParseJSON(string(content))
		if err != nil {
			return to, &datasetfile.FieldError{Reason: "has the type JSON, but " + err.Error(), Value: datasetfile.Shown(content)}
		}
		return append(to, value...), nil
	case nil, *format.StringType, *format.EnumType:
		if len(content) > datasetfile.MaxRow {
			return to, &datasetfile.FieldError{Reason: fmt.Sprintf("is longer than %d MiB", datasetfile.MaxRow>>20), Value: datasetfile.Shown(content)}
		}
		if utf8.Valid(content) {
			return datasetfile.AppendString(to, content), nil
		}
	}
	return to, &datasetfile.FieldError{Reason: "is binary, not text in UTF-8: leave the column out, or write it as text, such as Base64", Value: datasetfile.Shown(content)}
}

// float16 returns the value of a number of 16 bits as of IEEE 754.
func float16(bits uint16) float64 {
	const mantissaBits, maxExponent, bias = 10, 31, 15
	mantissa, exponent := float64(bits&0x3ff), int(bits>>mantissaBits)&maxExponent
	f := 0.0
	switch exponent {
	case 0:
		f = math.Ldexp(mantissa, 1-bias-mantissaBits)
	case maxExponent:
		f = math.Inf(1)
		if mantissa != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(mantissa+1<<mantissaBits, exponent-bias-mantissaBits)
	}
	if bits&0x8000 != 0 {
		f = -f
	}
	return f
}

// parquetNode is a node of the schema.
type parquetNode struct {
	name               string
	optional, repeated bool
	// definition and repetition are the levels of a value that this node has.
	definition, repetition int
	children               []*parquetNode
	// first and last are the columns below: from first to before last.
	first, last int
	leaf        parquetLeaf
	// element is that of a list: below its repeated child, or this child itself.
	element *parquetNode
	isMap   bool
}

// parquetSchema makes the tree of a schema, and counts its columns.
func parquetSchema(elements []format.SchemaElement) (root *parquetNode, leaves int, err error) {
	b := schemaBuilder{elements: elements}
	if root, err = b.node(0, 0, 0); err != nil {
		return nil, 0, datasetfile.FileErrorf("the schema of the file cannot be read: %v", err)
	}
	if len(root.children) == 0 {
		return nil, 0, datasetfile.FileErrorf("the file has no columns")
	}
	return root, b.leaves, nil
}
