// Package edit owns the edits of recorded runs: what they set, which steps they name, [Check], which says whether they fit a run, and their [Hash].
package edit
