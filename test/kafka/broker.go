// Package kafka starts a real Apache Kafka for tests: one broker in KRaft mode, or several with the settings of
// deploy/kafka.properties, with their own ports and folders. Maven fetches the jars into _build/kafka once.
package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/looptrace/looptrace/test/checkout"
	"github.com/looptrace/looptrace/test/freeport"
)

// startTimeout is generous: a broker starts in four seconds, but in many more under load.
const startTimeout = 2 * time.Minute

// MaxMessageBytes is the largest record batch that the broker accepts, as in otelcol-config.yaml.
const MaxMessageBytes = 64 << 20

// Broker is a Kafka broker that belongs to one test.
type Broker struct {
	// Address is the address for clients, as host:port. It stays the same when the broker is stopped and restarted.
	Address string

	// internal is the address for other brokers, without TLS and login.
	internal string
	jars     string
	folder   string
	cmd      *exec.Cmd
	watchdog *exec.Cmd
}

// Start starts a broker that ends with the test. The test is skipped without Java, or without Maven and fetched jars.
func Start(tb testing.TB) *Broker {
	tb.Helper()
	return start(tb, 1, alone)[0]
}

// alone are the properties of a single broker.
var alone = []string{
	"auto.create.topics.enable=false",
	"offsets.topic.replication.factor=1",
	fmt.Sprintf("replica.fetch.max.bytes=%d", MaxMessageBytes),
}

// StartCluster starts three brokers with the settings of deploy/kafka.properties: each record is on all three, and
// acknowledged when two have it.
func StartCluster(tb testing.TB) []*Broker {
	tb.Helper()
	root, err := checkout.Root()
	if err != nil {
		tb.Fatal(err)
	}
	properties, err := os.ReadFile(filepath.Join(root, "deploy", "kafka.properties"))
	if err != nil {
		tb.Fatal(err)
	}
	return start(tb, 3, strings.Split(string(properties), "\n"))
}

// start starts brokers that form one cluster.
func start(tb testing.TB, count int, properties []string) []*Broker {
	tb.Helper()
	jars := fetched(tb)
	brokers, controllers, voters := make([]*Broker, count), make([]string, count), make([]string, count)
	free := freeport.Take(tb, 2*count)
	for i := range brokers {
		brokers[i] = &Broker{Address: free[2*i], internal: free[2*i], jars: jars, folder: tb.TempDir()}
		controllers[i] = free[2*i+1]
		voters[i] = fmt.Sprintf("%d@%s", i+1, controllers[i])
	}
	for i, b := range brokers {
		b.format(tb, append([]string{
			fmt.Sprintf("node.id=%d", i+1),
			"controller.quorum.voters=" + strings.Join(voters, ","),
			fmt.Sprintf("listeners=PLAINTEXT://%s,CONTROLLER://%s", b.Address, controllers[i]),
			"advertised.listeners=PLAINTEXT://" + b.Address,
			fmt.Sprintf("transaction.state.log.replication.factor=%d", count),
			fmt.Sprintf("transaction.state.log.min.isr=%d", min(count, 2)),
		}, properties...))
	}
	Resume(tb, brokers...)
	return brokers
}

// format prepares the broker's folder.
func (b *Broker) format(tb testing.TB, properties []string, arguments ...string) {
	tb.Helper()
	properties = append([]string{
		"process.roles=broker,controller",
		"controller.listener.names=CONTROLLER",
		"log.dirs=" + filepath.Join(b.folder, "data"),
		"offsets.topic.num.partitions=1",
		"group.initial.rebalance.delay.ms=0",
		fmt.Sprintf("message.max.bytes=%d", MaxMessageBytes),
	}, properties...)
	if err := os.WriteFile(b.configuration(), []byte(strings.Join(properties, "\n")+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	format := b.java(tb.Context(), append([]string{
		"kafka.tools.StorageTool", "format",
		"--cluster-id", "bG9vcHRyYWNlLXRlc3RzLQ", "--config", b.configuration(),
	}, arguments...)...)
	if out, err := format.CombinedOutput(); err != nil {
		tb.Fatalf("format the folder of Kafka: %v\n%s", err, out)
	}
	tb.Cleanup(func() { b.Kill(tb) })
}

// Resume restarts a stopped broker on its address and data, and waits until it answers.
func (b *Broker) Resume(tb testing.TB) { tb.Helper(); Resume(tb, b) }

// Resume restarts the stopped brokers concurrently on their addresses and data, and waits until all answer: one of
// three alone never does.
func Resume(tb testing.TB, brokers ...*Broker) {
	tb.Helper()
	for _, b := range brokers {
		if b.cmd == nil {
			b.launch(tb)
		}
	}
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	for _, b := range brokers {
		if err := b.wait(ctx); err != nil {
			output, _ := os.ReadFile(b.output())
			tb.Fatalf("wait for Kafka: %v\n%s", err, bytes.TrimSpace(output[max(0, len(output)-8<<10):]))
		}
	}
}

func (b *Broker) launch(tb testing.TB) {
	tb.Helper()
	output, err := os.Create(b.output())
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = output.Close() }()
	b.cmd = b.java(context.WithoutCancel(tb.Context()), "kafka.Kafka", b.configuration())
	b.cmd.Stdout, b.cmd.Stderr = output, output
	if err := b.cmd.Start(); err != nil {
		tb.Fatalf("start Kafka: %v", err)
	}
	b.watch(tb)
}

// PID returns the id of the running broker's process.
func (b *Broker) PID() int { return b.cmd.Process.Pid }

// Stop lets the broker shut down in order.
func (b *Broker) Stop(tb testing.TB) { tb.Helper(); b.end(tb, syscall.SIGTERM) }

// Kill kills the broker. It does nothing if it is stopped.
func (b *Broker) Kill(tb testing.TB) {
	tb.Helper()
	if b.cmd != nil {
		b.end(tb, syscall.SIGKILL)
	}
}

// watch ends the broker when this process ends, which closes the pipe.
func (b *Broker) watch(tb testing.TB) {
	tb.Helper()
	b.watchdog = exec.CommandContext(context.WithoutCancel(tb.Context()), "sh", "-c", fmt.Sprintf("cat; kill -9 %d", b.cmd.Process.Pid))
	b.watchdog.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := b.watchdog.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	if err := b.watchdog.Start(); err != nil {
		tb.Fatalf("watch Kafka: %v", err)
	}
}

func (b *Broker) end(tb testing.TB, signal os.Signal) {
	tb.Helper()
	_ = b.watchdog.Process.Kill()
	_ = b.watchdog.Wait()
	if err := b.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		tb.Errorf("end Kafka: %v", err)
	}
	_ = b.cmd.Wait() // It ends by our signal.
	b.cmd = nil
}

// wait returns when the broker answers as a member of the cluster.
func (b *Broker) wait(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.internal), kgo.RetryTimeout(time.Second))
	if err != nil {
		return err
	}
	defer client.Close()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		brokers, err := kadm.NewClient(client).ListBrokers(ctx)
		if err == nil && len(brokers) > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-ticker.C:
		}
	}
}

func (b *Broker) java(ctx context.Context, arguments ...string) *exec.Cmd {
	flags := []string{"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(b.jars, "*")}
	cmd := exec.CommandContext(ctx, "java", append(flags, arguments...)...)
	cmd.Dir = b.folder
	// A separate process group, so that Ctrl-C reaches only the test.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func (b *Broker) configuration() string { return filepath.Join(b.folder, "server.properties") }

func (b *Broker) output() string { return filepath.Join(b.folder, "output") }

// fetched returns the folder with the jars.
func fetched(tb testing.TB) string {
	tb.Helper()
	if _, err := exec.LookPath("java"); err != nil {
		tb.Skip("java is not installed: tests over a real Kafka are left out")
	}
	root, err := checkout.Root()
	if err != nil {
		tb.Fatal(err)
	}
	jars := filepath.Join(root, "_build", "kafka")
	if _, err := os.Stat(jars); err == nil {
		return jars
	}
	if _, err := exec.LookPath("mvn"); err != nil {
		tb.Skip("mvn is not installed and _build/kafka is not there: tests over a real Kafka are left out")
	}
	// Test binaries run concurrently: each fetches into its own folder, and the rename decides.
	fresh := fmt.Sprintf("%s.%d", jars, os.Getpid())
	defer func() { _ = os.RemoveAll(fresh) }()
	cmd := exec.CommandContext(tb.Context(), "mvn", "--quiet", "--batch-mode", "--file", filepath.Join(root, "test", "kafka", "pom.xml"),
		"dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+fresh)
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("fetch Kafka: %v\n%s", err, out)
	}
	if err := os.Rename(fresh, jars); err != nil {
		if _, there := os.Stat(jars); there != nil {
			tb.Fatal(err)
		}
	}
	return jars
}
