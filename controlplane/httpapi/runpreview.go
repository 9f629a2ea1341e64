package httpapi

import (
	"encoding/json"

	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
)

func previewOf(source *runs.Source, item datasets.NewItem, reason string) contract.RunItemPreview {
	preview := contract.RunItemPreview{
		RunId: source.Run.RunID, SpanId: item.SourceSpanID, Name: source.Run.Name, Metadata: json.RawMessage("{}"), Skipped: known(reason),
	}
	if source.Span != nil && !source.Whole {
		preview.Name = source.Span.Name
	}
	if item.Input != nil {
		preview.Input = &item.Input
	}
	if item.ReferenceOutput != nil {
		preview.ReferenceOutput = &item.ReferenceOutput
	}
	if item.Metadata != nil {
		preview.Metadata = item.Metadata
	}
	return preview
}
