// Package up runs the whole product on one machine: engines, queue, collector, control plane and web, each as a
// supervised process, with all data in one folder.
package up

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/credentials"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/journal"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/layout"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/migrate"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/preflight"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/readiness"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/supervisor"
	"github.com/looptrace/looptrace/internal/allowedhost"
	"github.com/looptrace/looptrace/internal/clickhouse"
)

const (
	// readyTime limits the start of one group of processes.
	readyTime = 60 * time.Second
	// prepareAttempts is how often to try to prepare the stores, a second apart.
	prepareAttempts = 6
	// readinessInterval is how often the parts are asked for readiness. A process that ended is restarted meanwhile, so
	// only the second failure in a row is reported.
	readinessInterval = 10 * time.Second
	tellAfter         = 2
	// releaseTime is how long ports may stay in use after a launcher was killed: its children die too, but not
	// immediately.
	releaseTime = 5 * time.Second
)

// Options configure Run.
type Options struct {
	Tree    layout.Tree
	DataDir string
	Ports   layout.Ports
	// CollectorConfigs are files that the collector reads after its own configuration.
	CollectorConfigs []string
	// TextIndex switches ClickHouse's text indexes on or off.
	TextIndex clickhouse.TextIndex
	// Verbose shows every line of every process.
	Verbose bool
	// Terminal receives the log.
	Terminal *os.File
}

// Run starts everything, keeps it running until ctx ends, and stops it in order, or at once when killed ends. Its
// error joins all problems that prevent the start, a line each.
func Run(ctx, killed context.Context, o Options) (err error) {
	begin := time.Now()
	lock, err := check(ctx, &o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()

	log, err := journal.Open(filepath.Join(o.DataDir, "logs"), o.Terminal, journal.Options{
		Verbose: o.Verbose, Colour: isTerminal(o.Terminal), Names: processNames,
	})
	if err != nil {
		return err
	}
	defer log.Close()

	p, err := newPlan(o, log)
	if err != nil {
		return err
	}
	if err := p.checkCollector(ctx); err != nil {
		return err
	}
	l := launch{log: log}
	defer l.stop(killed)
	if err := l.startAll(ctx, p); err != nil {
		if ctx.Err() != nil {
			return nil // stopped while starting: not a failure
		}
		if migrate.IsOlderBuild(err) {
			return fmt.Errorf("the data folder %s was created by an older build of Looptrace and cannot be upgraded; move it away, or name a new folder with --data", o.DataDir)
		}
		return fmt.Errorf("%w; its log is in %s", err, filepath.Join(o.DataDir, "logs"))
	}
	log.Say(fmt.Sprintf("Looptrace is ready after %.1f s: http://%s", time.Since(begin).Seconds(), o.Ports.Web.Addr()))
	log.Say(fmt.Sprintf("Data and logs are in %s. Ctrl-C stops it.", o.DataDir))
	reportReadiness(ctx, readiness.Parts(o.Ports), log.Say)
	log.Say("stopping; Ctrl-C again stops at once")
	return nil
}

// reportReadiness reports when a part stops being ready, and when it is ready again, until ctx ends. It restarts
// nothing, because the cause is seldom the process itself.
func reportReadiness(ctx context.Context, parts []readiness.Part, say func(string)) {
	tick := time.NewTicker(readinessInterval)
	defer tick.Stop()
	failed := map[string]int{} // number of failures in a row, by part
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, part := range parts {
			asking, cancel := context.WithTimeout(ctx, readinessInterval/2)
			_, err := part.Ask(asking)
			cancel()
			switch {
			case ctx.Err() != nil:
				return
			case err == nil && failed[part.Name] >= tellAfter:
				say(part.Name + " is ready again")
			case err != nil && failed[part.Name] == tellAfter-1:
				say(fmt.Sprintf("%s is not ready: %v", part.Name, err))
			}
			if err == nil {
				failed[part.Name] = 0
			} else {
				failed[part.Name]++
			}
		}
	}
}

// check locks the data folder and returns all problems rather than the first.
func check(ctx context.Context, o *Options) (*preflight.Lock, error) {
	problems := []error{preflight.Engines(o.Tree), preflight.Parts(o.Tree), checkSecret(), checkHosts()}
	if err := preflight.Folder(o.DataDir); err != nil {
		return nil, errors.Join(append(problems, err)...)
	}
	// PostgreSQL reports its folder by the real path.
	resolved, err := filepath.EvalSymlinks(o.DataDir)
	if err != nil {
		return nil, fmt.Errorf("find the data folder: %w", err)
	}
	o.DataDir = resolved
	if err := preflight.Space(o.DataDir); err != nil { // the lock file could not be written
		return nil, errors.Join(append(problems, err)...)
	}
	lock, err := preflight.Acquire(o.DataDir)
	if err != nil { // the ports are in use by the running instance, which would be confusing
		return nil, errors.Join(append(problems, err)...)
	}
	problems = append(problems, credentials.Check(o.DataDir), freePorts(ctx, o.Ports, lock.Unclean))
	if err := errors.Join(problems...); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return lock, nil
}

// freePorts checks that every port is free. After an unclean end it waits for the last processes.
func freePorts(ctx context.Context, ports layout.Ports, wait bool) error {
	deadline := time.Now().Add(releaseTime)
	for {
		var taken []error
		for _, port := range ports.All() {
			taken = append(taken, preflight.Port(port))
		}
		err := errors.Join(taken...)
		if err == nil || !wait || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// checkSecret checks that a session secret in the environment is long enough.
func checkSecret() error {
	given := os.Getenv("SESSION_SECRET")
	if raw, err := hex.DecodeString(given); given != "" && (err != nil || len(raw) < 32) {
		return errors.New("SESSION_SECRET must be at least 64 hex digits; unset it to have one created in the data folder")
	}
	return nil
}

// checkHosts checks the host names in the environment: with invalid ones web and the control plane do not start.
func checkHosts() error {
	_, err := allowedhost.FromEnvironment(os.Getenv)
	return err
}

func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// launch is what has been started, in order.
type launch struct {
	log      *journal.Journal
	children []*supervisor.Child
}

// startAll starts the stores, prepares them, then starts the services.
func (l *launch) startAll(ctx context.Context, p *plan) error {
	if err := l.start(ctx, p.postgresProcess(), p.clickhouseProcess(), p.brokerProcess()); err != nil {
		return err
	}
	if err := prepare(ctx, p); err != nil {
		return err
	}
	return l.start(ctx, p.collectorProcess(), p.controlPlaneProcess(), p.webProcess())
}

// prepare creates the database, the schemas and the topics. It retries, because a store may be restarting.
func prepare(ctx context.Context, p *plan) error {
	for attempt := 1; ; attempt++ {
		err := migrate.Run(ctx, p.stores)
		if err == nil || migrate.IsOlderBuild(err) || attempt == prepareAttempts {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

// start starts processes concurrently and waits until all are ready.
func (l *launch) start(ctx context.Context, processes ...supervisor.Process) error {
	first := len(l.children)
	for _, process := range processes {
		l.children = append(l.children, supervisor.Start(process, l.log.Say)) //nolint:contextcheck // it outlives the start, Stop ends it
	}
	waiting, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	for _, child := range l.children[first:] {
		if err := child.WaitReady(waiting); err != nil {
			return err
		}
	}
	return nil
}

// stop stops the children in reverse order, so that each ends before what it depends on.
func (l *launch) stop(killed context.Context) {
	for i := len(l.children) - 1; i >= 0; i-- {
		l.children[i].Stop(killed)
	}
}
