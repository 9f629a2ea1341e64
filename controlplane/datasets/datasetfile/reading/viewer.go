package reading

import (
	"encoding/json"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// viewerRow takes the row out of an element of the answer of Hugging Face's dataset viewer
// (https://huggingface.co/docs/dataset-viewer/rows). One with cells that the viewer cut is refused.
func viewerRow(element datasetfile.Row) (datasetfile.Row, error) {
	var content, index, truncated json.RawMessage
	for _, cell := range element.Cells {
		switch cell.Column {
		case "row":
			content = cell.Value
		case "row_idx":
			index = cell.Value
		case "truncated_cells":
			truncated = cell.Value
		}
	}
	if !jsontext.IsObject(content) || index == nil {
		return element, nil
	}
	bad := &datasetfile.RowError{Line: element.Line}
	for _, column := range datasetfile.Elements(truncated) {
		if jsontext.IsString(column) {
			bad.Fields = append(bad.Fields, datasetfile.FieldError{
				Column: datasetfile.Unquote(column), Reason: "is truncated: the dataset viewer cuts large cells; download the file of the dataset, as Parquet, instead",
			})
		}
	}
	if len(bad.Fields) > 0 {
		return datasetfile.Row{}, bad
	}
	return datasetfile.Row{Line: element.Line, Cells: datasetfile.Members(content)}, nil
}
