package reading

import (
	"bytes"
	"mime"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/internal/jsontext"
)

var formatOfMediaType = map[string]datasetfile.Format{
	"text/csv":                       datasetfile.CSV,
	"text/tab-separated-values":      datasetfile.CSV,
	"application/x-ndjson":           datasetfile.JSONL,
	"application/ndjson":             datasetfile.JSONL,
	"application/jsonl":              datasetfile.JSONL,
	"application/x-jsonl":            datasetfile.JSONL,
	"application/jsonlines":          datasetfile.JSONL,
	"application/x-jsonlines":        datasetfile.JSONL,
	"application/json":               datasetfile.JSON,
	"application/yaml":               datasetfile.YAML,
	"application/x-yaml":             datasetfile.YAML,
	"text/yaml":                      datasetfile.YAML,
	"text/x-yaml":                    datasetfile.YAML,
	"application/vnd.apache.parquet": datasetfile.Parquet,
	"application/x-parquet":          datasetfile.Parquet,
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": datasetfile.XLSX,
}

var formatOfEnding = map[string]datasetfile.Format{
	".csv": datasetfile.CSV, ".tsv": datasetfile.CSV, ".tab": datasetfile.CSV, ".jsonl": datasetfile.JSONL, ".ndjson": datasetfile.JSONL, ".json": datasetfile.JSON, ".yaml": datasetfile.YAML, ".yml": datasetfile.YAML,
	".parquet": datasetfile.Parquet, ".xlsx": datasetfile.XLSX, ".xlsm": datasetfile.XLSX,
}

// DetectFormat returns the format of a file: that of its media type unless this is a general one, such as text/plain or
// what browsers take for CSV, that of the ending of its name, or what the beginning of its content looks like. A file
// said to be JSON that has an object in each line is JSONL.
func DetectFormat(mediaType, fileName string, head []byte) (datasetfile.Format, error) {
	base, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		base = ""
	}
	format, known := formatOfMediaType[base]
	if !known {
		format, known = formatOfEnding[strings.ToLower(path.Ext(fileName))]
	}
	if known && format != datasetfile.JSON {
		return format, nil
	}
	if what, remedy := foreign(head); what != "" {
		switch what {
		case whatParquet:
			return datasetfile.Parquet, nil
		case whatXLSX:
			return datasetfile.XLSX, nil
		}
		return "", datasetfile.FileErrorf("the file is %s: %s", what, remedy)
	}
	found, err := textFormat(datasetfile.DecodeHead(head))
	if known && found != datasetfile.JSONL {
		return datasetfile.JSON, nil
	}
	return found, err
}

// What foreign says of files that are no text but can be read.
const (
	whatParquet = "Parquet"
	whatXLSX    = "XLSX"
)

const (
	exportIt = "export it as CSV, JSONL, Parquet or XLSX"
	unpackIt = "unpack it and give the file in it"
)

var magics = []struct{ prefix, what, remedy string }{
	{"PAR1", whatParquet, "choose format=parquet"},
	{"PARE", "encrypted Parquet", "write it without encryption"},
	{"\x1f\x8b", "compressed with gzip", unpackIt},
	{"\x28\xb5\x2f\xfd", "compressed with zstd", unpackIt},
	{"BZh", "compressed with bzip2", unpackIt},
	{"\xfd7zXZ\x00", "compressed with xz", unpackIt},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive", unpackIt},
	{"Rar!\x1a\x07", "a RAR archive", unpackIt},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an encrypted or an old Excel file (.xls)", "save it as .xlsx without a password"},
	{"%PDF-", "a PDF", exportIt},
	{"ARROW1", "an Arrow file", "write it as Parquet"},
	{"ORC", "an ORC file", "write it as Parquet"},
	{"Obj\x01", "an Avro file", "write it as Parquet or JSONL"},
	{"SQLite format 3\x00", "an SQLite database", exportIt},
	{"\x89PNG", "an image", "give a file of rows"},
	{"\xff\xd8\xff", "an image", "give a file of rows"},
	{"\x80\x04\x95", "a Python pickle", "write it as JSONL"},
	{"\x00\x00\xfe\xff", "text in UTF-32", "save it as UTF-8"},
	{"\xff\xfe\x00\x00", "text in UTF-32", "save it as UTF-8"},
}

// foreign says what a file is if it is no text of rows, and what to do. ORC is only its magic if no text follows.
func foreign(head []byte) (what, remedy string) {
	if bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06")) {
		return foreignZip(head)
	}
	for _, m := range magics {
		if !bytes.HasPrefix(head, []byte(m.prefix)) || m.prefix == "ORC" && bytes.IndexByte(head, 0) < 0 {
			continue
		}
		return m.what, m.remedy
	}
	start := bytes.ToLower(bytes.TrimSpace(datasetfile.DecodeHead(head[:min(len(head), 1024)])))
	switch {
	case bytes.HasPrefix(start, []byte("<!doctype html")), bytes.HasPrefix(start, []byte("<html")):
		return "a web page (HTML)", "it may be an error page of where you downloaded it; download the file again"
	case bytes.HasPrefix(start, []byte("<?xml")):
		return "XML", exportIt
	}
	return "", ""
}

func foreignZip(head []byte) (what, remedy string) {
	switch {
	case bytes.Contains(head, []byte("opendocument")):
		return "an OpenDocument file", "save it as .xlsx or CSV"
	case bytes.Contains(head, []byte("word/")), bytes.Contains(head, []byte("ppt/")):
		return "a document of Word or PowerPoint", exportIt
	case bytes.Contains(head, []byte("xl/")), bytes.Contains(head, []byte("[Content_Types].xml")):
		return whatXLSX, "choose format=xlsx"
	}
	return "a zip archive", unpackIt
}

// yamlStart is what YAML of rows begins with: a name or a hyphen.
var yamlStart = regexp.MustCompile(`^(---|- |-$|["']?[A-Za-z_$][\w$-]*["']?:( |$))`)

// textFormat returns what text in UTF-8 looks like.
func textFormat(head []byte) (datasetfile.Format, error) {
	text := bytes.TrimSpace(head)
	switch {
	case len(text) == 0:
		return "", datasetfile.FileErrorf("the file is empty")
	case bytes.IndexByte(head, 0) >= 0:
		return "", datasetfile.FileErrorf("the file is no text, nor Parquet or XLSX: %s", exportIt)
	case text[0] == '[':
		return datasetfile.JSON, nil
	case text[0] == '{':
		if isLines(text) {
			return datasetfile.JSONL, nil
		}
		return datasetfile.JSON, nil
	}
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n\t ")
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if yamlStart.Match(line) {
			return datasetfile.YAML, nil
		}
		break
	}
	return datasetfile.CSV, nil
}

// isLines reports whether a text that begins with { has an object in each line: its first line is one and another
// object follows, or the whole text is one object in one line that is not the wrapper of a list.
func isLines(text []byte) bool {
	first, rest, more := bytes.Cut(text, []byte("\n"))
	if !more {
		first, rest, more = bytes.Cut(text, []byte("\r"))
	}
	if _, err := datasetfile.ObjectRow(1, bytes.TrimSpace(first)); err != nil {
		// A first line that is longer than the head may still be one of many.
		return false
	}
	if !more {
		return listMember(first) == ""
	}
	rest = bytes.TrimSpace(rest)
	return len(rest) > 0 && rest[0] == '{'
}

// listNames are the members of an object in which its rows are, as exports and people name them.
var listNames = []string{"items", "data", "rows", "examples", "tests", "records", "samples", "instances", "entries", "results"}

// listMember returns the member of an object in which its rows are, or an empty name.
func listMember(raw []byte) string {
	for _, c := range datasetfile.Members(raw) {
		if jsontext.IsArray(c.Value) && slices.Contains(listNames, c.Column) {
			return c.Column
		}
	}
	return ""
}
