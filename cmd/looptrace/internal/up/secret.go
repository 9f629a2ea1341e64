package up

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// secret reads the secret of this name from the data folder and makes it once: 32 random bytes in hex. It
// gets its name when it is complete on the disk, so that a killed start cannot leave a part of it.
func secret(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	raw, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(raw)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the secret: %w", err)
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	text := hex.EncodeToString(random)
	if err := writeSynced(path+".new", text+"\n"); err != nil {
		return "", fmt.Errorf("keep the secret: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return "", fmt.Errorf("keep the secret: %w", err)
	}
	return text, nil
}

func writeSynced(path, text string) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err //nolint:wrapcheck // os errors name operation and path
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.WriteString(text); err != nil {
		return err //nolint:wrapcheck // os errors name operation and path
	}
	return file.Sync() //nolint:wrapcheck // os errors name operation and path
}
