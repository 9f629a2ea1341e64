package datasetfile

import (
	"strings"
)

// TextCell returns a text for a cell of CSV that no spreadsheet takes for a formula: with an apostrophe in front, if it begins like one.
// A text that begins like such a cell gets one more, so that [PlainText] returns what was written.
func TextCell(text string) string {
	if beginsFormula(strings.TrimLeft(text, "'")) {
		return "'" + text
	}
	return text
}

// PlainText returns the text of a cell of [TextCell].
func PlainText(cell []byte) []byte {
	if len(cell) > 0 && cell[0] == '\'' && beginsFormula(strings.TrimLeft(string(cell), "'")) {
		return cell[1:]
	}
	return cell
}

func beginsFormula(text string) bool {
	return text != "" && strings.ContainsAny(text[:1], "=+-@\t\r")
}
