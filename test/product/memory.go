package product

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// memoryInterval is the interval of reading memory.
const memoryInterval = 250 * time.Millisecond

// Memory is the peak memory of processes, in resident bytes.
type Memory struct {
	// Sum is the peak of all processes together.
	Sum int64
	// Most is the peak of each service.
	Most map[string]int64
}

// WatchMemory watches the memory of all processes until the returned function is called.
func (p *Product) WatchMemory() (stop func() Memory) { return WatchMemory(p.Processes) }

// WatchMemory watches the memory of the processes that list returns, likewise.
func WatchMemory(list func() ([]Process, error)) (stop func() Memory) {
	stopping, ended := make(chan struct{}), make(chan Memory)
	go func() {
		tick := time.NewTicker(memoryInterval)
		defer tick.Stop()
		peak := Memory{Most: map[string]int64{}}
		for {
			peak.look(list)
			select {
			case <-stopping:
				ended <- peak
				return
			case <-tick.C:
			}
		}
	}()
	return func() Memory {
		close(stopping)
		return <-ended
	}
}

func (m *Memory) look(list func() ([]Process, error)) {
	processes, err := list()
	if err != nil {
		return // the next read may succeed
	}
	held := map[string]int64{}
	var sum int64
	for _, process := range processes {
		service, _, _ := strings.Cut(process.Name, ":")
		bytes, err := process.status("VmRSS")
		if err != nil {
			continue // it has ended
		}
		held[service] += bytes
		sum += bytes
	}
	m.Sum = max(m.Sum, sum)
	for service, bytes := range held {
		m.Most[service] = max(m.Most[service], bytes)
	}
}

// ForgetPeakRSS resets PeakRSS.
func (p Process) ForgetPeakRSS() error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.PID), []byte("5"), 0); err != nil {
		return fmt.Errorf("forget the peak memory of %s: %w", p.Name, err)
	}
	return nil
}

// PeakRSS returns the peak memory of the process in resident bytes. It is the kernel's value and includes short
// peaks.
func (p Process) PeakRSS() (int64, error) { return p.status("VmHWM") }

// status reads a size from /proc/PID/status.
func (p Process) status(field string) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
	if err != nil {
		return 0, fmt.Errorf("read the memory of %s: %w", p.Name, err)
	}
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte(field+":")); ok {
			kibibytes, err := strconv.ParseInt(string(bytes.Fields(value)[0]), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read the memory of %s: %w", p.Name, err)
			}
			return kibibytes << 10, nil
		}
	}
	return 0, fmt.Errorf("read the memory of %s: it has no %s", p.Name, field)
}
