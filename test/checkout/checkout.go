// Package checkout finds the checkout of the tests and what was built in it.
package checkout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Root is the folder of the go.mod above the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("find the checkout: no go.mod above the working directory")
		}
	}
}
