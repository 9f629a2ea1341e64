package engine

import (
	"fmt"
	"os"
)

const (
	minMemory = 1 << 30
	maxMemory = 2 << 30
)

// MemoryCap is ClickHouse's memory limit on this machine: a quarter of the memory, within bounds.
func MemoryCap() uint64 {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		return maxMemory // not Linux
	}
	defer func() { _ = file.Close() }() // opened for reading
	var kilobytes uint64
	if _, err := fmt.Fscanf(file, "MemTotal: %d kB", &kilobytes); err != nil {
		return maxMemory
	}
	return min(max(kilobytes<<10/4, minMemory), maxMemory)
}
