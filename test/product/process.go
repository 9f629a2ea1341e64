package product

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Names of the product's processes.
const (
	LauncherProcess     = "launcher"
	PostgresProcess     = "postgres"
	ClickHouseProcess   = "clickhouse"
	BrokerProcess       = "broker"
	CollectorProcess    = "collector"
	ControlPlaneProcess = "controlplane"
	WebProcess          = "web"
)

// Process is one process of the product.
type Process struct {
	PID, Parent int
	// Name is the service's name. Processes that a service has started, such as PostgreSQL's, have its name and
	// purpose: "postgres: checkpointer".
	Name string
}

// Usage is a process's use of the machine.
type Usage struct {
	// RSS counts every resident page, PSS counts a page shared by n processes as 1/n, Anonymous counts pages without a
	// file.
	RSS, PSS, Anonymous int64
	// CPU is the processor time since the process's start.
	CPU time.Duration
}

// Processes returns the launcher's process tree, by process id.
func (p *Product) Processes() ([]Process, error) {
	parents, err := processParents()
	if err != nil {
		return nil, err
	}
	launcher := p.Launched()
	if launcher == 0 {
		return nil, nil
	}
	pending := []int{launcher}
	var found []Process
	for len(pending) > 0 {
		pid := pending[0]
		pending = pending[1:]
		for child, parent := range parents {
			if parent == pid {
				pending = append(pending, child)
			}
		}
		command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || len(command) == 0 {
			continue // it has ended
		}
		found = append(found, Process{PID: pid, Parent: parents[pid], Name: processName(command)})
	}
	slices.SortFunc(found, func(a, b Process) int { return a.PID - b.PID })
	return found, nil
}

// PID returns the process id of the service of this name, 0 if it does not run.
func (p *Product) PID(name string) (int, error) {
	processes, err := p.Processes()
	if err != nil {
		return 0, err
	}
	for _, process := range processes {
		if process.Name == name {
			return process.PID, nil
		}
	}
	return 0, nil
}

// Usage reads the use of the process.
func (p Process) Usage() (Usage, error) {
	rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.PID))
	if err != nil {
		return Usage{}, fmt.Errorf("read the memory of %s: %w", p.Name, err)
	}
	fields, err := processStat(p.PID)
	if err != nil {
		return Usage{}, err
	}
	const userTime, systemTime, tick = 11, 12, 10 * time.Millisecond // USER_HZ is 100 on every Linux
	user, _ := strconv.ParseInt(fields[userTime], 10, 64)
	system, _ := strconv.ParseInt(fields[systemTime], 10, 64)
	return Usage{
		RSS: rollupBytes(rollup, "Rss"), PSS: rollupBytes(rollup, "Pss"), Anonymous: rollupBytes(rollup, "Anonymous"),
		CPU: time.Duration(user+system) * tick,
	}, nil
}

func rollupBytes(rollup []byte, name string) int64 {
	for line := range strings.Lines(string(rollup)) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == name+":" {
			kibibytes, _ := strconv.ParseInt(fields[1], 10, 64) // the kernel writes numbers
			return kibibytes << 10
		}
	}
	return 0
}

// processName derives a service's name from its command line.
func processName(command []byte) string {
	args := strings.Split(string(bytes.TrimRight(command, "\x00")), "\x00")
	switch name := filepath.Base(args[0]); {
	case name == "looptrace" && len(args) > 1 && args[1] == "up":
		return LauncherProcess
	case name == "looptrace" && len(args) > 1:
		return args[1]
	case strings.HasPrefix(args[0], PostgresProcess+": "):
		return strings.TrimSpace(args[0])
	default:
		return strings.TrimPrefix(name, "looptrace-")
	}
}

func processParents() (map[int]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	parents := map[int]int{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		fields, err := processStat(pid)
		if err != nil {
			continue // it has ended
		}
		const parent = 1
		parents[pid], _ = strconv.Atoi(fields[parent])
	}
	return parents, nil
}

// processStat returns the fields of /proc/PID/stat after the command's name, which may contain any character.
func processStat(pid int) ([]string, error) {
	const fewest = 20
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, fmt.Errorf("read the process: %w", err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < fewest {
		return nil, fmt.Errorf("read the process %d: its line is short", pid)
	}
	return fields, nil
}
