package datasets

import (
	"fmt"

	"github.com/looptrace/looptrace/internal/problem"
)

// Limits bound what one project can make the installation do. An administrator may raise each.
type Limits struct {
	// FileRows and FileBytes are those of a file that is imported. Bytes are those of its rows as JSON: a small file may stand for a large one.
	FileRows, FileBytes int64
	// Items are those of a dataset.
	Items int64
	// WaitingFiles and WaitingBytes are the imports of a project that are not finished.
	WaitingFiles, WaitingBytes int64
}

// DefaultLimits are those without settings.
var DefaultLimits = Limits{FileRows: 1_000_000, FileBytes: 2 << 30, Items: 1_000_000, WaitingFiles: 10, WaitingBytes: 4 << 30}

// The settings of the limits.
const (
	FileRowsSetting     = "IMPORT_MAX_ROWS"
	FileBytesSetting    = "IMPORT_MAX_BYTES"
	ItemsSetting        = "DATASET_MAX_ITEMS"
	WaitingFilesSetting = "IMPORT_MAX_WAITING_FILES"
	WaitingBytesSetting = "IMPORT_MAX_WAITING_BYTES"
)

// raise says how a limit is raised.
func raise(setting string) string {
	return "an administrator of the installation can raise " + setting + " of the API"
}

// checkFile returns a [failure] if what was read of a file is too much.
func (l *Limits) checkFile(rows, bytes int64) error {
	switch {
	case rows > l.FileRows:
		return &failure{"too_many_rows", fmt.Sprintf("The file has more than %d rows. Nothing was imported. Split it, or %s.", l.FileRows, raise(FileRowsSetting))}
	case bytes > l.FileBytes:
		return &failure{"too_many_bytes", fmt.Sprintf("The rows of the file have more than %d bytes as JSON. Nothing was imported. Split it, or %s.", l.FileBytes, raise(FileBytesSetting))}
	}
	return nil
}

// checkItems returns a refusal if a dataset would have too many items.
func (l *Limits) checkItems(before, after int64) error {
	if after <= l.Items || after <= before { // a limit that was lowered does not keep items from being removed
		return nil
	}
	return &problem.Error{
		Kind: problem.Conflict, Code: "too_many_items",
		Detail: fmt.Sprintf("The dataset would have %d items, more than %d. Nothing was changed. Use another dataset, or %s.", after, l.Items, raise(ItemsSetting)),
	}
}

// checkWaiting returns a refusal if a project has too many files that wait.
func (l *Limits) checkWaiting(files, bytes int64) error {
	switch {
	case files > l.WaitingFiles:
		return &problem.Error{
			Kind: problem.Conflict, Code: "too_many_imports",
			Detail: fmt.Sprintf("The project has %d imports that are not finished. Wait for one, or cancel one; %s.", l.WaitingFiles, raise(WaitingFilesSetting)),
		}
	case bytes > l.WaitingBytes:
		return &problem.Error{
			Kind: problem.Conflict, Code: "too_many_imports",
			Detail: fmt.Sprintf("The files of the project that are not imported yet would have more than %d bytes. Wait for one, or cancel one; %s.",
				l.WaitingBytes, raise(WaitingBytesSetting)),
		}
	}
	return nil
}
