package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
)

// failuresFile has one byte for each time that a disk failure ended the process.
const failuresFile = "failures"

type metrics struct {
	logBytes, deadLetterBytes, free, refusing prometheus.Gauge
	refused, deletedDeadLetters               prometheus.Counter
}

func newMetrics(config Config) (metrics, error) {
	failed, err := countFailures(config.DataDir)
	if err != nil {
		return metrics{}, err
	}
	m := metrics{
		logBytes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "looptrace_broker_log_bytes",
			Help: "Size of the log, without dead deadLetters.",
		}),
		deadLetterBytes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "looptrace_broker_dead_letter_bytes",
			Help: "Size of the dead deadLetters.",
		}),
		free: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "looptrace_broker_disk_free_bytes",
			Help: "Free space on the disk of the log.",
		}),
		refusing: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "looptrace_broker_refusing",
			Help: "1 while records are refused because the log or the disk is full.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "looptrace_broker_refused_records_total",
			Help: "Records that were refused because the log or the disk is full, counting each attempt.",
		}),
		deletedDeadLetters: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "looptrace_broker_deleted_dead_letters_total",
			Help: "Dead deadLetters that were deleted because there were too many or they were too old.",
		}),
	}
	maxBytes := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "looptrace_broker_log_max_bytes",
		Help: "Size of the log at which records are refused.",
	})
	maxBytes.Set(float64(config.MaxBytes))
	minFree := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "looptrace_broker_disk_min_free_bytes",
		Help: "Free space below which records are refused.",
	})
	minFree.Set(float64(config.MinFree))
	failures := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "looptrace_broker_disk_failures_total",
		Help: "How often the process has ended because of a disk failure.",
	})
	failures.Add(float64(failed))
	for _, c := range []prometheus.Collector{
		m.logBytes, m.deadLetterBytes, m.free, m.refusing, m.refused, m.deletedDeadLetters, maxBytes, minFree, failures,
	} {
		if err := config.Registry.Register(c); err != nil {
			return metrics{}, fmt.Errorf("register the metrics: %w", err)
		}
	}
	return m, nil
}

func noteFailure(dir string) error {
	file, err := os.OpenFile(filepath.Join(dir, failuresFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // our own folder
	if err != nil {
		return fmt.Errorf("count a failure: %w", err)
	}
	_, err = file.WriteString("!")
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("count a failure: %w", err)
	}
	return nil
}

func countFailures(dir string) (int64, error) {
	info, err := os.Stat(filepath.Join(dir, failuresFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("count the failures: %w", err)
	}
	return info.Size(), nil
}
