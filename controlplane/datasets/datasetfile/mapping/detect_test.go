package mapping

import (
	"bytes"
	"compress/gzip"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/reading"
)

func TestDetectFormat(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte("a,b\n1,2\n"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	workbook, err := os.ReadFile("testdata/openpyxl.xlsx")
	require.NoError(t, err)
	const octets = "application/octet-stream"
	for name, test := range map[string]struct {
		mediaType, fileName, head string
		want                      datasetfile.Format
		fails                     string
	}{
		"a specific media type":         {"text/csv; charset=utf-8", "x.jsonl", "{}", datasetfile.CSV, ""},
		"a general one":                 {"text/plain", "x.JSONL", "a,b", datasetfile.JSONL, ""},
		"what Windows sends for CSV":    {"application/vnd.ms-excel", "x.csv", "a,b", datasetfile.CSV, ""},
		"a broken one":                  {";;", "x.tsv", "", datasetfile.CSV, ""},
		"NDJSON":                        {"application/x-ndjson", "", "", datasetfile.JSONL, ""},
		"JSON that is JSONL":            {"application/json", "x.json", "{\"a\":1}\n{\"a\":2}\n", datasetfile.JSONL, ""},
		"JSON that is one object":       {"application/json", "", "{\"data\":[{}]}", datasetfile.JSON, ""},
		"JSON over lines":               {"", "x.json", "{\n\"data\":[{}]}", datasetfile.JSON, ""},
		"a list":                        {octets, "", " [\n{}]", datasetfile.JSON, ""},
		"one object in a line":          {octets, "", `{"input":"x"}`, datasetfile.JSONL, ""},
		"one object in a line, wrapped": {octets, "", `{"items":[]}`, datasetfile.JSON, ""},
		"lines, the last cut":           {octets, "", "{\"a\":1}\n{\"a\":", datasetfile.JSONL, ""},
		"YAML with names":               {octets, "", "# c\ndescription: x\ntests:\n", datasetfile.YAML, ""},
		"YAML of a list":                {octets, "", "- vars:\n", datasetfile.YAML, ""},
		"text":                          {octets, "", "\xef\xbb\xbfquestion,answer\n", datasetfile.CSV, ""},
		"Parquet":                       {octets, "", "PAR1....", datasetfile.Parquet, ""},
		"XLSX":                          {octets, "", string(workbook), datasetfile.XLSX, ""},
		"gzip":                          {octets, "x.csv.gz", packed.String(), "", "the file is compressed with gzip: unpack it and give the file in it"},
		"zip":                           {octets, "", "PK\x03\x04....data.csv", "", "the file is a zip archive: unpack it"},
		"OpenDocument":                  {octets, "x.ods", "PK\x03\x04....mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "", "the file is an OpenDocument file: save it as .xlsx or CSV"},
		"Word":                          {octets, "", "PK\x03\x04[Content_Types].xml word/document.xml", "", "a document of Word"},
		"old Excel":                     {"application/vnd.ms-excel", "x.xls", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "", "an encrypted or an old Excel file (.xls): save it as .xlsx without a password"},
		"PDF":                           {octets, "", "%PDF-1.7", "", "the file is a PDF: export it"},
		"HTML":                          {octets, "", "\n<!DOCTYPE html><html>", "", "the file is a web page (HTML)"},
		"XML":                           {octets, "", "<?xml version=\"1.0\"?>", "", "the file is XML"},
		"UTF-32":                        {octets, "", "\xff\xfe\x00\x00a\x00\x00\x00", "", "the file is text in UTF-32: save it as UTF-8"},
		"binary":                        {octets, "", "\x01\x00\x02\x00\x00\x00\x03abc\x00\x00", "", "the file is no text"},
		"empty":                         {octets, "", " \n", "", "the file is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := reading.DetectFormat(test.mediaType, test.fileName, []byte(test.head))
			if test.fails == "" {
				require.NoError(t, err)
				assert.Equal(t, test.want, got)
				return
			}
			var file *datasetfile.FileError
			require.ErrorAs(t, err, &file)
			assert.Contains(t, file.Detail, test.fails)
		})
	}
	// Whatever the name says, a binary file is not read as text.
	_, err = reading.Open(bytes.NewReader(packed.Bytes()), datasetfile.Options{Format: datasetfile.CSV})
	require.EqualError(t, err, "the file is compressed with gzip, not csv: unpack it and give the file in it")
	_, err = reading.Open(bytes.NewReader(workbook), datasetfile.Options{Format: datasetfile.JSONL})
	require.EqualError(t, err, "the file is XLSX, not jsonl: choose format=xlsx")
	_, err = reading.Open(bytes.NewReader([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1....")), datasetfile.Options{Format: datasetfile.XLSX})
	require.EqualError(t, err, "the file is an encrypted or an old Excel file (.xls), not xlsx: save it as .xlsx without a password")
	_, err = reading.Open(bytes.NewReader([]byte("x")), datasetfile.Options{Format: "toml"})
	require.EqualError(t, err, `the format "toml" is not known: use csv, jsonl, json, yaml, parquet or xlsx`)
}
