package product

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Listeners returns the addresses at which the process listens for IPv4. A listener that is reachable from other
// machines or uses IPv6 is an error.
func (p Process) Listeners() ([]string, error) {
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.PID))
	if err != nil {
		return nil, fmt.Errorf("list open files: %w", err)
	}
	sockets := map[string]bool{}
	for _, link := range links {
		target, _ := os.Readlink(link) // it may have been closed
		sockets[target] = true
	}
	var found []string
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", p.PID, table))
		if err != nil {
			return nil, fmt.Errorf("list sockets: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			const address, state, inode, listening = 1, 3, 9, "0A"
			fields := strings.Fields(line)
			if fields[state] != listening || !sockets["socket:["+fields[inode]+"]"] {
				continue
			}
			var port int
			if _, err := fmt.Sscanf(fields[address], "0100007F:%X", &port); err != nil {
				return nil, fmt.Errorf("%s listens at %s, which is not 127.0.0.1", p.Name, fields[address])
			}
			found = append(found, fmt.Sprintf("127.0.0.1:%d", port))
		}
	}
	return found, nil
}
