package gate

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"strings"
)

// commit returns the commit of the CI job, else that of the checkout. It is empty if there is none.
func commit(ctx context.Context) string {
	if found := cmp.Or(os.Getenv("GITHUB_SHA"), os.Getenv("CI_COMMIT_SHA")); found != "" {
		return found
	}
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "" // the caller says which flag names it
	}
	return strings.TrimSpace(string(out))
}

// baseBranch returns the branch that a change is for.
func baseBranch() string {
	return cmp.Or(os.Getenv("GITHUB_BASE_REF"), os.Getenv("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"), "main")
}
