package mapping

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/reading"
)

type nested struct {
	Name string   `parquet:"name"`
	List []*int32 `parquet:"list,list"`
}

type manyTypes struct {
	ID      uint64             `parquet:"id"`
	Big     int64              `parquet:"big"`
	Price   int64              `parquet:"price,decimal(2:18)"`
	Date    int32              `parquet:"date,date"`
	At      time.Time          `parquet:"at,timestamp(microsecond)"`
	Float   float32            `parquet:"float"`
	Double  *float64           `parquet:"double,optional"`
	OK      bool               `parquet:"ok"`
	Text    *string            `parquet:"text,optional"`
	JSON    string             `parquet:"json,json"`
	Binary  []byte             `parquet:"binary"`
	UUID    [16]byte           `parquet:"uuid,uuid"`
	Old     deprecated.Int96   `parquet:"old"`
	Nested  *nested            `parquet:"nested,optional"`
	Structs []nested           `parquet:"structs,list"`
	Map     map[string]float64 `parquet:"map"`
	Numbers map[int32]string   `parquet:"numbers"`
	Bare    []string           `parquet:"bare"`
}

func parquetOf[R any](t *testing.T, rows ...R) []byte {
	t.Helper()
	var file bytes.Buffer
	w := parquet.NewGenericWriter[R](&file)
	_, err := w.Write(rows)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return file.Bytes()
}

func TestParquet(t *testing.T) {
	t.Parallel()
	one, two := int32(1), int32(2)
	half := 0.5
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	content := parquetOf(t,
		manyTypes{
			ID: math.MaxUint64, Big: math.MaxInt64, Price: -5, Date: 20_000, At: at, Float: 0.1, Double: &half, OK: true, Text: str("a\"b"),
			JSON: `{"n": 1.10}`, Binary: []byte("text"), UUID: [16]byte{1, 2, 15: 255}, Old: deprecated.Int96{1_000_000_000, 0, 2_440_589},
			Nested: &nested{"x", []*int32{&one, nil, &two}}, Structs: []nested{{"a", nil}, {"b", []*int32{&one}}},
			Map: map[string]float64{"k": 1e21}, Numbers: map[int32]string{7: "seven"}, Bare: []string{"p", "q"},
		},
		manyTypes{At: at, JSON: "[]"},
		manyTypes{At: at, JSON: "{", Binary: []byte{0xff}, Float: float32(math.NaN())},
		manyTypes{At: at, JSON: "1"},
	)
	got, err := read(t, string(content), datasetfile.Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{
		`1 {"id":18446744073709551615,"big":9223372036854775807,"price":-0.05,"date":"2024-10-04","at":"2026-01-02T03:04:05.678Z","float":0.1,"double":0.5,"ok":true,"text":"a\"b","json":{"n": 1.10},"binary":"text","uuid":"01020000-0000-0000-0000-0000000000ff","old":"1970-01-02T00:00:01Z","nested":{"name":"x","list":[1,null,2]},"structs":[{"name":"a","list":[]},{"name":"b","list":[1]}],"map":{"k":1e+21},"numbers":[{"key":7,"value":"seven"}],"bare":["p","q"]}`,
		`2 {"id":0,"big":0,"price":0.00,"date":"1970-01-01","at":"2026-01-02T03:04:05.678Z","float":0,"double":null,"ok":false,"text":null,"json":[],"binary":"","uuid":"00000000-0000-0000-0000-000000000000","old":"-4713-11-24T00:00:00Z","nested":null,"structs":[],"map":{},"numbers":[],"bare":[]}`,
		`! line 3: float: is NaN: JSON has no NaN and no Infinity; write null or a text; json: has the type JSON, but is no JSON: line 1, character 7: it ends too early; binary: is binary, not text in UTF-8: leave the column out, or write it as text, such as Base64`,
		`4 {"id":0,"big":0,"price":0.00,"date":"1970-01-01","at":"2026-01-02T03:04:05.678Z","float":0,"double":null,"ok":false,"text":null,"json":1,"binary":"","uuid":"00000000-0000-0000-0000-000000000000","old":"-4713-11-24T00:00:00Z","nested":null,"structs":[],"map":{},"numbers":[],"bare":[]}`,
	}, got)
	_, err = reading.Open(bytes.NewReader(content), datasetfile.Options{Partial: true})
	require.EqualError(t, err, "a beginning of a file of the format parquet cannot be read: its directory is at its end; give the whole file")
}

// The file was written by pyarrow, see testdata/README.md.
func TestParquetOfPyArrow(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/pyarrow.parquet")
	require.NoError(t, err)
	got, err := read(t, string(content), datasetfile.Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{
		`1 {"question":"What?","answers":{"text":["a","b"],"start":[1,null]},"price":1234567890123456789012345.67,"at":"2026-01-02T03:04:05","utc":"2026-01-02T03:04:05.000001Z","day":"2026-01-02","messages":[{"role":"user","content":"Hi"}],"half":0.5,"kind":"x","map":{"a":1}}`,
		`2 {"question":null,"answers":null,"price":null,"at":null,"utc":null,"day":null,"messages":[],"half":null,"kind":null,"map":null}`,
	}, got)
}

func TestDamagedParquet(t *testing.T) {
	t.Parallel()
	content := parquetOf(t, manyTypes{JSON: "1", Structs: []nested{{"a", nil}}}, manyTypes{JSON: "2"})
	check := func(content []byte) {
		f, err := reading.Open(bytes.NewReader(content), datasetfile.Options{Format: datasetfile.Parquet})
		var file *datasetfile.FileError
		if err != nil {
			require.ErrorAs(t, err, &file)
			return
		}
		for {
			_, err := f.Next()
			var row *datasetfile.RowError
			if err != nil && !assertKnown(t, err) {
				break
			}
			if err != nil && !errorsAs(err, &row) {
				break
			}
		}
		require.NoError(t, f.Close())
	}
	for cut := range len(content) {
		check(content[:cut])
	}
	for i := range content {
		for _, b := range []byte{0xff, content[i] ^ 1} {
			damaged := bytes.Clone(content)
			damaged[i] = b
			check(damaged)
		}
	}
	// A list of the directory that claims to have two thousand million elements.
	footer := []byte{0x15, 2, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7, 0}
	hostile := append([]byte("PAR1"), footer...)
	hostile = binary.LittleEndian.AppendUint32(hostile, uint32(len(footer)))
	_, err := reading.Open(bytes.NewReader(append(hostile, "PAR1"...)), datasetfile.Options{})
	require.EqualError(t, err, "the directory of the file cannot be read: it is damaged; write the file again")
}
