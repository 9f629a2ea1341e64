// Package recipes holds the pages of this folder: what the instrument guide, its page in the UI and /llms.txt show.
package recipes

import "embed"

// Pages are the recipes, and README.md.
//
//go:embed *.md
var Pages embed.FS
