package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/prompts/importing"
)

// ImportPrompts imports the prompts of a file of another product.
func (h promptHandlers) ImportPrompts(ctx context.Context, req contract.ImportPromptsRequestObject) (contract.ImportPromptsResponseObject, error) {
	dryRun := valueOf(req.Body.DryRun, false)
	report, err := h.prompts.Import(ctx, grantOf(ctx), req.Body.Content, valueOf(req.Body.FileName, ""), importing.Format(valueOf(req.Body.Format, "")), dryRun)
	if err != nil {
		return nil, err
	}
	answer := contract.ImportPrompts200JSONResponse{
		Format: contract.PromptImportFormat(report.Format), DryRun: dryRun,
		Imported: make([]contract.ImportedPrompt, len(report.Imported)), Rejected: make([]contract.RejectedPrompt, len(report.Rejected)),
	}
	for i := range report.Imported {
		one := &report.Imported[i]
		imported := contract.ImportedPrompt{
			Name: one.Name, SourceName: one.SourceName, PromptId: one.PromptID, Change: contract.ImportedPromptChange(one.Change), Version: one.Version,
			Aliases: list(one.Aliases), Conversions: make([]contract.PromptConversion, len(one.Conversions)), LeftOut: list(one.LeftOut),
		}
		for j, c := range one.Conversions {
			imported.Conversions[j] = contract.PromptConversion{Path: c.Path, Line: c.Line, From: c.From, To: c.To}
		}
		answer.Imported[i] = imported
	}
	for i, r := range report.Rejected {
		rejected := contract.RejectedPrompt{SourceName: r.SourceName, Path: known(r.Path), Reason: r.Reason}
		if r.Line > 0 {
			rejected.Line = &r.Line
		}
		answer.Rejected[i] = rejected
	}
	return answer, nil
}
