// Package conformance compares what real instrumentations send with the product's result, field by field.
package conformance

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// document shows the tables. What is above the marker is written by hand.
const (
	document = "../../docs/measurements/conformance.md"
	handEnd  = "<!-- below: make conformance -->\n"
)

// TestConformance fails on every field that is wrong without a documented exception, and if the document does not
// show the resulting tables. CONFORMANCE_REPORT names a file for the tables. They are also written into the document
// if the payloads of others are available.
func TestConformance(t *testing.T) {
	report := "## Recorded here\n\n" + section(t, recordedChecks(t)) + "\n" + trapTable()
	folder := realData()
	if folder == "" {
		t.Log("The payloads of others are left out: LOOPTRACE_REALDATA names their folder")
	} else {
		report += "\n## Published by others\n\n" + section(t, realDataChecks(t, folder))
	}
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	byHand, shown, found := strings.Cut(string(text), handEnd+"\n")
	require.True(t, found, document)
	file := os.Getenv("CONFORMANCE_REPORT")
	if file == "" {
		// Without the payloads of others, the document has their tables after what is compared.
		if shown != report && (folder != "" || !strings.HasPrefix(shown, report)) {
			t.Errorf("%s does not show what is recorded: make conformance writes it anew", document)
		}
		return
	}
	require.NoError(t, os.WriteFile(file, []byte(report), 0o600))
	if folder != "" {
		require.NoError(t, os.WriteFile(document, []byte(byHand+handEnd+"\n"+report), 0o644))
	}
}

func section(t *testing.T, checks []check) string {
	t.Helper()
	for i := range checks {
		if checks[i].verdict == wrong {
			t.Error(&checks[i])
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", table(checks), summary(checks))
	if list := reasons(checks, excepted); list != "" {
		fmt.Fprintf(&b, "\nExceptions:\n\n%s\n", list)
	}
	if list := reasons(checks, absent); list != "" {
		fmt.Fprintf(&b, "\nAbsent at source:\n\n%s\n", list)
	}
	return b.String()
}

// trapTable lists the traps and the totals of their runs, which TestTraps checks.
func trapTable() string {
	var b strings.Builder
	b.WriteString("## Traps\n\n| what could count twice | input | output | cache read | cache written | reasoning |\n" +
		"| --- | --- | --- | --- | --- | --- |\n")
	for _, trap := range traps {
		fmt.Fprintf(&b, "| %s |", trap.name)
		for _, n := range trap.want {
			fmt.Fprintf(&b, " %v |", n)
		}
		b.WriteString("\n")
	}
	return b.String()
}
