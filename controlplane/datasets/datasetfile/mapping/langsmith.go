package mapping

import (
	"encoding/json"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// langSmithColumns are those of an example, besides inputs and outputs.
var langSmithColumns = []string{
	"id", "dataset_id", "created_at", "modified_at", "inputs", "outputs", "metadata", "split", "source_run_id", "attachments", "attachment_urls", "name",
}

func (s *sample) isLangSmith() bool {
	if s.text() {
		return s.hasPrefix("input_") && s.hasPrefix("output_") &&
			s.onlyPrefixed([]string{"id", "created_at", "modified_at", "split", "metadata"}, "input_", "output_", "metadata_")
	}
	if !s.all("inputs", datasetfile.KindObject) || !s.has("outputs") || !s.only(langSmithColumns...) {
		return false
	}
	for _, own := range []string{"dataset_id", "created_at", "modified_at", "source_run_id", "attachments", "attachment_urls"} {
		if s.has(own) {
			return true
		}
	}
	return false
}

// langSmith makes an item of an example of LangSmith, as its API and its export as JSONL have it (Example in
// python/langsmith/schemas.py), or of its export as CSV, in which the columns input_question and output_answer are the
// members question of the inputs and answer of the outputs (langsmith-sdk, pull request 1789). The split is that of
// dataset_split in the metadata. source_run_id is a run of LangSmith, not of Looptrace: it stays in the metadata.
func (r *record) langSmith() {
	if r.get("inputs") == nil {
		r.item.Input = r.unflatten("input_", "")
		r.item.ReferenceOutput = r.unflatten("output_", "")
		if metadata := r.unflatten("metadata_", ""); metadata != nil && jsontext.IsNull(r.get("metadata")) {
			r.cells = append([]datasetfile.Cell{{Column: "metadata", Value: metadata}}, r.cells...)
		}
		r.key("id")
	}
	r.oneSplit("split")
	if r.item.Split == nil {
		r.datasetSplit()
	}
	if r.item.Input != nil {
		r.ownMembers("langsmith")
		return
	}
	r.product("langsmith", "inputs", "outputs")
}

// datasetSplit takes the only split that the metadata name. They keep it too.
func (r *record) datasetSplit() {
	split := json.RawMessage(memberOf(r.get("metadata"), "dataset_split"))
	if list := datasetfile.Elements(split); len(list) == 1 {
		split = list[0]
	}
	if jsontext.IsString(split) {
		const column = "dataset_split"
		r.cells = append(r.cells, datasetfile.Cell{Column: column, Value: split})
		r.split(column)
	}
}
