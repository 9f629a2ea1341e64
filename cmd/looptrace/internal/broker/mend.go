package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
)

// frame is what stands before each entry of an append-only state file: the length and the CRC-32C of what
// follows, both little-endian.
const frame = 8

// mend cuts off the torn entry that a crash may have left at the end of a state file. The broker skips it
// when reading but then appends behind it, and would not find what stands there at the next start.
func mend(dir string) error {
	for _, name := range []string{"groups.log", "pids.log"} {
		path := filepath.Join(dir, name)
		raw, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		valid := validLength(raw)
		if valid == len(raw) {
			continue
		}
		if err := os.Truncate(path, int64(valid)); err != nil {
			return fmt.Errorf("mend %s: %w", name, err)
		}
	}
	return nil
}

// validLength is the length of the part of raw that consists of whole entries.
func validLength(raw []byte) int {
	at := 0
	for len(raw)-at >= frame {
		length := int64(binary.LittleEndian.Uint32(raw[at:]))
		if length < 2 || length > int64(len(raw)-at-frame) { // each entry begins with two bytes of version
			break
		}
		body := raw[at+frame : at+frame+int(length)]
		if crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(raw[at+4:]) {
			break
		}
		at += frame + int(length)
	}
	return at
}
