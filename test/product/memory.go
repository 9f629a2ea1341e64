package product

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// memoryInterval is how often memory is looked at.
const memoryInterval = 250 * time.Millisecond

// Memory is what the processes held at most, in resident bytes.
type Memory struct {
	// Sum is the most that all held at one time.
	Sum int64
	// Most is what each service held at most.
	Most map[string]int64
}

// WatchMemory looks at the memory of all processes until the function that it returns is called.
func (p *Product) WatchMemory() (stop func() Memory) { return WatchMemory(p.Processes) }

// WatchMemory looks at the memory of the processes that list returns, likewise.
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
		return // the next look may succeed
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

// ForgetPeakRSS makes PeakRSS count from now on.
func (p Process) ForgetPeakRSS() error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.PID), []byte("5"), 0); err != nil {
		return fmt.Errorf("forget the peak memory of %s: %w", p.Name, err)
	}
	return nil
}

// PeakRSS is the most that the process has held in resident bytes: the kernel's own figure, which misses no moment.
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
